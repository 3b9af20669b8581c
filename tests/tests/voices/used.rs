//! Uploaded voices at work, with the tone family, whose sound tells which voice it was.

use std::path::Path;

use omni_tests::http;
use omni_tests::server::Server;
use omni_tests::speech::PATH;
use omni_tests::upload::{Form, VOICES, delete, listing, tone};
use omni_tests::{base64, raw, websocket};
use serde_json::{Value, json};

use super::support::{good, refused, say, server_on, spoken, start, upload_tone, upload_vector};

fn restarted(mut server: Server, folder: &Path) -> Server {
    server.ask_to_end();
    assert!(server.wait_for_end().success());
    server_on(folder)
}

#[test]
fn a_voice_is_uploaded_spoken_with_replaced_and_deleted_and_every_restart_keeps_what_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server_on(folder.path());
    good(&upload_tone(&server, "Anne", 110.0));
    good(&upload_tone(&server, "Bob", 110.0));
    let bob = spoken(&server, "BOB");
    assert!(spoken(&server, "anne") == bob && bob == spoken(&server, "low"), "the voices do not sound like their clips");
    good(&upload_tone(&server, "Anne", 440.0));
    let anne = spoken(&server, "anne");
    assert!(anne == spoken(&server, "high"), "the old voice goes on to be heard");

    let server = restarted(server, folder.path());
    let listed = listing(&server);
    let names: Vec<&str> =
        listed["uploaded_voices"].as_array().expect("a list").iter().filter_map(|voice| voice["name"].as_str()).collect();
    assert_eq!(names, ["Bob", "Anne"], "in the order of their upload");
    assert!(spoken(&server, "Anne") == anne && spoken(&server, "Bob") == bob, "another sound after a restart");
    assert_eq!(good(&delete(&server, "ANNE"))["message"], "Voice 'ANNE' deleted successfully");
    refused(&say(&server, "Anne", &json!({})), 400, "Invalid voice 'Anne'. Supported: bob, default, high, low, middle");
    let server = restarted(server, folder.path());
    refused(&say(&server, "Anne", &json!({})), 400, "Invalid voice 'Anne'. Supported: bob, default, high, low, middle");
    assert!(spoken(&server, "Bob") == bob);
}

#[test]
fn a_new_clip_takes_the_place_of_the_old_one_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server_on(folder.path());
    for (frequency_hz, like) in [(440.0, "high"), (220.0, "middle"), (110.0, "low"), (440.0, "high")] {
        good(&upload_tone(&server, "changing", frequency_hz));
        assert!(spoken(&server, "changing") == spoken(&server, like), "not the voice of the last upload");
    }
    refused(&Form::of("changing").clip(b"RIFF").send(&server), 400, "Could not decode audio file: ");
    assert!(spoken(&server, "changing") == spoken(&server, "high"), "a failed upload harmed the voice that was there");
}

#[test]
fn every_path_that_speaks_takes_an_uploaded_voice() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server_on(folder.path());
    good(&upload_tone(&server, "anne", 440.0));
    let wanted = good_pcm(&say(&server, "high", &json!({"response_format": "pcm"})));
    let raw = say(&server, "anne", &json!({"response_format": "pcm", "stream_format": "audio"}));
    assert!(good_pcm(&raw) == wanted, "the raw stream");
    let events = say(&server, "anne", &json!({"response_format": "pcm", "stream": true})).text();
    assert!(audio_of_events(&events) == wanted, "the events");
    let batch = json!({"voice": "anne", "seed": 7, "loudness": 0.5, "response_format": "pcm", "items": [{"input": "Good day to you."}]});
    let batch = good(&http::post_json(&server.url(&format!("{PATH}/batch")), &batch));
    let item = &batch["results"][0];
    assert_eq!(item["status"], "success", "{batch}");
    let audio = base64::decode(item["audio_data"].as_str().expect("audio"));
    assert!(audio == wanted, "the batch");
    assert!(over_websocket(&server, "anne") == wanted, "the WebSocket");
}

fn good_pcm(answer: &http::Answer) -> Vec<u8> {
    assert_eq!(answer.status, 200, "{}", answer.start());
    answer.body.clone()
}

fn audio_of_events(text: &str) -> Vec<u8> {
    let events = text.lines().filter_map(|line| line.strip_prefix("data: ")).filter_map(|data| serde_json::from_str::<Value>(data).ok());
    events.filter_map(|event| event["audio"].as_str().map(base64::decode)).flatten().collect()
}

fn over_websocket(server: &Server, voice: &str) -> Vec<u8> {
    let config = websocket::config(&json!({"voice": voice, "seed": 7, "loudness": 0.5, "response_format": "pcm"}));
    let steps = [websocket::send(config), websocket::send(websocket::text("Good day to you.")), websocket::send(websocket::done())];
    let report = websocket::converse(server, &[&steps[..], &[websocket::wait("session.done")]].concat());
    report.units().into_iter().flat_map(|unit| unit.frames.concat()).collect()
}

