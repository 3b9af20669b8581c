//! Places: units that find none, readers that are slow, clients that leave, and a server that ends.

use std::thread;

use omni_tests::checks::Baseline;
use omni_tests::sentences::{SENTENCES, long_text};
use omni_tests::server::{Server, wait_until};
use omni_tests::speech::{self, Stream, request_with};
use omni_tests::websocket::{Frames, TEXT, close, done, head, text};
use serde_json::{Value, json};

use crate::support::{PATIENCE, SENTENCE, THREE_PLACES, begin, check_ended, pcm_of, server, streaming};

#[test]
fn a_session_that_finds_no_place_is_told_when_to_come_again_and_stays() {
    let server = Server::start_with(&THREE_PLACES);
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
    let server = Server::start_with(&THREE_PLACES);
    let mut session = Frames::open_with(&server, &streaming(&json!({"split_granularity": "none"})));
    let long = long_text(70);
    for _ in 0..3 {
        session.send(&text(&long));
        session.send(&done());
    }
    session.read_until("binary");
    assert_eq!(fill(&server).len(), 1, "the session does not hold two of the three places");
}

/// Also when there was no place for it while it was the next one.
#[test]
fn a_unit_that_found_no_place_ahead_of_its_turn_is_spoken_in_its_turn() {
    let server = Server::start_with(&THREE_PLACES);
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
fn units_keep_their_order_while_the_server_is_busy_with_others() {
    let busy = request_with(&long_text(20), &json!({"response_format": "pcm"}));
    let others: Vec<Stream> = (0..8).map(|_| Stream::open(server(), &busy)).collect();
    let mut session = Frames::open_with(server(), &streaming(&json!({})));
    let sentences = &SENTENCES[10..14];
    sentences.iter().for_each(|sentence| session.send(&text(&format!("{sentence} "))));
    session.send(&done());
    session.send(&close());
    let report = session.read_out();
    check_ended(&report, 1000, "session.close");
    assert_eq!(report.types().last(), Some(&"session.done"), "{:?}", report.types());
    let units = report.units();
    let spoken: Vec<(&Value, &Value)> = units.iter().map(|unit| (&unit.start["sentence_index"], &unit.start["sentence_text"])).collect();
    let wanted: Vec<(Value, Value)> = (0..).zip(sentences).map(|(index, sentence)| (json!(index), json!(sentence))).collect();
    assert_eq!(spoken, wanted.iter().map(|(index, sentence)| (index, sentence)).collect::<Vec<_>>());
    for (unit, sentence) in units.iter().zip(sentences) {
        assert!(unit.frames.concat() == pcm_of(server(), sentence), "{sentence} has other sound in company");
    }
    drop(others);
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

#[test]
fn a_place_is_free_again_once_its_session_broke_off() {
    let server = Server::start_with(&THREE_PLACES);
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
