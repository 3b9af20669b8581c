//! Cloning: voices from clips, from vectors, from uploads, and what is refused.

use omni_tests::server::Server;
use omni_tests::speech::ask;
use omni_tests::upload::{Form, data_url, delete, listing, tone};
use serde_json::{Value, json};

use crate::support::{golden, refused, request, server, serving, speak};

const ENGLISH: &str = "Hello there, how are you today?";
const REFERENCE: &str = "The birch canoe slid on the smooth planks.";

/// A clip of a tone.
fn clip(frequency_hz: f64) -> Vec<u8> {
    tone(frequency_hz, 1.5, 24_000)
}

/// A clip as a data URL.
fn clip_url(frequency_hz: f64) -> String {
    data_url(&clip(frequency_hz))
}

/// Fails unless a request is refused with words that hold these.
fn refused_with(fields: &Value, part: &str) {
    let answer = ask(server("base"), &request(fields));
    assert_eq!(answer.status, 400, "{fields}: {}", answer.start());
    assert!(answer.text().contains(part), "{fields}: {}", answer.text());
}

#[test]
fn a_clip_is_cloned_by_its_vector_and_by_its_speech() {
    let server = server("base");
    let cloned = |more: Value| {
        let mut request = json!({"input": ENGLISH, "task_type": "Base", "ref_audio": clip_url(220.0)});
        more.as_object().expect("fields").iter().for_each(|(name, value)| request[name] = value.clone());
        speak(server, &request)
    };
    let vector = cloned(json!({"x_vector_only_mode": true}));
    let speech = cloned(json!({"ref_text": REFERENCE}));
    assert!(vector != speech, "the transcript changes nothing");
    assert!(vector == cloned(json!({"x_vector_only_mode": true, "ref_text": REFERENCE})), "by the vector alone the transcript is not read");
    assert!(vector != cloned(json!({"x_vector_only_mode": true, "ref_audio": clip_url(1400.0)})), "another clip is another voice");
}

#[test]
fn a_speaker_vector_can_be_given_itself() {
    let server = server("base");
    let vector: Vec<f32> = (0..32).map(|number| number as f32 / 32.0 - 0.5).collect();
    speak(server, &json!({"input": ENGLISH, "task_type": "Base", "speaker_embedding": vector}));
}

#[test]
fn an_uploaded_voice_is_listed_spoken_with_and_deleted() {
    let server = server("base");
    let answer = Form::of("My_Voice").text("ref_text", REFERENCE).clip(&clip(220.0)).send(server);
    assert_eq!(answer.status, 200, "{}", answer.start());
    assert_eq!(answer.json()["voice"]["name"], json!("My_Voice"));
    let listed = listing(server);
    assert!(listed["voices"].as_array().expect("a list").contains(&json!("my_voice")), "{listed}");
    let by_name = speak(server, &json!({"input": ENGLISH, "voice": "my_voice"}));
    let by_clip = speak(server, &json!({"input": ENGLISH, "ref_audio": clip_url(220.0), "ref_text": REFERENCE}));
    assert!(by_name == by_clip, "the voice sounds unlike the clip it was made of");
    let gone = delete(server, "my_voice");
    assert_eq!(gone.status, 200, "{}", gone.start());
    let refused = ask(server, &request(&json!({"input": ENGLISH, "voice": "my_voice"})));
    assert_eq!(refused.status, 400, "{}", refused.start());
}

#[test]
fn an_upload_without_a_transcript_is_spoken_by_its_vector_until_a_request_says_otherwise() {
    let server = server("base");
    let stored = Form::of("untold").clip(&clip(330.0)).send(server);
    assert_eq!(stored.status, 200, "{}", stored.start());
    let named = |more: Value| {
        let mut request = json!({"input": ENGLISH, "voice": "untold"});
        more.as_object().expect("fields").iter().for_each(|(name, value)| request[name] = value.clone());
        speak(server, &request)
    };
    let brought = |more: Value| {
        let mut request = json!({"input": ENGLISH, "task_type": "Base", "ref_audio": clip_url(330.0)});
        more.as_object().expect("fields").iter().for_each(|(name, value)| request[name] = value.clone());
        speak(server, &request)
    };
    let by_vector = brought(json!({"x_vector_only_mode": true}));
    assert!(named(json!({})) == by_vector);
    assert!(named(json!({"ref_text": REFERENCE})) == by_vector, "a transcript alone switches nothing");
    let in_context = brought(json!({"ref_text": REFERENCE}));
    assert!(in_context != by_vector && named(json!({"ref_text": REFERENCE, "x_vector_only_mode": false})) == in_context);
    assert_eq!(delete(server, "untold").status, 200);
}

#[test]
fn a_clone_without_its_parts() {
    let server = server("base");
    let base = |fields: Value| {
        let mut request = json!({"input": "Hi.", "task_type": "Base"});
        fields.as_object().expect("fields").iter().for_each(|(name, value)| request[name] = value.clone());
        request
    };
    refused(server, &base(json!({})), "Base task requires 'ref_audio' or 'speaker_embedding' for voice cloning");
    let no_text = "Base task requires non-empty 'ref_text' (transcript of the reference audio) unless 'x_vector_only_mode' is enabled";
    refused(server, &base(json!({"ref_audio": clip_url(220.0)})), no_text);
    refused(server, &base(json!({"ref_audio": clip_url(220.0), "ref_text": "  "})), no_text);
    let form = "ref_audio must be a URL (http/https), base64 data URL (data:...), or file URI (file://...)";
    refused(server, &base(json!({"ref_audio": "ftp://127.0.0.1/a.wav", "x_vector_only_mode": true})), form);
    let nobody = "Base task with built-in speaker 'someone' requires 'ref_audio' for voice cloning";
    refused(server, &base(json!({"voice": "Someone"})), nobody);
}

#[test]
fn a_speaker_vector_of_the_wrong_kind() {
    let server = server("base");
    let with = |vector: Value| json!({"input": "Hi.", "task_type": "Base", "speaker_embedding": vector});
    refused(server, &with(json!([])), "'speaker_embedding' must be a non-empty list of floats");
    refused_with(&with(json!([0.1, 0.2, 0.3])), "speaker_embedding has 3 dimensions; expected 32 for the loaded Qwen3-TTS model");
}

#[test]
fn speech_that_does_not_end_is_drawn_again_once_where_the_seed_is_free() {
    let server = Server::start_with(&serving(&golden("base")));
    let vector: Vec<f32> = (0..32).map(|number| number as f32 / 32.0 - 0.5).collect();
    // What was said before is most likely again, whatever the seed: the second try ends like the first.
    let endless = json!({"do_sample": false, "subtalker_dosample": false, "repetition_penalty": 0.1});
    let request = json!({"input": "Hi.", "task_type": "Base", "speaker_embedding": vector, "extra_params": endless});
    let tries = || server.log().matches("once more with another seed").count();
    for (more, tried_again) in [(json!({}), 1), (json!({"seed": 7}), 0), (json!({"stream": true, "response_format": "pcm"}), 0)] {
        let mut request = request.clone();
        more.as_object().expect("fields").iter().for_each(|(name, value)| request[name] = value.clone());
        let before = tries();
        let answer = ask(&server, &request);
        assert!(answer.text().contains("did not emit codec EOS before its token budget"), "{more}: {}", answer.start());
        assert_eq!(tries() - before, tried_again, "{more}: {}", server.log());
        assert_eq!(answer.status, if more.get("stream").is_some() { 200 } else { 500 }, "{more}");
    }
}
