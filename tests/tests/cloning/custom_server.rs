//! The API of custom-voice servers: a folder of speakers' vectors, `/synthesize`, `/synthesize/stream` and `/speakers`.

use std::fs;
use std::path::Path;

use omni_tests::http::{self, Answer};
use omni_tests::raw;
use omni_tests::server::Server;
use omni_tests::speech::ask;
use omni_tests::wav::Wav;
use serde_json::{Value, json};

use crate::support::{TEXT, check_pitch, pitch_hz, start};

/// Writes a speaker's vector: a note and an amplitude.
fn profile(folder: &Path, name: &str, note: f32) {
    let data: Vec<u8> = [note, 0.5].iter().flat_map(|value| value.to_le_bytes()).collect();
    let head = json!({"xvector": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).to_string();
    let mut file = (head.len() as u64).to_le_bytes().to_vec();
    file.extend(head.as_bytes());
    file.extend(data);
    // Moved into place, as a tool would, so that nobody reads half of it.
    let part = folder.join("part");
    fs::write(&part, file).expect("the file is written");
    fs::rename(&part, folder.join(format!("{name}.safetensors"))).expect("it is moved");
}

fn synthesize(server: &Server, request: &Value) -> Answer {
    http::post_json(&server.url("/synthesize"), request)
}

fn spoken_pitch(server: &Server, request: &Value) -> f32 {
    let answer = synthesize(server, request);
    assert_eq!(answer.status, 200, "{}", answer.start());
    let wav = Wav::read(&answer.body).expect("a WAV file");
    let number = |name: &str| answer.header(name).and_then(|value| value.parse::<f64>().ok()).unwrap_or_else(|| panic!("no {name}"));
    assert!((number("x-audio-duration") - wav.seconds()).abs() < 0.002);
    assert!(number("x-latency") > 0.0);
    assert_eq!(answer.header("x-sample-rate"), Some("24000"));
    assert!(answer.header("x-request-id").is_some());
    pitch_hz(&wav.samples, wav.rate)
}

#[test]
fn a_folder_of_vectors_is_a_choice_of_speakers_and_changes_count_at_once() {
    let folder = tempfile::tempdir().expect("a directory");
    let server = start(&["--speaker-profiles", folder.path().to_str().expect("UTF-8")]);
    let request = json!({"text": TEXT, "speaker": "Anna", "seed": 5, "language": "English", "instruct": "calm"});
    assert_eq!(synthesize(&server, &request).status, 400, "nobody is called that yet");
    // The note 69 is 440 Hz, 12 notes more are twice as high.
    for (note, wanted_hz) in [(69.0, 440.0), (81.0, 880.0)] {
        profile(folder.path(), "anna", note);
        check_pitch("a profile", spoken_pitch(&server, &request), wanted_hz);
    }
    let listed = http::get(&server.url("/speakers")).json();
    assert_eq!(listed["custom"], json!(["anna"]));
    let speakers = listed["speakers"].as_array().expect("a list");
    assert!(["anna", "low", "middle", "high"].iter().all(|name| speakers.contains(&json!(name))), "{listed}");
    let answer = ask(&server, &json!({"input": TEXT, "voice": "anna", "seed": 5}));
    check_pitch("the speech endpoint", pitch_hz(&Wav::read(&answer.body).expect("a WAV file").samples, 24_000), 880.0);
    fs::write(folder.path().join("broken.safetensors"), "no tensors").expect("a file");
    let error = synthesize(&server, &json!({"text": TEXT, "speaker": "broken"})).json()["error"].take();
    assert!(error["code"] == 400 && error["message"].as_str().is_some_and(|text| text.contains("'broken' cannot be used")), "{error}");
    fs::remove_file(folder.path().join("anna.safetensors")).expect("it goes");
    assert_eq!(synthesize(&server, &request).status, 400, "she is gone");
}

#[test]
fn a_stream_holds_the_same_sound_as_floats() {
    let server = start(&[]);
    let request = json!({"text": TEXT, "speaker": "low", "seed": 5});
    let whole = Wav::read(&synthesize(&server, &request).body).expect("a WAV file").samples;
    let mut connection = server.connect();
    connection.send(&raw::post("/synthesize/stream", request.to_string().as_bytes()));
    let head = connection.read_head();
    assert!(head.status == 200 && head.is_chunked(), "{head:?}");
    let pieces = connection.read_chunks();
    assert!(pieces.len() > 1 && pieces.iter().all(|piece| piece.len() % 4 == 0), "whole samples in several pieces");
    let floats: Vec<f32> =
        pieces.concat().chunks_exact(4).map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])).collect();
    assert_eq!(floats.len(), whole.len());
    let differs = floats.iter().zip(&whole).position(|(float, sample)| (float * 32_767.0 - f32::from(*sample)).abs() > 1.5);
    assert_eq!(differs, None, "stream and file differ at this sample");
}

#[test]
fn what_is_wrong_is_told_like_on_the_speech_endpoint() {
    let server = start(&[]);
    for (path, request, status, param) in [
        ("/synthesize", json!({"speaker": "low"}), 400, "body.input"),
        ("/synthesize", json!({"text": "..."}), 400, "input"),
        ("/synthesize", json!({"text": TEXT, "speaker": "nobody"}), 400, "voice"),
        ("/synthesize/stream", json!({"text": TEXT, "sample_rate": 8000}), 400, "sample_rate"),
        ("/synthesize", json!({"text": TEXT, "model": "nobody"}), 404, "model"),
    ] {
        let answer = http::post_json(&server.url(path), &request);
        assert_eq!(answer.status, status, "{request}: {}", answer.start());
        assert_eq!(answer.json()["error"]["param"], param, "{request}");
    }
}
