//! The speech WebSocket, with a real client for what clients do and frame by frame for what none would send.

use std::thread;
use std::time::Duration;

use omni_tests::checks::{self, Baseline};
use omni_tests::http::{self, Answer};
use omni_tests::sentences::long_text;
use omni_tests::server::{Server, wait_until};
use omni_tests::speech::{self, RATE, SEED, Stream, request_with, wav_bytes};
use omni_tests::wav::HEADER_BYTES;
use omni_tests::websocket::{
    BINARY, CONTINUATION, Frames, PATH, PING, PONG, Report, TEXT, close, config, converse, done, head, send, text, wait,
};
use serde_json::{Value, json};

/// How long a server may take. Not a measure of speed: a guard against a hang.
const PATIENCE: Duration = Duration::from_secs(60);
const SENTENCE: &str = "The juice of lemons makes fine punch.";

fn server() -> &'static Server {
    Server::shared()
}

/// The fields of a session that streams, with more or other ones.
fn streaming(more: &Value) -> Value {
    let mut fields = json!({"response_format": "pcm", "stream_audio": true, "split_granularity": "sentence", "seed": SEED});
    for (name, value) in more.as_object().expect("fields are an object") {
        fields[name] = value.clone();
    }
    fields
}

/// What the speech endpoint makes of a text.
fn pcm_of(server: &Server, text: &str) -> Vec<u8> {
    wav_bytes(server, &speech::request(text))[HEADER_BYTES..].to_vec()
}

