//! A plugin that misbehaves in a request fails that request by name; the other plugin never notices.

use std::thread;
use std::time::Duration;

use omni_tests::artifacts::plugin;
use omni_tests::checks;
use omni_tests::http::Answer;
use omni_tests::server::{Server, wait_until};
use omni_tests::speech::{self, Stream, request_with};
use serde_json::{Value, json};

use super::support::{fails, plugins_and, say, speaks, state};

/// What a request asks for, words of the answer, and the number of the stage that is at fault.
const FAULTS: [(&str, &str, Option<u64>); 13] = [
    ("panic in prepare", "panicked in prepare: told to panic", None),
    ("panic in admit", "panicked in admit: told to panic", Some(0)),
    ("panic in step", "panicked in step: told to panic", Some(0)),
    ("stage fails", "told to fail as a stage", Some(0)),
    ("fail", "told to fail", Some(0)),
    ("fail late", "told to fail late", Some(0)),
    ("flood", "events", Some(0)),
    ("lie about the sequence", "does not hold", Some(0)),
    ("wrong kind", "codes", Some(0)),
    ("not finite", "not finite", Some(0)),
    ("malformed", "shape", Some(0)),
    ("nothing", "did not produce audio", None),
    ("idle forever", "no progress", Some(0)),
];

/// A server that opens nothing again while a test runs.
fn serve(watchdog_secs: &str) -> Server {
    serve_and_reopen_after(watchdog_secs, "3600")
}

fn serve_and_reopen_after(watchdog_secs: &str, reopen_secs: &str) -> Server {
    let limits = ["--watchdog-secs", watchdog_secs, "--reopen-secs", reopen_secs];
    Server::start_with(&plugins_and(&[plugin("hostile"), plugin("sine")], &limits))
}

fn check_both_speak(server: &Server) {
    for model in ["hostile", "sine"] {
        speaks(server, model);
        assert_eq!(state(server, model).state, "ready", "{model}");
    }
}

/// Fails unless the hostile model takes no more requests, says why, and the other one goes on.
fn check_given_up(server: &Server, names: &str) {
    let refusal = say(server, "hostile", "Be good.");
    checks::error(&refusal, 503, names);
    assert!(refusal.header("retry-after").is_some(), "no retry-after: {:?}", refusal.headers);
    let hostile = state(server, "hostile");
    assert!(hostile.state == "unhealthy" && hostile.reason.contains(names), "{hostile:?}");
    speaks(server, "sine");
    assert_eq!(omni_tests::http::get(&server.url("/ready")).status, 200);
    assert_eq!(omni_tests::http::get(&server.url("/health")).status, 200);
}

/// The plugin stops short every other time: a second try is good.
#[test]
fn speech_that_stops_short_is_tried_once_more_where_its_client_chose_neither_seed_nor_length() {
    let server = serve("30");
    let ask = |more: &Value| {
        let mut request = json!({"input": "Stop short.", "model": "hostile", "response_format": "pcm"});
        more.as_object().expect("fields are an object").iter().for_each(|(name, value)| request[name] = value.clone());
        speech::ask(&server, &request)
    };
    let is_whole = |answer: &Answer| answer.status == 200 && answer.body.len() == 2 * 8000;
    assert!(is_whole(&ask(&json!({}))), "the second try is not answered");
    assert!(server.log().contains("once more with another seed"), "{}", server.log());
    for chosen in [json!({"seed": 1}), json!({"max_new_tokens": 100}), json!({"seed": 0, "max_new_tokens": 100})] {
        let refused = ask(&chosen);
        let error = json!({"message": "told to stop short", "type": "server_error", "param": null, "code": 500});
        assert_eq!((refused.status, &refused.json()["error"]), (500, &error), "{chosen}");
        assert!(is_whole(&ask(&chosen)), "{chosen}");
    }
    // What was heard cannot be taken back.
    let events = ask(&json!({"stream": true})).text();
    let last: Value =
        events.lines().rfind(|line| line.starts_with("data: ")).and_then(|line| serde_json::from_str(&line[6..]).ok()).expect("an event");
    let error = json!({"message": "told to stop short", "type": "server_error", "param": null, "code": 500, "partial_audio": true, "action": "discard"});
    assert_eq!(last, json!({"type": "speech.audio.error", "error": error}));
}

