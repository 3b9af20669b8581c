//! What a voice costs the first time and every other time: `cargo bench -p omni-tests --bench references`.
//!
//! A real binary over a real socket with the family that needs no weights, so that the figures are those of the host: a clip of 30 s as WAV,
//! sent along with a short text, the median of several. The first time it is decoded, resampled and encoded, later it is not.

use std::time::{Duration, Instant};

use omni_tests::artifacts::plugin;
use omni_tests::base64;
use omni_tests::http;
use omni_tests::server::Server;
use serde_json::json;

const ROUNDS: usize = 9;
const RATE: u32 = 48_000;

fn main() {
    let library = plugin("sine");
    let server = Server::start_with(&["--plugin", library.to_str().expect("UTF-8")]);
    let plain = median((0..ROUNDS).map(|_| speak(&server, &json!({"input": "One."}))).collect());
    println!("{:<40} {:>8.1} ms", "without a clip", ms(plain));
    let clips: Vec<String> = (0..ROUNDS).map(|at| data_url(&wav(200.0 + 10.0 * at as f32))).collect();
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

/// Thirty seconds of a tone.
fn wav(pitch_hz: f32) -> Vec<u8> {
    let samples = (0..30 * RATE).map(|at| (9_000.0 * (std::f32::consts::TAU * pitch_hz * at as f32 / RATE as f32).sin()) as i16);
    let data: Vec<u8> = samples.flat_map(i16::to_le_bytes).collect();
    let mut file = b"RIFF".to_vec();
    file.extend((36 + data.len() as u32).to_le_bytes());
    file.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
    file.extend(RATE.to_le_bytes());
    file.extend((RATE * 2).to_le_bytes());
    file.extend(b"\x02\0\x10\0data");
    file.extend((data.len() as u32).to_le_bytes());
    file.extend(data);
    file
}

fn data_url(bytes: &[u8]) -> String {
    format!("data:audio/wav;base64,{}", base64::encode(bytes))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
