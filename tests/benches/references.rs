//! What a voice costs the first time and every other time: `cargo bench -p omni-tests --bench references`.
//!
//! A real binary over a real socket with the family that needs no weights, so that the figures are those of the host: a clip of 30 s as WAV,
//! sent along with a short text, the median of several. The first time it is decoded, resampled and encoded, later it is not.

use std::time::{Duration, Instant};

use omni_tests::artifacts::plugin;
use omni_tests::http;
use omni_tests::server::Server;
use omni_tests::upload::{data_url, tone};
use serde_json::json;

const ROUNDS: usize = 9;
const RATE: u32 = 48_000;

fn main() {
    let library = plugin("sine");
    let server = Server::start_with(&["--plugin", library.to_str().expect("UTF-8")]);
    let plain = median((0..ROUNDS).map(|_| speak(&server, &json!({"input": "One."}))).collect());
    println!("{:<40} {:>8.1} ms", "without a clip", ms(plain));
    let clips: Vec<String> = (0..ROUNDS).map(|at| data_url(&tone(200.0 + 10.0 * at as f64, 30.0, RATE))).collect();
    let firsts = median(clips.iter().map(|clip| speak(&server, &json!({"input": "One.", "ref_audio": clip}))).collect());
    let seconds = median(clips.iter().map(|clip| speak(&server, &json!({"input": "One.", "ref_audio": clip}))).collect());
    println!("{:<40} {:>8.1} ms", "a clip of 30 s, the first time", ms(firsts));
    println!("{:<40} {:>8.1} ms", "the same clip again", ms(seconds));
    println!("{:<40} {:>8.1} times", "the second time is faster by", firsts.as_secs_f64() / seconds.as_secs_f64());
}

fn speak(server: &Server, request: &serde_json::Value) -> Duration {
    let begun = Instant::now();
    let answer = http::post_json(&server.url("/v1/audio/speech"), request);
    assert_eq!(answer.status, 200, "{}", answer.start());
    begun.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
