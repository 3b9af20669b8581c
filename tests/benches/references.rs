//! What a voice costs the first time and every other time: `cargo bench -p omni-tests --bench references`.
//!
//! A real binary over a real socket with the family that needs no weights, so that the figures are those of the host: a clip of 30 s as WAV,
//! sent along with a short text or uploaded before, the median of several. The first time it is decoded or read, resampled and encoded, later
//! it is not.

use std::time::{Duration, Instant};

use omni_tests::artifacts::plugin;
use omni_tests::http;
use omni_tests::server::Server;
use omni_tests::upload::{Form, data_url, tone};
use serde_json::{Value, json};

const ROUNDS: usize = 9;
const RATE: u32 = 48_000;

fn main() {
    let library = plugin("sine");
    let server = Server::start_with(&["--plugin", library.to_str().expect("UTF-8")]);
    let plain = median((0..ROUNDS).map(|_| speak(&server, &json!({"input": "One."}))).collect());
    println!("{:<48} {:>8.1} ms", "without a voice", ms(plain));
    let clips = |from_hz: f64| (0..ROUNDS).map(move |at| tone(from_hz + 10.0 * at as f64, 30.0, RATE));
    let sent: Vec<Value> = clips(200.0).map(|clip| json!({"input": "One.", "ref_audio": data_url(&clip)})).collect();
    compare(&server, "a clip of 30 s that is sent along", &sent);
    let upload = |(at, clip): (usize, Vec<u8>)| {
        let name = format!("voice {at}");
        assert_eq!(Form::of(&name).clip(&clip).send(&server).status, 200);
        json!({"input": "One.", "voice": name})
    };
    let stored: Vec<Value> = clips(205.0).enumerate().map(upload).collect();
    compare(&server, "an uploaded voice of 30 s", &stored);
}

fn compare(server: &Server, what: &str, requests: &[Value]) {
    let all = || median(requests.iter().map(|request| speak(server, request)).collect());
    let (first, second) = (all(), all());
    println!("{:<48} {:>8.1} ms", format!("{what}, first"), ms(first));
    println!("{:<48} {:>8.1} ms", format!("{what}, again"), ms(second));
    println!("{:<48} {:>8.1} times", "the second time is faster by", first.as_secs_f64() / second.as_secs_f64());
}

fn speak(server: &Server, request: &Value) -> Duration {
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
