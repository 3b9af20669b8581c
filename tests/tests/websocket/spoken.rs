//! What is spoken: units, their order, their sound, and the ends of utterances.

use omni_tests::sentences::long_text;
use omni_tests::server::Server;
use omni_tests::speech::{self, RATE, SEED, request_with, wav_bytes};
use omni_tests::wav::HEADER_BYTES;
use omni_tests::websocket::{Frames, close, config, converse, done, send, text, wait};
use serde_json::{Value, json};

use crate::support::{SENTENCE, check_ended, pcm_of, server, streaming};

#[test]
fn sentences_are_streamed_in_order_and_each_is_what_the_speech_endpoint_makes_of_it() {
    let report = converse(
        server(),
        &[
            send(config(&streaming(&json!({})))),
            send(text("The first one is he")),
            send(text("re. Then Dr. Smith came. And the re")),
            send(text("st")),
            send(done()),
            wait("session.done"),
            send(text("Once more. ")),
            send(done()),
            send(close()),
        ],
    );
    check_ended(&report, 1000, "session.close");
    let units = report.units();
    let wanted = [(0, 0, "The first one is here."), (0, 1, "Then Dr. Smith came."), (0, 2, "And the rest"), (1, 0, "Once more.")];
    assert_eq!(units.len(), wanted.len(), "{:?}", report.types());
    for (unit, (utterance, sentence, text)) in units.iter().zip(wanted) {
        let start = json!({"type": "audio.start", "utterance_index": utterance, "sentence_index": sentence, "sentence_text": text,
                           "format": "pcm", "sample_rate": RATE});
        assert_eq!(unit.start, start);
        assert!(unit.frames.iter().all(|frame| !frame.is_empty() && frame.len() % 2 == 0), "a frame of broken samples");
        let audio = unit.frames.concat();
        assert!(audio == pcm_of(server(), text), "{text} has other sound than by the speech endpoint");
        let done = json!({"type": "audio.done", "utterance_index": utterance, "sentence_index": sentence, "total_bytes": audio.len(),
                          "error": false});
        assert_eq!((&unit.done, unit.errors.len()), (&done, 0));
    }
    let ends: Vec<&Value> = report.of("session.done");
    assert_eq!(ends[0], &json!({"type": "session.done", "utterance_index": 0, "total_sentences": 3}));
    assert_eq!(ends[1], &json!({"type": "session.done", "utterance_index": 1, "total_sentences": 1}));
}

#[test]
fn without_streaming_a_unit_is_one_complete_file() {
    for (format, skipped) in [("wav", 0), ("pcm", HEADER_BYTES)] {
        let report = converse(
            server(),
            &[
                send(config(&json!({"response_format": format, "seed": SEED}))),
                send(text("Two sentences. ")),
                send(text("One unit. ")),
                send(done()),
                send(close()),
            ],
        );
        let units = report.units();
        assert_eq!((units.len(), units[0].frames.len(), units[0].start["format"].as_str()), (1, 1, Some(format)), "{report:?}");
        assert!(units[0].frames[0] == wav_bytes(server(), &speech::request("Two sentences. One unit."))[skipped..]);
        assert_eq!(report.types(), ["audio.start", "audio.done", "session.done"]);
    }
}

#[test]
fn every_frame_holds_whole_samples_at_every_rate() {
    for rate in [8_000, 16_000, 22_050, 24_000, 44_100, 48_000] {
        let fields = json!({"sample_rate": rate});
        let steps = [send(config(&streaming(&fields))), send(text(SENTENCE)), send(done()), send(close())];
        let unit = converse(server(), &steps).units().remove(0);
        assert_eq!(unit.start["sample_rate"], rate);
        assert!(unit.frames.iter().all(|frame| !frame.is_empty() && frame.len().is_multiple_of(2)), "{rate} Hz: a broken sample");
        assert!(unit.frames.concat() == wav_bytes(server(), &request_with(SENTENCE, &fields))[HEADER_BYTES..], "{rate} Hz: other sound");
    }
}

