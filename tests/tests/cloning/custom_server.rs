//! The API of custom-voice servers: a folder of speakers' vectors, `/synthesize`, `/synthesize/stream` and `/speakers`.

use std::fs;
use std::path::Path;
use std::process::Command;

use omni_tests::artifacts::{omni_host, plugin};
use omni_tests::http::{self, Answer};
use omni_tests::raw;
use omni_tests::server::Server;
use omni_tests::speech::ask;
use omni_tests::upload::{Form, listing};
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
    assert_eq!(listed, json!({"count": 4, "speakers": ["anna", "high", "low", "middle"], "custom": ["anna"]}));
    assert_eq!(listing(&server)["voices"], json!(["anna", "default", "high", "low", "middle"]));
    let unknown = synthesize(&server, &json!({"text": TEXT, "speaker": "nobody"})).json()["error"].take();
    assert_eq!(unknown["message"], "Invalid voice 'nobody'. Supported: anna, default, high, low, middle");
    let answer = ask(&server, &json!({"input": TEXT, "voice": "anna", "seed": 5}));
    check_pitch("the speech endpoint", pitch_hz(&Wav::read(&answer.body).expect("a WAV file").samples, 24_000), 880.0);
    fs::write(folder.path().join("broken.safetensors"), "no tensors").expect("a file");
    let error = synthesize(&server, &json!({"text": TEXT, "speaker": "broken"})).json()["error"].take();
    assert!(error["code"] == 400 && error["message"].as_str().is_some_and(|text| text.contains("'broken' cannot be used")), "{error}");
    fs::remove_file(folder.path().join("anna.safetensors")).expect("it goes");
    assert_eq!(synthesize(&server, &request).status, 400, "she is gone");
}

#[test]
fn a_profile_is_mixed_like_any_vector_and_its_name_is_not_to_be_had_by_an_upload() {
    let folder = tempfile::tempdir().expect("a directory");
    let server = start(&["--speaker-profiles", folder.path().to_str().expect("UTF-8"), "--voice-alias", "nova=anna"]);
    let upload = |name: &str| Form::of(name).text("speaker_embedding", "[57, 0.5]").send(&server);
    assert_eq!(upload("berta").status, 200);
    profile(folder.path(), "anna", 81.0);
    // Half way between 220 Hz and 880 Hz.
    check_pitch("a mixture", spoken_pitch(&server, &json!({"text": TEXT, "speaker": "anna+berta", "seed": 5})), 440.0);
    check_pitch("an alias", spoken_pitch(&server, &json!({"text": TEXT, "speaker": "nova", "seed": 5})), 880.0);
    assert_eq!(listing(&server)["aliases"]["nova"], "anna");
    for name in ["anna", "ANNA", "аnna"] {
        let refused = upload(name);
        assert!(refused.status == 400 && refused.text().contains("is reserved"), "{name}: {}", refused.start());
    }
    // The operator's own voice counts, also where a stranger's was there before.
    profile(folder.path(), "berta", 81.0);
    check_pitch("a profile", spoken_pitch(&server, &json!({"text": TEXT, "speaker": "berta", "seed": 5})), 880.0);
    assert_eq!(listing(&server)["uploaded_voices"], json!([]));
}

#[test]
fn variables_alone_set_up_what_serves_in_place_of_a_custom_voice_server() {
    let folder = tempfile::tempdir().expect("a directory");
    profile(folder.path(), "anna", 81.0);
    let mut command = Command::new(omni_host());
    command.arg("serve").env("TTS_PLUGIN", plugin("sine")).env("TTS_VOICES", "memory:");
    command.env("TTS_HOST", "127.0.0.1").env("TTS_PORT", "0").env("TTS_PROFILES_DIR", folder.path()).env("TTS_WORKERS", "4");
    let mut server = Server::launch_as(command);
    server.wait_until_ready();
    check_pitch("a profile", spoken_pitch(&server, &json!({"text": TEXT, "speaker": "anna", "seed": 5})), 880.0);
    assert!(server.log().contains("TTS_WORKERS"), "a variable that nobody reads is not told: {}", server.log());
    assert!(!server.log().contains("TTS_PORT"), "{}", server.log());
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
    for (name, value) in [("x-sample-rate", "24000"), ("x-sample-format", "f32le"), ("x-channels", "1")] {
        assert_eq!(head.header(name), Some(value), "{head:?}");
    }
    assert!(head.header("x-request-id").is_some(), "{head:?}");
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