/// One after the other: three faults in a row would be too many.
#[test]
fn each_fault_fails_its_request_by_name_and_nothing_else() {
    let server = serve("3");
    for (text, names, stage) in FAULTS {
        eprintln!("asking to {text}");
        assert_eq!(fails(&server, "hostile", text, names), stage, "{text}");
        check_both_speak(&server);
    }
}

#[test]
fn a_panic_on_giving_a_slot_back_and_a_flood_of_log_lines_harm_nobody() {
    let server = serve("30");
    for text in ["panic in release", "log flood", "panic in release"] {
        assert_eq!(say(&server, "hostile", text).status, 200, "{text}");
        check_both_speak(&server);
    }
    let lines = server.log().matches("of a flood").count();
    assert!(lines < 2_000, "{lines} lines of one flood were written");
}

#[test]
fn a_flood_without_end_ends_with_its_listener() {
    let server = serve("30");
    let mut stream = Stream::open(&server, &request_with("flood forever", &json!({"model": "hostile", "response_format": "pcm"})));
    for _ in 0..3 {
        assert!(stream.next_piece().is_some(), "the flood ended");
    }
    check_both_speak(&server);
    drop(stream);
    check_both_speak(&server);
}

#[test]
fn a_fault_of_the_stage_fails_its_requests_and_not_those_of_another_plugin() {
    let server = serve("30");
    let slow = json!({"model": "sine", "response_format": "pcm", "pace": 4});
    let mut stream = Stream::open(&server, &request_with("A text that takes about a second to speak.", &slow));
    assert!(stream.next_piece().is_some());
    fails(&server, "hostile", "panic in step", "panicked in step");
    assert!(!stream.pieces().is_empty(), "the other plugin's stream broke off");
}

#[test]
fn three_faults_in_a_row_are_too_many() {
    let server = serve("30");
    for _ in 0..3 {
        fails(&server, "hostile", "panic in step", "panicked in step");
    }
    check_given_up(&server, "faults in a row");
}

#[test]
fn a_step_that_hangs_fails_all_requests_inside_and_closes_the_only_replica() {
    let mut server = serve("1");
    thread::scope(|scope| {
        for text in ["hang in step", "hang in step", "Be good beside them."] {
            let server = &server;
            scope.spawn(move || {
                let answer = say(server, "hostile", text);
                let was_quick = text.starts_with("Be good") && answer.status == 200;
                assert!(was_quick || checks::error(&answer, 503, "did not return from step").contains("hostile"));
            });
        }
    });
    check_given_up(&server, "did not return from step");
    check_ends(&mut server);
}

#[test]
fn a_prepare_that_hangs_fails_its_request_and_the_model_is_given_up() {
    let mut server = serve("1");
    fails(&server, "hostile", "hang in prepare", "did not return from prepare");
    check_given_up(&server, "did not return from prepare");
    check_ends(&mut server);
}

#[test]
fn a_model_whose_replica_hung_is_healthy_again_once_that_was_opened_anew() {
    let mut server = serve_and_reopen_after("1", "1");
    checks::error(&say(&server, "hostile", "hang in step"), 503, "did not return from step");
    assert!(wait_until(Duration::from_secs(60), || state(&server, "hostile").state == "ready"), "{:?}", state(&server, "hostile"));
    check_both_speak(&server);
    check_ends(&mut server);
}

/// A thread that hangs in a plugin must not keep the process.
fn check_ends(server: &mut Server) {
    server.ask_to_end();
    let status = server.wait_for_end();
    assert!(status.success(), "{status}");
}