#[test]
fn a_session_with_the_defaults_needs_no_field_at_all() {
    let report = converse(server(), &[send(config(&json!({}))), send(text(SENTENCE)), send(done()), send(close())]);
    assert!(report.units()[0].frames[0].starts_with(b"RIFF"));
    check_ended(&report, 1000, "session.close");
}

#[test]
fn every_field_of_the_speech_endpoint_holds_for_the_whole_session() {
    let fields = json!({"voice": {"id": "Heart"}, "model": "hibari", "speed": 2.0, "seed": 3});
    let steps = [send(config(&streaming(&fields))), send(text("Good morning. And good night.")), send(done()), send(close())];
    for unit in converse(server(), &steps).units() {
        let text = unit.start["sentence_text"].as_str().expect("a text");
        let alone = wav_bytes(server(), &request_with(text, &fields));
        assert!(unit.frames.concat() == alone[HEADER_BYTES..], "{text} has other sound than by the speech endpoint");
    }
}

#[test]
fn an_utterance_without_text_only_ends() {
    let report = converse(server(), &[send(config(&json!({}))), send(text("  \n ")), send(done()), send(done()), send(close())]);
    let end = |utterance: u64| json!({"type": "session.done", "utterance_index": utterance, "total_sentences": 0});
    assert_eq!(report.events, [end(0), end(1)]);
}

#[test]
fn closing_discards_text_that_was_not_flushed() {
    let report = converse(server(), &[send(config(&streaming(&json!({})))), send(text("Spoken. Not spoken.")), send(close())]);
    assert_eq!(report.types(), ["audio.start", "audio.done"]);
    check_ended(&report, 1000, "session.close");
}

#[test]
fn cancelling_stops_what_is_said_and_forgets_what_was_to_be_said() {
    let server = Server::start();
    let mut session = Frames::open_with(&server, &streaming(&json!({"split_granularity": "none"})));
    session.send(&text(&long_text(70)));
    session.send(&done());
    session.send(&text("And this. "));
    session.send(&done());
    session.read_until("binary");
    session.send(&json!({"type": "input.cancel"}));
    let stopped = session.read_until("audio.done");
    assert_eq!((&stopped["cancelled"], &stopped["error"]), (&json!(true), &json!(false)), "{stopped}");
    let cancelled = |utterance: u64, total: u64| json!({"type": "session.done", "utterance_index": utterance, "total_sentences": total, "cancelled": true});
    for (utterance, total) in [(0, 1), (1, 0), (2, 0)] {
        assert_eq!(session.read(), cancelled(utterance, total));
    }
    session.send(&json!({"type": "input.cancel"}));
    assert_eq!(session.read(), cancelled(3, 0), "nothing to cancel is answered as well");
    session.send(&text(SENTENCE));
    session.send(&done());
    session.send(&close());
    let report = session.read_out();
    assert!(report.units()[0].frames.concat() == pcm_of(&server, SENTENCE), "the session speaks otherwise after a cancel");
    assert_eq!(report.units()[0].start["utterance_index"], 4);
}

#[test]
fn a_config_within_an_utterance_is_refused_and_between_two_it_holds_from_the_next_on() {
    let report = converse(
        server(),
        &[
            send(config(&streaming(&json!({})))),
            send(text("This is the")),
            send(config(&json!({}))),
            send(text(" beginning.")),
            send(done()),
            send(config(&json!({"response_format": "wav", "seed": SEED}))),
            send(text("One. Two.")),
            send(done()),
            send(close()),
        ],
    );
    let told = report.of("error")[0]["message"].as_str().unwrap_or_default().to_owned();
    assert!(told.starts_with("session.config cannot be applied while an utterance is in progress"), "{told}");
    let units = report.units();
    assert_eq!(
        (units.len(), &units[0].start["sentence_text"], &units[0].start["format"]),
        (2, &json!("This is the beginning."), &json!("pcm"))
    );
    assert_eq!((&units[1].start["sentence_text"], &units[1].start["format"]), (&json!("One. Two."), &json!("wav")));
}
