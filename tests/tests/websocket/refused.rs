//! What is refused: units that cannot be spoken, messages that are none, and messages out of order.

use omni_tests::speech::RATE;
use omni_tests::websocket::{Frames, close, config, converse, done, send, text};
use serde_json::{Value, json};

use crate::support::{SENTENCE, check_ended, pcm_of, server, streaming};

#[test]
fn a_unit_that_fails_is_told_in_its_place_and_the_session_goes_on() {
    for (rule, fields, failing, speaks, param) in [
        ("nothing to speak", json!({}), "Hello. … Bye.", 2, "input"),
        ("an unknown voice", json!({"voice": "nobody"}), "Hello.", 0, "voice"),
        ("no voice to clone", json!({"ref_audio": "data:audio/wav;base64,AAAA"}), "Hello.", 0, "ref_audio"),
    ] {
        let report = converse(
            server(),
            &[
                send(config(&streaming(&fields))),
                send(text(failing)),
                send(done()),
                send(config(&streaming(&json!({})))),
                send(text(SENTENCE)),
                send(done()),
                send(close()),
            ],
        );
        check_ended(&report, 1000, "session.close");
        let units = report.units();
        let (failed, spoken): (Vec<_>, Vec<_>) = units.iter().partition(|unit| unit.done["error"] == true);
        assert_eq!(failed.len(), 1, "{rule}: {report:?}");
        let error = &failed[0].errors[0];
        let place = format!("Generation failed for utterance 0, sentence {}: ", failed[0].start["sentence_index"]);
        assert!(error["message"].as_str().is_some_and(|text| text.starts_with(&place)), "{rule}: {error}");
        assert_eq!((&error["code"], &error["param"]), (&json!(400), &json!(param)), "{rule}: {error}");
        assert_eq!((failed[0].frames.len(), &failed[0].done["total_bytes"]), (0, &json!(0)), "{rule}");
        assert!(failed[0].start["sample_rate"] == RATE && error.get("partial_audio").is_none(), "{rule}: {report:?}");
        for unit in &spoken {
            assert!(unit.frames.concat() == pcm_of(server(), unit.start["sentence_text"].as_str().expect("a text")), "{rule}");
        }
        assert_eq!((spoken.len(), report.of("session.done").len()), (speaks + 1, 2), "{rule}: {report:?}");
    }
}

/// Messages that are refused while the session goes on: what the rule is, what is sent after the config, and what is told.
fn refused() -> Vec<(&'static str, Value, &'static str)> {
    let long = "a".repeat(200 << 10);
    vec![
        ("no JSON", json!("hello {"), "Invalid JSON message"),
        ("no object", json!("[1]"), "WebSocket messages must be JSON objects"),
        ("an unknown type", json!({"type": "input.more"}), "Unknown message type: input.more"),
        ("no type", json!({"text": "hello"}), "Unknown message type: None"),
        ("text that is none", json!({"type": "input.text", "text": 5}), "input.text requires a string value"),
        ("a text too long", text(&long), "input.text message too large"),
        ("a message too long", config(&json!({"x": "a".repeat(5 << 20)})), "WebSocket message too large"),
        ("a bad config", config(&json!({"speed": 9})), "Invalid session config: 1 validation error"),
        ("streamed wav", config(&json!({"stream_audio": true})), "Got response_format='wav'"),
        ("an unknown model", config(&json!({"model": "nobody"})), "The model `nobody` does not exist."),
        ("a bad granularity", config(&json!({"split_granularity": "word"})), "'none', 'sentence' or 'clause'"),
    ]
}

fn sent(message: &Value) -> String {
    message.as_str().map_or_else(|| message.to_string(), str::to_owned)
}

#[test]
fn a_bad_message_is_told_and_changes_nothing() {
    let expected = pcm_of(server(), SENTENCE);
    for (rule, message, told) in refused() {
        let mut session = Frames::open_with(server(), &streaming(&json!({})));
        session.send_text(&sent(&message));
        let error = session.read();
        assert!(error["message"].as_str().is_some_and(|text| text.contains(told)), "{rule}: {error}");
        assert_eq!(error["type"], "error", "{rule}");
        session.send(&text(SENTENCE));
        session.send(&done());
        session.send(&close());
        let report = session.read_out();
        assert!(report.units()[0].frames.concat() == expected, "{rule}: the session speaks otherwise");
        check_ended(&report, 1000, "session.close");
    }
}

#[test]
fn a_bad_first_message_ends_the_session() {
    let wrong_order = [("text first", text("Hello."), "Expected session.config, got: input.text"), ("done first", done(), "input.done")];
    let unknown = [("no type", json!({}), "Expected session.config, got: None")];
    let others = refused().into_iter().filter(|(rule, ..)| rule.contains("JSON") || rule.contains("object") || rule.contains("config"));
    let models = refused().into_iter().filter(|(rule, ..)| rule.contains("model") || rule.contains("message"));
    for (rule, message, told) in wrong_order.into_iter().chain(unknown).chain(others).chain(models) {
        let mut session = Frames::open(server());
        session.send_text(&sent(&message));
        let report = session.read_out();
        assert_eq!(report.types(), ["error"], "{rule}: {report:?}");
        assert!(report.events[0]["message"].as_str().is_some_and(|text| text.contains(told)), "{rule}: {report:?}");
        check_ended(&report, 1008, told.split('\'').next().unwrap_or_default());
    }
}

#[test]
fn word_times_need_an_aligner() {
    let fields = streaming(&json!({"word_timestamps": true}));
    let report = converse(server(), &[send(config(&fields)), send(text("One. Two.")), send(done()), send(close())]);
    assert_eq!(report.types(), ["error", "error", "session.done"]);
    assert!(report.events[0].to_string().contains("--forced-aligner"));
    assert_eq!(report.events[2]["total_sentences"], 2);
}