fn check_ended(report: &Report, code: u64, reason: &str) {
    assert_eq!(report.code, Some(code), "{report:?}");
    assert!(report.reason.as_deref().is_some_and(|told| told.contains(reason)), "{reason:?} expected: {report:?}");
}

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
fn word_times_need_an_aligner() {
    let fields = streaming(&json!({"word_timestamps": true}));
    let report = converse(server(), &[send(config(&fields)), send(text("One. Two.")), send(done()), send(close())]);
    assert_eq!(report.types(), ["error", "error", "session.done"]);
    assert!(report.events[0].to_string().contains("--forced-aligner"));
    assert_eq!(report.events[2]["total_sentences"], 2);
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
fn frames_that_break_the_protocol_end_the_session_with_their_code() {
    let oversized = [head(true, TEXT, 17 << 20, true), vec![0; 4]].concat();
    let unmasked = [head(true, TEXT, 2, false), b"{}".to_vec()].concat();
    let not_utf8 = [head(true, TEXT, 2, true), vec![0; 4], vec![0xFF, 0xFE]].concat();
    let binary = [head(true, BINARY, 2, true), vec![0; 4], b"{}".to_vec()].concat();
    let unknown = [head(true, 5, 0, true), vec![0; 4]].concat();
    let orphan = [head(true, CONTINUATION, 2, true), vec![0; 4], b"{}".to_vec()].concat();
    let long_ping = [head(true, PING, 200, true), vec![0; 204]].concat();
    for (rule, bytes, code, reason) in [
        ("a message too long for the connection", oversized, 1009, "16 MiB"),
        ("a frame without a mask", unmasked, 1002, ""),
        ("text that is not UTF-8", not_utf8, 1007, "UTF-8"),
        ("a binary frame", binary, 1003, "text frames"),
        ("an unknown opcode", unknown, 1002, ""),
        ("the end of a message without its beginning", orphan, 1002, ""),
        ("a ping too long", long_ping, 1002, ""),
    ] {
        for fields in [None, Some(json!({}))] {
            let mut session = fields.as_ref().map_or_else(|| Frames::open(server()), |fields| Frames::open_with(server(), fields));
            session.send_bytes(&bytes);
            let report = session.read_out();
            assert_eq!(report.code, Some(code), "{rule}: {report:?}");
            assert!(report.reason.as_deref().is_some_and(|told| !told.is_empty() && told.contains(reason)), "{rule}: {report:?}");
        }
    }
}

#[test]
fn a_message_in_fragments_is_one_message_and_pings_between_them_are_answered() {
    let mut session = Frames::open(server());
    let message = config(&streaming(&json!({"language": "ü".repeat(50)}))).to_string().into_bytes();
    session.send_frame(false, TEXT, &message[..40]);
    session.send_frame(true, PING, b"are you there");
    for byte in &message[40..] {
        session.send_frame(false, CONTINUATION, &[*byte]);
    }
    session.send_frame(true, CONTINUATION, b"");
    let pong = session.read_frame().expect("an answer");
    assert_eq!((pong.opcode, pong.payload.as_slice()), (PONG, &b"are you there"[..]));
    session.send(&text("Hello."));
    session.send(&done());
    session.send(&close());
    assert_eq!(session.read_out().types(), ["audio.start", "audio.done", "session.done"]);
}

#[test]
fn a_request_that_is_no_handshake_is_told_so() {
    let answer: Answer = http::get(&server().url(PATH));
    checks::error(&answer, 426, "WebSocket");
    assert_eq!(answer.header("upgrade"), Some("websocket"));
    checks::error(&http::post_json(&server().url(PATH), &json!({})), 405, "");
}

/// Waits for the deadlines of the protocol, both at once.
#[test]
fn a_silent_session_is_ended_with_a_word() {
    thread::scope(|scope| {
        scope.spawn(|| {
            let report = Frames::open(server()).read_out();
            assert_eq!(report.events, [json!({"type": "error", "message": "Timeout waiting for session.config"})]);
            check_ended(&report, 1000, "Timeout waiting for session.config");
        });
        let mut session = Frames::open_with(server(), &json!({}));
        session.send_frame(true, PING, b"");
        let report = session.read_out();
        assert_eq!(report.events, [json!({"type": "error", "message": "Idle timeout: no message received"})]);
        check_ended(&report, 1000, "Idle timeout");
    });
}

#[test]
fn a_clients_own_close_frame_is_answered() {
    let report = converse(server(), &[send(config(&json!({}))), json!({"leave": true})]);
    assert_eq!(report.code, Some(1000), "{report:?}");
}

#[test]
fn a_session_that_finds_no_place_is_told_when_to_come_again_and_stays() {
    let server = Server::start_with(&["--max-queue", "0"]);
    let running: Vec<Stream> = fill(&server);
    let mut session = Frames::open_with(&server, &streaming(&json!({})));
    session.send(&text("Hello. "));
    session.send(&done());
    assert_eq!(session.read()["type"], "audio.start");
    let error = session.read();
    assert_eq!(error["code"], 429, "{error}");
    assert!(error["retry_after_s"].as_u64() >= Some(1), "{error}");
    assert_eq!(session.read()["error"], true);
    assert_eq!(session.read()["total_sentences"], 1);
    drop(running);
    let spoken = wait_until(PATIENCE, || {
        session.send(&text("Hello. "));
        session.send(&done());
        let spoken = session.read_until("audio.done")["error"] == false;
        session.read_until("session.done");
        spoken
    });
    assert!(spoken, "the session found no place after all had left");
}

/// Takes every place of a server with streams that nobody reads to the end.
fn fill(server: &Server) -> Vec<Stream> {
    let long = request_with(&long_text(70), &json!({"response_format": "pcm"}));
    let mut running = Vec::new();
    while speech::ask(server, &speech::request("Hello.")).status != 429 {
        running.push(Stream::open(server, &long));
        assert!(running.len() < 100, "the server has no bound");
    }
    running
}

/// One place for the unit that is being sent, one for the next.
#[test]
fn the_next_unit_is_begun_while_the_current_one_is_being_sent() {
    let places = fill(&Server::start_with(&["--max-queue", "0"])).len();
    let server = Server::start_with(&["--max-queue", "0"]);
    let mut session = Frames::open_with(&server, &streaming(&json!({"split_granularity": "none"})));
    let long = long_text(70);
    for _ in 0..3 {
        session.send(&text(&long));
        session.send(&done());
    }
    session.read_until("binary");
    assert_eq!(fill(&server).len() + 2, places, "one session does not hold two of the places");
}

/// Also when there was no place for it while it was the next one.
#[test]
fn a_unit_that_found_no_place_ahead_of_its_turn_is_spoken_in_its_turn() {
    let server = Server::start_with(&["--max-queue", "0"]);
    let mut session = Frames::open_with(&server, &streaming(&json!({"split_granularity": "none"})));
    begin(&mut session, &long_text(70));
    let _running = fill(&server);
    session.send(&text(SENTENCE));
    session.send(&done());
    session.send(&close());
    let report = session.read_out();
    assert_eq!(report.of("error"), Vec::<&Value>::new());
    assert_eq!(report.types(), ["audio.done", "session.done", "audio.start", "audio.done", "session.done"]);
}

#[test]
fn a_slow_reader_holds_back_nobody_else_and_loses_nothing() {
    let long = long_text(20);
    let expected = pcm_of(server(), &long);
    let fields = streaming(&json!({"split_granularity": "none"}));
    let sessions: Vec<Frames> = (0..4).map(|_| Frames::open_with(server(), &fields)).collect();
    let begun = |mut session: Frames| (begin(&mut session, &long), session);
    let mut slow: Vec<(Value, Frames)> = sessions.into_iter().map(begun).collect();
    assert!(!pcm_of(server(), SENTENCE).is_empty(), "nobody else is served");
    let (start, mut session) = slow.pop().expect("four");
    session.send(&close());
    let mut report = session.read_out();
    report.events.insert(0, start);
    assert!(report.units()[0].frames.concat() == expected, "audio was lost");
}

/// Has a text spoken and gives its `audio.start`.
fn begin(session: &mut Frames, spoken: &str) -> Value {
    session.send(&text(spoken));
    session.send(&done());
    let start = session.read();
    assert_eq!(start["type"], "audio.start");
    start
}

#[test]
fn a_place_is_free_again_once_its_session_broke_off() {
    let server = Server::start_with(&["--max-queue", "0"]);
    let long = long_text(70);
    let mut sessions = Vec::new();
    while speech::ask(&server, &speech::request("Hello.")).status != 429 {
        let mut session = Frames::open_with(&server, &streaming(&json!({"split_granularity": "none"})));
        begin(&mut session, &long);
        sessions.push(session);
    }
    drop(sessions);
    let is_free = wait_until(PATIENCE, || speech::ask(&server, &speech::request("Hello.")).status == 200);
    assert!(is_free, "sessions that broke off keep their places");
}

#[test]
fn sessions_that_break_off_leave_nothing_behind() {
    let server = Server::start();
    break_off(&server, 2);
    let baseline = Baseline::of(&server);
    break_off(&server, 6);
    baseline.check(&server);
    assert!(!server.log().contains("panicked"), "{}", server.log());
}

/// Eight clients at a time, each leaving in several ways: before and after the first sound, half closed, and within a message.
fn break_off(server: &Server, times: usize) {
    thread::scope(|scope| {
        for worker in 0..8 {
            scope.spawn(move || (0..times).for_each(|round| leave(server, worker + round)));
        }
    });
}

fn leave(server: &Server, way: usize) {
    let fields = if way.is_multiple_of(2) { streaming(&json!({})) } else { json!({}) };
    let mut session = Frames::open_with(server, &fields);
    session.send(&text(&long_text(20)));
    session.send(&done());
    match way % 4 {
        0 => drop(session.read_until("binary")),
        1 => (),
        2 => {
            session.finish_sending();
            session.read_out();
        }
        _ => session.send_bytes(&head(true, TEXT, 1000, true)),
    }
}

#[test]
fn a_server_that_ends_finishes_the_sentence_and_says_goodbye_to_every_session() {
    let mut server = Server::start();
    let expected = pcm_of(&server, &long_text(3));
    let idle = Frames::open_with(&server, &json!({}));
    let silent = Frames::open(&server);
    let mut speaking = Frames::open_with(&server, &streaming(&json!({"split_granularity": "none"})));
    speaking.send(&text(&long_text(3)));
    speaking.send(&done());
    for more in ["Begun already.", "Not begun any more."] {
        speaking.send(&text(more));
        speaking.send(&done());
    }
    let start = speaking.read();
    assert_eq!(start["type"], "audio.start");
    server.ask_to_end();
    for session in [idle, silent] {
        check_ended(&session.read_out(), 1001, "shutting down");
    }
    let mut report = speaking.read_out();
    report.events.insert(0, start);
    check_ended(&report, 1001, "shutting down");
    assert!(report.units()[0].frames.concat() == expected, "the sentence was cut");
    assert!(report.units().len() <= 2, "more was begun: {:?}", report.types());
    assert_eq!(report.of("session.done").len(), report.units().len());
    assert!(server.wait_for_end().success());
}
