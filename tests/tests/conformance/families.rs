//! Fields that only a family knows: read, checked and documented by the schema in its plugin, as every other field is.

use std::sync::OnceLock;

use omni_tests::artifacts;
use omni_tests::base64;
use omni_tests::http::{self, Answer};
use omni_tests::server::Server;
use omni_tests::speech::{PATH, ask, request_with};
use omni_tests::websocket::{Frames, close, config, done, text};
use serde_json::{Value, json};

use super::support::{TEXT, not_refused, report};

const WHOLE: &str = "a family's whole number";
const NUMBER: &str = "a family's number";
const RANGE: &str = "a family's range";

/// A server with the family without weights, which has fields of each kind.
fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| {
        let library = artifacts::plugin("sine");
        Server::start_with(&["--plugin", library.to_str().expect("a plain path")])
    })
}

fn asked(more: &Value) -> Answer {
    ask(server(), &request_with(TEXT, more))
}

fn same(rows: impl IntoIterator<Item = (&'static str, &'static str, Value, Value)>) {
    report(rows.into_iter().map(|(rule, field, sent, means)| {
        let fields = if means.is_null() { json!({}) } else { json!({field: means}) };
        let (answer, expected) = (asked(&json!({field: sent})), asked(&fields));
        assert_eq!(expected.status, 200, "{rule}: {fields}: {}", expected.start());
        (answer.status != 200 || answer.body != expected.body)
            .then(|| format!("{rule}: {field} {sent} is not read as {means}: {}", answer.status))
    }));
}

