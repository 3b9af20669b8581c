//! What an operator sets holds for clients: other names of voices, and the size of a batch.

use std::fs;
use std::process::Command;

use omni_tests::artifacts::{omni_host, plugin};
use omni_tests::checks;
use omni_tests::http;
use omni_tests::server::Server;
use omni_tests::speech::{ask, request_with, wav_bytes};
use serde_json::{Value, json};

const BATCH: &str = "/v1/audio/speech/batch";

fn sine(more: &[&str]) -> Server {
    let library = plugin("sine");
    Server::start_with(&[&["--plugin", library.to_str().expect("a plain path")], more].concat())
}

/// What a voice of this name makes of a text.
fn spoken(server: &Server, voice: Value) -> Vec<u8> {
    wav_bytes(server, &request_with("Hello world.", &json!({"voice": voice})))
}

#[test]
fn names_stand_for_the_voices_that_the_operator_chose() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("aliases.yaml");
    fs::write(&file, "alloy: low\nnova: low\nnarrator: HIGH\n").expect("a file");
    let file = file.to_str().expect("a plain path");
    let server =
        sine(&["--voice-aliases", file, "--voice-alias", "Nova=high", "--voice-alias", "low=high", "--voice-alias", "ghost=nobody"]);
    let (low, high, default) = (spoken(&server, json!("low")), spoken(&server, json!("high")), spoken(&server, Value::Null));
    assert!(low != high, "a voice of its own name gave way to another");
    for (name, wanted) in [
        (json!("alloy"), &low),
        (json!({"id": "ALLOY"}), &low),
        (json!("nova"), &high),
        (json!("narrator"), &high),
        (json!("echo"), &default),
        (json!("default"), &default),
    ] {
        assert!(spoken(&server, name.clone()) == *wanted, "{name} speaks with another voice");
    }
    checks::error(&ask(&server, &json!({"input": "Hi.", "voice": "ghost"})), 400, "ghost");
    let aliases = http::get(&server.url("/v1/audio/voices")).json()["aliases"].take();
    assert_eq!((&aliases["alloy"], &aliases["nova"], &aliases["narrator"]), (&json!("low"), &json!("high"), &json!("high")), "{aliases}");
    assert_eq!(aliases.get("ghost"), None, "a name without a voice is listed");
}

#[test]
fn a_batch_is_as_large_as_the_operator_allows() {
    let server = sine(&["--batch-max-items", "2"]);
    let batch = |items: usize| http::post_json(&server.url(BATCH), &json!({"items": vec![json!({"input": "Hi."}); items]}));
    assert_eq!(batch(2).json()["succeeded"], 2);
    checks::error(&batch(3), 400, "Batch contains 3 items, exceeding the maximum of 2.");
}

#[test]
fn a_model_answers_to_the_names_that_the_operator_chose() {
    let server = sine(&["--served-model-name", "tts-1", "org/tones"]);
    let listed = http::get(&server.url("/v1/models")).json();
    assert_eq!((listed["data"].as_array().map(Vec::len), &listed["data"][0]["id"]), (Some(1), &json!("tts-1")), "{listed}");
    for (name, status) in [("tts-1", 200), ("org/tones", 200), ("sine", 404)] {
        let answer = ask(&server, &json!({"input": "Hi.", "model": name}));
        assert_eq!(answer.status, status, "{name}: {}", answer.start());
    }
    assert_eq!(http::get(&server.url("/v1/models/org/tones")).json()["id"], "tts-1");
}

#[test]
fn settings_that_make_no_sense_are_refused_by_name() {
    for (arguments, named) in [
        (["--voice-alias", "alloy"], "--voice-alias"),
        (["--voice-aliases", "/nowhere/aliases.yaml"], "aliases.yaml"),
        (["--batch-max-items", "0"], "--batch-max-items"),
        (["--ws-idle-secs", "0"], "--ws-idle-secs"),
        (["--ws-config-secs", "soon"], "--ws-config-secs"),
    ] {
        let output = Command::new(omni_host()).arg("serve").args(arguments).output().expect("omni-host runs");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && told.contains(named) && !told.contains("panicked"), "{arguments:?}: {told}");
    }
}
