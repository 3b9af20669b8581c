//! What streaming costs the server beside the speech itself: `cargo bench -p omni-host -p omni-tests --bench streams`.
//!
//! A real server over real sockets. Work is measured as the server's own processor time, whatever else the machine does; a tick is ten
//! milliseconds, so each figure is over many chunks. The last figure is of the wall clock: how far a player that begins with the first
//! frame of a WebSocket session runs dry while eight others are spoken to.

use std::time::{Duration, Instant};

use omni_tests::artifacts::plugin;
use omni_tests::raw;
use omni_tests::sentences::{SENTENCES, long_text};
use omni_tests::server::Server;
use omni_tests::speech::{PATH, RATE, Stream, request_with};
use omni_tests::websocket::{BINARY, CLOSE, Frames, close, done, text};
use serde_json::{Value, json};

const ROUNDS: usize = 40;
const SESSIONS: usize = 500;
const IDLE: Duration = Duration::from_secs(20);
const TICK_US: f64 = 10_000.0;

fn main() {
    let library = plugin("sine");
    let server = Server::start_with(&["--plugin", library.to_str().expect("a plain path"), "--ws-idle-secs", "600"]);
    overhead(&server);
    idle_sessions(&server);
    drop(server);
    deficit(&Server::start());
}

/// Processor time a chunk, by delivery.
fn overhead(server: &Server) {
    let input = long_text(20);
    for (name, speak) in [("raw", raw_chunks as fn(&Server, &str) -> usize), ("events", event_chunks), ("WebSocket", frames)] {
        speak(server, &input);
        let before = server.cpu_ticks();
        let chunks: usize = (0..ROUNDS).map(|_| speak(server, &input)).sum();
        let spent_us = (server.cpu_ticks() - before) as f64 * TICK_US;
        report(&format!("{name}: processor time a chunk, speech included"), spent_us / chunks as f64, "us", &format!("{chunks} chunks"));
    }
}

fn raw_chunks(server: &Server, input: &str) -> usize {
    Stream::open(server, &request_with(input, &json!({"response_format": "pcm"}))).pieces().len()
}

fn event_chunks(server: &Server, input: &str) -> usize {
    let body = request_with(input, &json!({"response_format": "pcm", "stream_format": "sse"}));
    let mut connection = server.connect();
    connection.send(&raw::post(PATH, body.to_string().as_bytes()));
    assert_eq!(connection.read_head().status, 200);
    connection.read_chunks().len()
}

fn streaming() -> Value {
    json!({"response_format": "pcm", "stream_audio": true, "split_granularity": "sentence", "seed": 7})
}

fn frames(server: &Server, input: &str) -> usize {
    let mut session = Frames::open_with(server, &json!({"response_format": "pcm", "stream_audio": true, "seed": 7}));
    session.send(&text(input));
    session.send(&done());
    session.send(&close());
    session.read_out().of("binary").len()
}

/// Memory and work of sessions that only wait.
fn idle_sessions(server: &Server) {
    let before = server.rss_bytes();
    let sessions: Vec<Frames> = (0..SESSIONS).map(|_| configured(server)).collect();
    let (grown, ticks) = (server.rss_bytes().saturating_sub(before), server.cpu_ticks());
    std::thread::sleep(IDLE);
    let spent = server.cpu_ticks() - ticks;
    report(&format!("{SESSIONS} idle sessions: memory"), grown as f64 / 1e6, "MB", "at most 50 wanted");
    let share = spent as f64 * TICK_US / IDLE.as_micros() as f64 * 100.0;
    report(&format!("{SESSIONS} idle sessions: processor"), share, "%", &format!("{spent} ticks in {} s", IDLE.as_secs()));
    drop(sessions);
}

/// A session whose configuration has been read.
fn configured(server: &Server) -> Frames {
    let mut session = Frames::open_with(server, &json!({}));
    session.send(&done());
    assert_eq!(session.read()["type"], "session.done");
    session
}

/// How late the sound of a session is for a player that began with the first frame, while eight streams are being spoken.
fn deficit(server: &Server) {
    let busy = request_with(&long_text(60), &json!({"response_format": "pcm"}));
    let _others: Vec<Stream> = (0..8).map(|_| Stream::open(server, &busy)).collect();
    let mut session = Frames::open_with(server, &streaming());
    SENTENCES[10..14].iter().for_each(|sentence| session.send(&text(&format!("{sentence} "))));
    session.send(&done());
    session.send(&close());
    let (mut began, mut played_s, mut late_s) = (None, 0.0, 0.0_f64);
    while let Some(frame) = session.read_frame().filter(|frame| frame.opcode != CLOSE) {
        if frame.opcode == BINARY {
            let now_s = began.get_or_insert_with(Instant::now).elapsed().as_secs_f64();
            late_s = late_s.max(now_s - played_s);
            played_s += frame.payload.len() as f64 / 2.0 / f64::from(RATE);
        }
    }
    let beside = format!("{played_s:.1} s of audio, at most 100 ms wanted");
    report("longest gap of a session beside eight streams", late_s * 1e3, "ms", &beside);
}

fn report(what: &str, figure: f64, unit: &str, more: &str) {
    println!("{what:<58} {figure:>9.1} {unit}  {more}");
}
