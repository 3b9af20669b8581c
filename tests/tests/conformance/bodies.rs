//! Content types, and bodies that are or are not one JSON object.

use omni_tests::http::{self, Answer};
use omni_tests::speech::{self, PATH};
use serde_json::json;
use ureq::http::Method;

use super::support::{asked, not_refused, report, server, with};

/// What a body of another type is told.
pub const WRONG_TYPE: &str = "Unsupported Media Type: Only 'application/json' is allowed";

/// Every endpoint that takes a body.
const PATHS: [&str; 3] = [PATH, "/v1/audio/speech/batch", "/openwebui/v1/audio/speech"];

fn of_type(path: &str, content_type: &str) -> Answer {
    http::send(Method::POST, &server().url(path), &[("content-type", content_type)], with(&json!({})).to_string().as_bytes())
}

#[test]
fn json_may_be_called_by_its_name_in_any_case_and_with_parameters() {
    let expected = asked(&json!({})).body;
    for content_type in [
        "application/json",
        "APPLICATION/JSON",
        "Application/Json",
        "application/json;charset=utf-8",
        "application/json; charset=UTF-8",
        "application/json ; charset=\"utf-8\"",
        "application/json;",
        "application/json; charset=us-ascii",
        "application/json; odata=verbose; charset=utf-8",
    ] {
        let answer = of_type(PATH, content_type);
        speech::check_good(&answer, "audio/wav");
        assert!(answer.body == expected, "{content_type} gives other sound");
    }
}

#[test]
fn other_types_are_refused_wherever_a_body_is_taken() {
    let types = [
        "text/json",
        "application/ld+json",
        "application/problem+json",
        "application/json+x",
        "multipart/form-data; boundary=x",
        "text/plain; application/json",
        "application/octet-stream",
        "application/",
        "*/*",
        "audio/wav",
    ];
    let rows = PATHS.iter().flat_map(|path| types.map(|content_type| (path, content_type)));
    report(rows.map(|(path, content_type)| {
        let problem = not_refused(&of_type(path, content_type), 400, "", WRONG_TYPE)?;
        Some(format!("content type {content_type:?} at {path}: {problem}"))
    }));
}

#[test]
fn a_body_without_a_type_is_refused() {
    report(PATHS.iter().map(|path| {
        let answer = http::send(Method::POST, &server().url(path), &[], with(&json!({})).to_string().as_bytes());
        not_refused(&answer, 400, "", WRONG_TYPE)
    }));
}

#[test]
fn whatever_is_no_object_is_refused() {
    let object = "Input should be a valid dictionary or object to extract fields from";
    let rows: [(&[u8], &str, &str); 13] = [
        (b"5", "body", object),
        (b"true", "body", object),
        (b"\"Hi.\"", "body", object),
        (b"[{\"input\": \"Hi.\"}]", "body", object),
        (b"", "body", "Field required"),
        (b" \n", "body", "Field required"),
        (b"null", "body", "Field required"),
        (b"{}", "body.input", "Field required"),
        (b"{\"input\": \"Hi.\",}", "body.16", "JSON decode error"),
        (b"{'input': 'Hi.'}", "body.1", "JSON decode error"),
        (b"{\"input\" \"Hi.\"}", "body.9", "JSON decode error"),
        (b"{\"input\": Hi}", "body.10", "JSON decode error"),
        (b"x", "body.0", "JSON decode error"),
    ];
    report(rows.into_iter().map(|(body, param, text)| {
        let problem = not_refused(&http::post(&server().url(PATH), body), 400, param, text)?;
        Some(format!("body {:?}: {problem}", String::from_utf8_lossy(body)))
    }));
}

#[test]
fn json_is_read_in_every_spelling() {
    let expected = asked(&json!({})).body;
    let rows: [&[u8]; 6] = [
        b" \t\r\n{\"input\": \"Hi.\", \"seed\": 7}\n\n",
        b"{\"seed\":7,\"input\":\"Hi.\"}",
        b"{\"input\": \"\\u0048i\\u002E\", \"seed\": 7}",
        b"{\"input\": \"no\", \"input\": \"Hi.\", \"seed\": 7}",
        b"{\"input\": \"Hi.\", \"seed\": 0.7e1}",
        b"\xef\xbb\xbf{\"input\": \"Hi.\", \"seed\": 7}",
    ];
    report(rows.into_iter().map(|body| {
        let answer = http::post(&server().url(PATH), body);
        (answer.body != expected).then(|| format!("body {:?}: {}", String::from_utf8_lossy(body), answer.start()))
    }));
}

#[test]
fn accept_is_never_negotiated() {
    for accept in ["application/octet-stream", "application/json", "text/html", "image/png;q=1, */*;q=0", "audio/mpeg", ""] {
        let headers = [("content-type", "application/json"), ("accept", accept)];
        let answer = http::send(Method::POST, &server().url(PATH), &headers, with(&json!({})).to_string().as_bytes());
        speech::check_good(&answer, "audio/wav");
    }
}

#[test]
fn a_key_that_nobody_asked_for_is_no_fault() {
    for authorization in ["Bearer sk-none", "Bearer ", "Basic eDp5", "none"] {
        let headers = [("content-type", "application/json"), ("authorization", authorization)];
        let answer = http::send(Method::POST, &server().url(PATH), &headers, with(&json!({})).to_string().as_bytes());
        speech::check_good(&answer, "audio/wav");
    }
}
