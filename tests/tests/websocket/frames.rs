//! Frames that no client would send, handshakes that are none, silence, and goodbyes.

use std::thread;

use omni_tests::checks;
use omni_tests::http::{self, Answer};
use omni_tests::server::Server;
use omni_tests::websocket::{BINARY, CONTINUATION, Frames, PATH, PING, PONG, TEXT, close, config, converse, done, head, send, text};
use serde_json::json;

use crate::support::{check_ended, server, streaming};

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

/// Waits for the deadlines of the protocol, both at once, on a server that was told to be impatient.
#[test]
fn a_silent_session_is_ended_with_a_word() {
    let server = Server::start_with(&["--ws-config-secs", "1", "--ws-idle-secs", "2"]);
    thread::scope(|scope| {
        scope.spawn(|| {
            let report = Frames::open(&server).read_out();
            assert_eq!(report.events, [json!({"type": "error", "message": "Timeout waiting for session.config"})]);
            check_ended(&report, 1000, "Timeout waiting for session.config");
        });
        let mut session = Frames::open_with(&server, &json!({}));
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