#[test]
fn vectors_are_spoken_with_and_mixed() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server_on(folder.path());
    good(&upload_vector(&server, "bottom", 45.0));
    good(&upload_vector(&server, "top", 69.0));
    assert!(spoken(&server, "top") == spoken(&server, "high"));
    assert!(spoken(&server, "top(1)+bottom(1)") == spoken(&server, "middle"), "half way between 110 and 440 Hz is 220 Hz");
    assert!(spoken(&server, "Top(3) + BOTTOM(0.000001)") == spoken(&server, "high"));
    good(&upload_tone(&server, "clip", 440.0));
    assert!(spoken(&server, "clip+bottom") == spoken(&server, "middle"), "a clip has a vector as well");
    for (voice, words) in [
        ("top(0)+bottom", "the weight of 'top' must be a number above 0"),
        ("top+nobody", "Invalid voice 'nobody' in a mixture"),
        ("top+middle", "Invalid voice 'middle' in a mixture"),
        ("top+", "no name"),
    ] {
        refused(&say(&server, voice, &json!({})), 400, words);
    }
    let mixed = good(&Form::of("between").text("mix", "top+bottom").send(&server));
    assert_eq!((&mixed["voice"]["embedding_source"], &mixed["voice"]["embedding_dim"]), (&json!("direct"), &json!(2)));
    assert!(spoken(&server, "between") == spoken(&server, "middle"));
    refused(&Form::of("wide").text("speaker_embedding", "[1, 2, 3]").send(&server), 400, "speaker_embedding has 3 dimensions; expected 2");
}

#[test]
fn a_family_that_cannot_clone_says_so_and_still_stores() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start_with(&["--voices", folder.path().to_str().expect("a path")]);
    good(&upload_tone(&server, "Anne", 440.0));
    good(&upload_tone(&server, "alloy", 440.0));
    refused(&say(&server, "anne", &json!({})), 400, "Model 'hibari' cannot clone a voice, and 'Anne' is an uploaded one");
    assert_eq!(say(&server, "alloy", &json!({})).status, 200, "OpenAI's names go on to speak with what the model has");
    assert_eq!(listing(&server)["voices"], json!(["alloy", "anne", "default", "heart"]));
}

#[test]
fn names_that_mean_no_voice_in_particular_mean_the_uploaded_one_where_there_is_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server_on(folder.path());
    for name in ["default", "alloy"] {
        assert!(spoken(&server, name) == spoken(&server, "middle"));
        good(&upload_tone(&server, name, 440.0));
        assert!(spoken(&server, name) == spoken(&server, "high"));
    }
    assert_eq!(listing(&server)["aliases"]["alloy"], "alloy");
}

#[test]
fn a_request_keeps_the_voice_it_started_with() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server_on(folder.path());
    good(&upload_tone(&server, "anne", 440.0));
    let text = "Words that go on and on. ".repeat(20);
    let request = json!({"input": text, "voice": "anne", "seed": 7, "loudness": 0.5, "response_format": "pcm", "stream_format": "audio"});
    let whole = http::post_json(&server.url(PATH), &request).body;
    let mut slow = request.clone();
    slow["pace"] = json!(40);
    let mut stream = server.connect();
    stream.send(&raw::post(PATH, slow.to_string().as_bytes()));
    assert_eq!(stream.read_head().status, 200);
    good(&upload_tone(&server, "anne", 110.0));
    good(&delete(&server, "anne"));
    assert!(stream.read_chunks().concat() == whole, "the voice changed while it spoke");
}

#[test]
fn the_policy_and_the_cap_of_the_environment_hold() {
    let folder = tempfile::tempdir().expect("a folder");
    let variables = [("SPEAKER_MAX_UPLOADED", "2"), ("VLLM_OMNI_SPEAKER_REGISTRATION_POLICY", "Immutable")];
    let server = start(folder.path(), &[], &variables);
    good(&upload_vector(&server, "one", 60.0));
    let taken = upload_vector(&server, "ONE", 61.0);
    refused(&taken, 400, "Voice 'ONE' already exists and VLLM_OMNI_SPEAKER_REGISTRATION_POLICY is 'immutable'; delete it first via DELETE");
    good(&upload_vector(&server, "two", 60.0));
    let full = "Uploaded voice limit reached (2). Delete an existing voice before registering a new one, or raise the cap via SPEAKER_MAX_UPLOADED.";
    refused(&upload_vector(&server, "three", 60.0), 400, full);
    good(&delete(&server, "one"));
    good(&upload_vector(&server, "three", 60.0));
    let listed: Value = http::get(&server.url(VOICES)).json();
    assert_eq!(listed["uploaded_voices"].as_array().map(Vec::len), Some(2));
}

#[test]
fn clips_of_every_common_kind_are_taken() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server_on(folder.path());
    for rate_hz in [8000, 11_025, 22_050, 44_100, 48_000] {
        let name = format!("at {rate_hz}");
        let answer = good(&Form::of(&name).clip(&tone(440.0, 2.0, rate_hz)).send(&server));
        assert_eq!(answer["voice"]["mime_type"], "audio/wav");
        assert_eq!(say(&server, &name, &json!({})).status, 200, "{name}");
    }
}
