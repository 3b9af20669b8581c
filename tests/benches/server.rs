//! How fast the whole server is with its built-in voice: `cargo bench -p omni-tests --bench server`.
//!
//! A real release binary over a real socket, one request at a time, the median of several. Start is from spawning the process to the
//! first 200 of `/ready`.

use std::time::{Duration, Instant};

use omni_tests::server::Server;
use omni_tests::speech::{Stream, request_with, speak_request};
use serde_json::json;

const ROUNDS: usize = 15;
const TEN_WORDS: &str = "The quick brown fox jumps over the lazy dog today.";
const PARAGRAPH: &str = "The quick brown fox jumps over the lazy dog today. And then it slept all night long under the old oak tree \
                         near the river. Nobody came to look for it, so it stayed there until the sun was high. When it woke, the \
                         dog was gone and the grass was dry.";

fn main() {
    let starts: Vec<Duration> = (0..5).map(|_| start().1).collect();
    report("start to ready", median(starts), "");
    let (server, _) = start();
    let request = request_with(TEN_WORDS, &json!({"response_format": "pcm", "seed": 1}));
    speak_request(&server, &request_with(TEN_WORDS, &json!({"seed": 1})));
    let firsts = (0..ROUNDS).map(|_| first_audio(&server, &request));
    report("first audio of a streamed ten-word sentence", median(firsts.collect()), "");
    for (name, text) in [("ten words", TEN_WORDS), ("a paragraph", PARAGRAPH)] {
        let request = request_with(text, &json!({"seed": 1}));
        let mut seconds = 0.0;
        let times = (0..ROUNDS).map(|_| {
            let started = Instant::now();
            seconds = speak_request(&server, &request).seconds();
            started.elapsed()
        });
        let time = median(times.collect());
        report(&format!("whole body of {name}, {seconds:.1} s of audio"), time, &format!("RTF {:.4}", time.as_secs_f64() / seconds));
    }
    println!("{:<58} {:>9.1} MB", "resident memory afterwards", server.rss_bytes() as f64 / 1e6);
}

/// A server that is ready, and how long that took.
fn start() -> (Server, Duration) {
    let started = Instant::now();
    let server = Server::start();
    (server, started.elapsed())
}

fn first_audio(server: &Server, request: &serde_json::Value) -> Duration {
    let started = Instant::now();
    let mut stream = Stream::open(server, request);
    stream.next_piece().expect("a stream has a first piece");
    let first = started.elapsed();
    stream.pieces();
    first
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn report(what: &str, time: Duration, more: &str) {
    println!("{what:<58} {:>9.1} ms  {more}", time.as_secs_f64() * 1e3);
}
