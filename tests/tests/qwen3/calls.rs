//! The calls of the speech documentation, each against the checkpoint it is for.

use omni_tests::http::{self, Answer};
use omni_tests::speech::{self, Stream, ask};
use omni_tests::wav::Wav;
use omni_tests::websocket::{close, config, converse, done, send, text};
use serde_json::{Value, json};

use crate::support::{FRAMES, check_frames, request, server, speak};

const ENGLISH: &str = "Hello there, how are you today?";

#[test]
fn a_built_in_voice_speaks_with_and_without_instructions() {
    let server = server("custom_voice");
    let plain = json!({"input": ENGLISH, "voice": "vivian", "language": "English"});
    let with = |fields: &Value| {
        let mut request = plain.clone();
        fields.as_object().expect("fields").iter().for_each(|(name, value)| request[name] = value.clone());
        speak(server, &request)
    };
    let spoken = with(&json!({}));
    assert!(spoken == with(&json!({"task_type": "CustomVoice"})), "the task is the checkpoint's own");
    assert!(spoken == with(&json!({"voice": "VIVIAN", "language": "english"})), "names have no case");
    for other in [
        json!({"instructions": "Speak with great enthusiasm"}),
        json!({"voice": "ryan"}),
        json!({"language": "German"}),
        json!({"seed": 8}),
    ] {
        assert!(spoken != with(&other), "{other} changes nothing");
    }
}

#[test]
fn every_built_in_voice_is_listed_and_speaks() {
    let server = server("custom_voice");
    let listed = http::get(&server.url("/v1/audio/voices")).json();
    let voices: Vec<&str> = listed["voices"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    for name in ["aiden", "dylan", "eric", "ono_anna", "ryan", "serena", "sohee", "uncle_fu", "vivian"] {
        assert!(voices.contains(&name), "{name} is not in {voices:?}");
        speak(server, &json!({"input": "Hi there.", "voice": name, "max_new_tokens": 3}));
    }
}

#[test]
fn a_voice_is_made_of_its_description() {
    let server = server("voice_design");
    let described =
        |words: &str| speak(server, &json!({"input": ENGLISH, "task_type": "VoiceDesign", "instructions": words, "language": "English"}));
    assert!(described("A warm, friendly female voice with a gentle tone") != described("A calm old man with a deep voice."));
}

#[test]
fn a_batch_speaks_with_several_voices() {
    let server = server("custom_voice");
    let items = json!([{"input": "Hi there."}, {"input": ENGLISH, "voice": "ryan"}, {"input": ENGLISH, "voice": "nobody"}]);
    let body = request(&json!({"items": items, "voice": "vivian", "language": "English"}));
    let answer = http::post_json(&server.url("/v1/audio/speech/batch"), &body);
    assert_eq!(answer.status, 200, "{}", answer.start());
    let results = answer.json()["results"].clone();
    let states: Vec<&str> = results.as_array().expect("a list").iter().filter_map(|result| result["status"].as_str()).collect();
    assert_eq!(states, ["success", "success", "error"], "{results}");
}

#[test]
fn a_raw_stream_and_events_carry_what_a_file_holds() {
    let server = server("custom_voice");
    let spoken = json!({"input": ENGLISH, "voice": "vivian", "non_streaming_mode": false});
    let whole = speak(server, &spoken);
    let mut streamed = request(&spoken);
    streamed["response_format"] = json!("pcm");
    let pieces = Stream::open(server, &streamed).pieces();
    let joined = Wav::from_pcm(&pieces.concat(), 24_000).expect("whole samples");
    assert_eq!(joined.samples.len(), whole.samples.len());
    let differs = joined.samples.iter().zip(&whole.samples).position(|(one, two)| one.abs_diff(*two) > 1);
    assert_eq!(differs, None, "stream and file differ from this sample on");
    assert!(pieces.len() > 1 && pieces[0].len() < pieces.concat().len(), "all came at once");
    let mut events = streamed.clone();
    events["stream_format"] = json!("sse");
    let audio = audio_of_events(&ask(server, &events));
    assert!(audio == pieces.concat(), "events carry other sound");
}

/// The audio in a body of server-sent events.
fn audio_of_events(answer: &Answer) -> Vec<u8> {
    assert_eq!(answer.status, 200, "{}", answer.start());
    let text = answer.text();
    let events: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok()).collect();
    assert!(events.iter().any(|event| event["type"] == json!("speech.audio.done")), "{text:.300}");
    let deltas = events.iter().filter(|event| event["type"] == json!("speech.audio.delta"));
    deltas.filter_map(|event| event["audio"].as_str()).flat_map(omni_tests::base64::decode).collect()
}

#[test]
fn a_websocket_session_speaks_sentence_by_sentence() {
    let server = server("custom_voice");
    let fields = json!({"voice": "vivian", "language": "English", "max_new_tokens": FRAMES, "seed": speech::SEED, "response_format": "pcm",
                        "stream_audio": true, "split_granularity": "sentence"});
    let script = [send(config(&fields)), send(text("Hello there, how are you today? Hi there. ")), send(done()), send(close())];
    let report = converse(server, &script);
    let units = report.units();
    assert_eq!(units.len(), 2, "{:?}", report.types());
    for unit in units {
        assert!(unit.errors.is_empty(), "{:?}", unit.errors);
        check_frames(&Wav::from_pcm(&unit.frames.concat(), 24_000).expect("whole samples").samples);
    }
}

#[test]
fn every_format_and_the_openai_shape_are_answered() {
    let server = server("custom_voice");
    for (format, kind) in [
        ("wav", "audio/wav"),
        ("mp3", "audio/mpeg"),
        ("flac", "audio/flac"),
        ("opus", "audio/ogg"),
        ("aac", "audio/aac"),
        ("pcm", "audio/pcm"),
    ] {
        let fields = json!({"model": "custom_voice", "input": "Hi there.", "voice": "alloy", "response_format": format});
        let answer = ask(server, &request(&fields));
        assert_eq!(answer.status, 200, "{format}: {}", answer.start());
        assert!(answer.header("content-type").is_some_and(|found| found.starts_with(kind)), "{format}: {:?}", answer.headers);
        assert!(answer.body.len() > 100, "{format}: {} bytes", answer.body.len());
    }
}