fn refused(rows: impl IntoIterator<Item = (&'static str, &'static str, Value, &'static str)>) {
    report(rows.into_iter().map(|(rule, field, sent, said)| {
        let problem = not_refused(&asked(&json!({field: sent})), 400, &format!("body.{field}"), said)?;
        Some(format!("{rule}: {field} {sent}: {problem}"))
    }));
}

#[test]
fn values_are_coerced_as_those_of_the_common_fields() {
    same([
        (WHOLE, "max_new_tokens", json!("5"), json!(5)),
        (WHOLE, "max_new_tokens", json!(" 5 "), json!(5)),
        (WHOLE, "max_new_tokens", json!("5.0"), json!(5)),
        (WHOLE, "max_new_tokens", json!(5.0), json!(5)),
        (WHOLE, "max_new_tokens", json!("1_0"), json!(10)),
        (WHOLE, "max_new_tokens", json!(true), json!(1)),
        (WHOLE, "max_new_tokens", json!(null), Value::Null),
        (NUMBER, "pitch_hz", json!("440"), json!(440.0)),
        (NUMBER, "pitch_hz", json!(" 440.0 "), json!(440.0)),
        (NUMBER, "pitch_hz", json!("4.4e2"), json!(440.0)),
        (NUMBER, "pitch_hz", json!("4_40"), json!(440.0)),
        (NUMBER, "pitch_hz", json!(440), json!(440.0)),
        (NUMBER, "pitch_hz", json!(null), Value::Null),
        (NUMBER, "loudness", json!("0.25"), json!(0.25)),
        (NUMBER, "loudness", json!(true), json!(1.0)),
        (NUMBER, "loudness", json!("1"), json!(1.0)),
        (NUMBER, "pace", json!("10_000"), Value::Null),
        (RANGE, "pitch_hz", json!(20), json!("20.0")),
        (RANGE, "pitch_hz", json!(4000), json!("4000.0")),
        (RANGE, "loudness", json!(0), json!(false)),
        (RANGE, "max_new_tokens", json!(45_000), Value::Null),
        ("a field nobody knows", "pitch", json!("high"), Value::Null),
        ("a field of another family", "top_k", json!([]), Value::Null),
    ]);
}

#[test]
fn what_cannot_be_read_is_refused_in_the_same_words() {
    let (whole, number) = ("Input should be a valid integer", "Input should be a valid number");
    let unparsed = "Input should be a valid number, unable to parse string as a number";
    refused([
        (WHOLE, "max_new_tokens", json!(1.5), "got a number with a fractional part"),
        (WHOLE, "max_new_tokens", json!("1.5"), "unable to parse string as an integer"),
        (WHOLE, "max_new_tokens", json!([5]), whole),
        (NUMBER, "pitch_hz", json!("high"), unparsed),
        (NUMBER, "pitch_hz", json!("440 Hz"), unparsed),
        (NUMBER, "pitch_hz", json!("_440"), unparsed),
        (NUMBER, "pitch_hz", json!(""), unparsed),
        (NUMBER, "pitch_hz", json!("nan"), number),
        (NUMBER, "pitch_hz", json!("inf"), number),
        (NUMBER, "pitch_hz", json!([440]), number),
        (NUMBER, "pitch_hz", json!({"hz": 440}), number),
        (NUMBER, "loudness", json!("loud"), unparsed),
        (RANGE, "pitch_hz", json!(19.9), "Input should be greater than or equal to 20"),
        (RANGE, "pitch_hz", json!("19.9"), "Input should be greater than or equal to 20"),
        (RANGE, "pitch_hz", json!(true), "Input should be greater than or equal to 20"),
        (RANGE, "pitch_hz", json!(4000.5), "Input should be less than or equal to 4000"),
        (RANGE, "loudness", json!(-0.1), "Input should be greater than or equal to 0"),
        (RANGE, "loudness", json!(1.1), "Input should be less than or equal to 1"),
        (RANGE, "max_new_tokens", json!(0), "Input should be greater than or equal to 1"),
        (RANGE, "max_new_tokens", json!(45_001), "Input should be less than or equal to 45000"),
        (RANGE, "pace", json!(0), "Input should be greater than or equal to 0.01"),
    ]);
    let both = asked(&json!({"pitch_hz": 5, "loudness": 7}));
    let first = both.json()["error"]["param"].as_str().unwrap_or_default().to_owned();
    assert!(["body.loudness", "body.pitch_hz"].contains(&first.as_str()), "{}", both.start());
    report([not_refused(&both, 400, &first, "2 validation errors:")].into_iter());
}

#[test]
fn the_fields_are_documented_with_their_ranges() {
    let card = http::get(&server().url("/v1/models/sine")).json();
    let properties = &card["request_schema"]["properties"];
    for (field, kind, least, most) in
        [("pitch_hz", "number", 20.0, 4000.0), ("loudness", "number", 0.0, 1.0), ("max_new_tokens", "integer", 1.0, 45_000.0)]
    {
        let property = &properties[field];
        assert!(property["description"].as_str().is_some_and(|text| !text.is_empty()), "{field}: {property}");
        assert!(property["type"].as_array().is_some_and(|kinds| kinds.contains(&json!(kind))), "{field}: {property}");
        assert_eq!((property["minimum"].as_f64(), property["maximum"].as_f64()), (Some(least), Some(most)), "{field}");
    }
}

#[test]
fn they_hold_in_a_batch_and_in_a_session() {
    let pcm = json!({"response_format": "pcm", "seed": 7, "pitch_hz": 330});
    let expected = asked(&pcm).body;
    assert_ne!(expected, asked(&json!({"response_format": "pcm"})).body, "the field changes nothing");
    let batch =
        json!({"items": [{"input": TEXT}, {"input": TEXT, "pitch_hz": "high"}], "response_format": "pcm", "seed": 7, "pitch_hz": "330"});
    let results = http::post_json(&server().url(&format!("{PATH}/batch")), &batch).json()["results"].take();
    assert!(base64::decode(results[0]["audio_data"].as_str().expect("audio")) == expected, "another sound in a batch");
    assert!(results[1]["error"].as_str().is_some_and(|error| error.contains("unable to parse string as a number")), "{}", results[1]);
    let mut session = Frames::open_with(server(), &json!({"response_format": "pcm", "seed": 7, "pitch_hz": "330.0"}));
    for message in [text(TEXT), done(), config(&json!({"pitch_hz": 5})), text(TEXT), done(), close()] {
        session.send(&message);
    }
    let units = session.read_out().units();
    assert!(units[0].frames.concat() == expected, "another sound in a session");
    let told = units[1].errors[0]["message"].as_str().unwrap_or_default();
    assert!(told.starts_with("Generation failed for utterance 1, sentence 0: ") && told.contains("greater than or equal to 20"), "{told}");
}
