//! The log: one line a request, with its id on each of its lines, and none of its text unless an operator asks for it.

use std::fs;

use omni_tests::artifacts::sine_and;
use omni_tests::http::{self, PATIENCE};
use omni_tests::server::{Server, wait_until};
use omni_tests::speech::{PATH, request_with};
use serde_json::{Value, json};
use ureq::http::Method;

const TEXT: &str = "A secret sentence.";

/// Speaks under an id and gives the log's lines of it, as JSON, once the answer is on it.
fn lines_of(server: &Server, file: Option<&std::path::Path>, id: &str) -> Vec<Value> {
    let body = request_with(TEXT, &json!({"response_format": "pcm", "stream_format": "audio"})).to_string();
    let headers = [("content-type", "application/json"), ("x-request-id", id)];
    let answer = http::send(Method::POST, &server.url(PATH), &headers, body.as_bytes());
    assert_eq!(answer.status, 200, "{}", answer.start());
    let mut lines = Vec::new();
    let is_there = || {
        let text = file.map_or_else(|| server.log(), |file| fs::read_to_string(file).expect("the log file"));
        let json = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines = json.filter(|line| line["span"]["id"] == id).collect();
        lines.iter().any(|line| line["message"] == "answered")
    };
    assert!(wait_until(PATIENCE, is_there), "{}", server.log());
    lines
}

#[test]
fn a_request_has_one_access_line_with_its_figures_and_never_its_text() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("host.log");
    let server = Server::start_with(&sine_and(&["--log-format", "json", "--log-file", file.to_str().expect("a plain path")]));
    let lines = lines_of(&server, Some(&file), "one-7");
    let access: Vec<&Value> = lines.iter().filter(|line| line["message"] == "answered").collect();
    assert_eq!(access.len(), 1, "{lines:?}");
    let line = access[0];
    assert_eq!((&line["route"], &line["status"], &line["complete"]), (&json!(PATH), &json!(200), &json!(true)), "{line}");
    assert!(line["first_audio_ms"].is_u64() && line["audio_s"].as_f64() > Some(0.5) && line["bytes"].as_u64() > Some(10_000), "{line}");
    assert!(!server.log().contains(TEXT) && !fs::read_to_string(&file).expect("the log file").contains(TEXT));
}

#[test]
fn texts_are_logged_when_asked_for_as_far_as_asked_for() {
    let server = Server::start_with(&sine_and(&["--log-format", "json", "--enable-log-requests", "--max-log-len", "8"]));
    let lines = lines_of(&server, None, "two-7");
    let asked: Vec<&Value> = lines.iter().filter(|line| line["message"] == "asked to speak").collect();
    assert_eq!((asked.len(), &asked[0]["text"]), (1, &json!("A secret")), "{lines:?}");
}
