//! The kinds of rows, and how each is tried: every row of a table is tried before the table fails.

use omni_tests::http::{self, Answer};
use omni_tests::server::Server;
use omni_tests::speech::{PATH, request};
use serde_json::{Map, Value, json};

/// A short text that is spoken fast.
pub const TEXT: &str = "Hi.";

/// The topic, the field, its value, the status, the `param` (empty is null), and a part of the message.
pub type Refused = (&'static str, &'static str, Value, u16, &'static str, &'static str);
/// The topic, the field, its value, and the plainer value that means the same; null leaves the field out.
pub type Same = (&'static str, &'static str, Value, Value);
/// The topic, the fields, and the fields that mean the same.
pub type SameFields = (&'static str, Value, Value);
/// The topic, the fields, the status, the `param` (empty is null), and a part of the message.
pub type RefusedFields = (&'static str, Value, u16, &'static str, &'static str);

/// The server that all rows share.
pub fn server() -> &'static Server {
    Server::shared()
}

/// A short request with more fields.
pub fn with(more: &Value) -> Value {
    let mut all = request(TEXT);
    let members: &mut Map<String, Value> = all.as_object_mut().expect("a request is an object");
    members.extend(more.as_object().expect("more fields are an object").clone());
    all
}

/// The answer to a short request with more fields.
pub fn asked(more: &Value) -> Answer {
    http::post_json(&server().url(PATH), &with(more))
}

/// Fails with every problem of a table, or not at all.
pub fn report(problems: impl Iterator<Item = Option<String>>) {
    let problems: Vec<String> = problems.flatten().collect();
    assert!(problems.is_empty(), "{} rows fail:\n{}", problems.len(), problems.join("\n"));
}

/// Tries rows that are refused.
pub fn refused(rows: impl IntoIterator<Item = Refused>) {
    let fields = |(topic, field, value, status, param, text): Refused| (topic, json!({field: value}), status, param, text);
    refused_fields(rows.into_iter().map(fields));
}

/// Tries rows of several fields that are refused.
pub fn refused_fields(rows: impl IntoIterator<Item = RefusedFields>) {
    report(rows.into_iter().map(|(topic, more, status, param, text)| {
        let problem = not_refused(&asked(&more), status, param, text)?;
        Some(format!("{topic}: {:.200}: {problem}", more.to_string()))
    }));
}

/// Tries rows whose value means the same as a plainer one.
pub fn same(rows: impl IntoIterator<Item = Same>) {
    let fields = |field: &str, value: Value| if value.is_null() { json!({}) } else { json!({field: value}) };
    same_fields(rows.into_iter().map(|(topic, field, sent, means)| (topic, json!({field: sent}), fields(field, means))));
}

/// Tries rows whose fields mean the same as others.
pub fn same_fields(rows: impl IntoIterator<Item = SameFields>) {
    report(rows.into_iter().map(|(topic, sent, means)| {
        let (answer, expected) = (asked(&sent), asked(&means));
        assert_eq!(expected.status, 200, "{topic}: {means}: {}", expected.start());
        let is_same = answer.status == 200 && kind(&answer) == kind(&expected) && answer.body == expected.body;
        (!is_same).then(|| format!("{topic}: {sent} is not answered like {means}: {} {}", answer.status, printable(&answer)))
    }));
}

/// What is wrong with an answer that should be a refusal: the status, the whole envelope, the field and the words.
pub fn not_refused(answer: &Answer, status: u16, param: &str, text: &str) -> Option<String> {
    let shown = printable(answer);
    if answer.status != status || kind(answer) != Some("application/json") {
        return Some(format!("expected {status}, got {}: {shown}", answer.status));
    }
    let error = &answer.json()["error"];
    let expected = json!({"code": status, "param": Some(param).filter(|param| !param.is_empty()), "type": type_of(status, param, text)});
    let found = json!({"code": error["code"], "param": error["param"], "type": error["type"]});
    let says = error["message"].as_str().is_some_and(|message| message.contains(text));
    (found != expected || !says).then(|| format!("expected {expected} and {text:?}, got {shown}"))
}

/// The type of an error: faults of the shape have one of their own.
fn type_of(status: u16, param: &str, text: &str) -> &'static str {
    match status {
        404 => "NotFoundError",
        405 => "Method Not Allowed",
        _ if param.starts_with("body") || text == super::bodies::WRONG_TYPE => "Bad Request",
        _ => "BadRequestError",
    }
}

/// The content type of an answer.
pub fn kind(answer: &Answer) -> Option<&str> {
    answer.header("content-type")
}

/// An answer for messages: sound is only named.
fn printable(answer: &Answer) -> String {
    match kind(answer) {
        Some(kind) if kind.starts_with("audio/") => format!("{} bytes of {kind}", answer.body.len()),
        _ => answer.start().chars().filter(|letter| !letter.is_control()).collect(),
    }
}
