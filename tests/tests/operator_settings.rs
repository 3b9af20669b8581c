//! What an operator sets holds for clients: other names of voices, and the size of a batch.

use std::fs;
use std::process::Command;

use omni_tests::artifacts::{omni_host, plugin};
use omni_tests::checks;
use omni_tests::http;
use omni_tests::server::Server;
use omni_tests::speech::{ask, request_with, wav_bytes};
use omni_tests::wav::Wav;
use serde_json::{Value, json};

const GUIDE: &str = include_str!("../../docs/operate.md");
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
fn requests_that_do_not_say_get_what_the_operator_set() {
    let server = sine(&["--default-sampling-params", r#"{"0": {"seed": 42, "max_tokens": 25}}"#]);
    let text = "A sentence that takes much longer than two seconds to speak, whatever the voice that speaks it may be.";
    let of = |fields: Value| {
        let mut request = json!({"input": text, "response_format": "wav"});
        fields.as_object().expect("fields").iter().for_each(|(name, value)| request[name] = value.clone());
        ask(&server, &request)
    };
    let silent = of(json!({}));
    assert_eq!((silent.status, silent.header("x-finish-reason")), (200, Some("length")), "{}", silent.start());
    checks::lasts(&Wav::read(&silent.body).expect("a good file"), 1.9, 2.1);
    assert!(of(json!({})).body == silent.body && of(json!({"seed": 42})).body == silent.body, "the seed is not the one that was set");
    assert!(of(json!({"seed": 7})).body != silent.body, "a request's own seed does not count");
    assert_eq!(of(json!({"max_new_tokens": 5_000})).header("x-finish-reason"), Some("stop"));
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

/// The first word of a text, if it is a flag.
fn flag(text: &str) -> Option<&str> {
    text.split([' ', '=', '[']).next().filter(|word| word.starts_with("--") && word.len() > 2)
}

#[test]
fn the_guide_describes_every_flag_once() {
    let output = Command::new(omni_host()).args(["serve", "--help"]).output().expect("omni-host runs");
    let help = String::from_utf8(output.stdout).expect("text");
    let flags: Vec<&str> = help.lines().filter_map(|line| flag(line.trim_start())).filter(|name| *name != "--help").collect();
    assert!(flags.len() > 50, "{flags:?}");
    let cells: Vec<&str> = GUIDE.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next()).collect();
    let described: Vec<&str> = cells.iter().flat_map(|cell| cell.split('`')).filter_map(flag).collect();
    for name in flags {
        let times = described.iter().filter(|other| **other == name).count();
        assert_eq!(times, 1, "{name} stands in the tables of docs/operate.md {times} times");
    }
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
