//! What messages leave out: where files are, addresses in memory; and the answers in which a client's own words stay as they are.

use std::collections::BTreeSet;

use omni_tests::http;
use omni_tests::speech::PATH;
use omni_tests::websocket::{Frames, close, config, done};
use serde_json::{Value, json};
use ureq::http::Method;

use super::support::{TEXT, asked, refused, report, server};

const RULE: &str = "errors: what messages leave out";

#[test]
fn places_and_addresses_are_left_out_of_every_envelope() {
    refused([
        (RULE, "model", json!("/home/me/weights"), 404, "model", "The model `<path>` does not exist."),
        (RULE, "model", json!("/srv/a/b.bin and /opt/c"), 404, "model", "The model `<path> and <path>` does not exist."),
        (RULE, "model", json!("/data/models/a.bin"), 404, "model", "The model `<path>` does not exist."),
        (RULE, "model", json!("https://h/a/b.wav"), 404, "model", "The model `https://h<path>` does not exist."),
        (RULE, "model", json!("<Model object at 0x7f3a9c>"), 404, "model", "The model `<Model object>` does not exist."),
        (RULE, "model", json!("org/name-1.5b"), 404, "model", "The model `org/name-1.5b` does not exist."),
        (RULE, "model", json!("/data/models"), 404, "model", "The model `/data/models` does not exist."),
        (RULE, "voice", json!("/tmp/anne"), 400, "voice", "Invalid voice '<path>'"),
        (RULE, "stream_format", json!("/usr/bin/sox"), 400, "body.stream_format", "'input': '<path>'"),
        (RULE, "speed", json!("/a/b.c"), 400, "body.speed", "'input': '<path>'"),
    ]);
}

#[test]
fn a_path_that_is_not_there_is_told_as_it_is() {
    let rows = ["/v1/audio/speech.json", "/v1/audio/voices/a.b/c.d", "/home/me/x", "/static/js/app.js"];
    report(rows.into_iter().map(|path| {
        let answer = http::send(Method::POST, &server().url(path), &[], b"");
        let message = answer.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
        (answer.status != 404 || !message.contains(path)).then(|| format!("{path}: {} {message}", answer.status))
    }));
}

/// Items of a batch and sessions tell a client what it said; only the envelope beside an item is one like any other.
#[test]
fn items_and_sessions_tell_the_clients_own_words() {
    let items = json!({"items": [{"input": TEXT, "voice": "/tmp/anne"}]});
    let result = http::post_json(&server().url(&format!("{PATH}/batch")), &items).json()["results"][0].take();
    assert!(result["error"].as_str().is_some_and(|error| error.starts_with("Invalid voice '/tmp/anne'")), "{result}");
    assert!(result["error_details"]["message"].as_str().is_some_and(|error| error.starts_with("Invalid voice '<path>'")), "{result}");
    let mut session = Frames::open_with(server(), &json!({}));
    [config(&json!({"model": "/tmp/m"})), done(), close()].iter().for_each(|message| session.send(message));
    let events = session.read_out().events;
    assert_eq!(events[0]["message"], "Invalid session config: The model `/tmp/m` does not exist.");
}

/// Every error has the same four members and nothing else, whatever went wrong.
#[test]
fn the_envelope_has_four_members() {
    let answers = [
        asked(&json!({"speed": 9})),
        asked(&json!({"model": "nope"})),
        asked(&json!({"voice": "nobody"})),
        asked(&json!({"input": ""})),
        asked(&json!({"ref_audio": 5})),
        http::post(&server().url(PATH), b"{"),
        http::send(Method::POST, &server().url(PATH), &[("content-type", "text/plain")], b"{}"),
        http::get(&server().url("/v1/models/nope")),
        http::get(&server().url("/nothing")),
        http::get(&server().url(PATH)),
    ];
    report(answers.into_iter().map(|answer| {
        let error = answer.json()["error"].take();
        let members: BTreeSet<&str> = error.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
        let is_right =
            members == BTreeSet::from(["code", "message", "param", "type"]) && error["code"] == answer.status && answer.body.len() < 4096;
        (!is_right).then(|| format!("{}: {error}", answer.status))
    }));
}

/// Long values are cut, so that an answer never repeats what it was sent.
#[test]
fn long_values_are_cut() {
    let long = "x".repeat(100_000);
    let rows: [(&str, Value, &str); 4] = [
        ("stream_format", json!(long), "...[truncated]"),
        ("speed", json!(long), "...[truncated]"),
        ("model", json!(long), "does not exist."),
        ("voice", json!(long), "Invalid voice"),
    ];
    report(rows.into_iter().map(|(field, value, said)| {
        let answer = asked(&json!({field: value}));
        let is_right = answer.body.len() < 4096 && answer.text().contains(said);
        (!is_right).then(|| format!("{field}: {} bytes: {}", answer.body.len(), answer.start()))
    }));
    let many = json!({"items": vec![json!({"input": 5}); 30]});
    let text = http::post_json(&server().url(&format!("{PATH}/batch")), &many).text();
    assert!(text.contains("30 validation errors:") && text.contains("...and 20 more errors") && text.len() < 4096, "{text}");
}
