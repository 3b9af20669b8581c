//! Checkpoints that are made, checked, found by id and recognised.

use std::fs;
use std::path::Path;

use omni_tests::server::Server;
use omni_tests::speech::ask;
use omni_tests::wav::Wav;
use serde_json::{Value, json};

use crate::support::{golden, request, run, said, words};

/// Every published variant and what it is asked.
const VARIANTS: [(&str, &str); 5] = [
    ("0.6B-Base", "Base"),
    ("0.6B-CustomVoice", "CustomVoice"),
    ("1.7B-Base", "Base"),
    ("1.7B-CustomVoice", "CustomVoice"),
    ("1.7B-VoiceDesign", "VoiceDesign"),
];

fn make(folder: &Path, variant: &str) {
    let folder = folder.to_str().expect("a plain path");
    let made = run(&words(&["checkpoint", "qwen3_tts", "--variant", variant, "--tiny", "--out", folder]), &[]);
    assert!(made.status.success(), "{variant}: {}", said(&made));
}

fn check(arguments: &[&str]) -> (bool, Value) {
    let output = run(&words(&[&["check", "--json", "--no-accelerator"], arguments].concat()), &[]);
    let document = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", said(&output)));
    (output.status.success(), document)
}

#[test]
fn every_published_variant_can_be_made_checked_and_served() {
    for (variant, task) in VARIANTS {
        let folder = tempfile::tempdir().expect("a folder");
        make(folder.path(), variant);
        let (is_good, report) = check(&["--values", "--model", folder.path().to_str().expect("a plain path")]);
        assert!(is_good, "{variant}: {report}");
        assert_eq!(report["checkpoint"]["files"][1]["faults"], json!([]), "{variant}");
        // Without --plugin: the family is found by the checkpoint's own description.
        let server = Server::start_with(&[&words(&["--model"])[..], &[folder.path().into()]].concat());
        let fields = match task {
            "VoiceDesign" => json!({"input": "Hello there.", "task_type": task, "instructions": "A calm old man."}),
            "CustomVoice" => json!({"input": "Hello there.", "voice": "vivian"}),
            // Cloning needs a clip; that this checkpoint serves is enough here.
            _ => continue,
        };
        let answer = ask(&server, &request(&fields));
        assert_eq!(answer.status, 200, "{variant}: {}", answer.start());
    }
}

#[test]
fn a_checkpoint_is_spoken_with_by_its_folder_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("said.wav");
    let (checkpoint, at) = (golden("custom_voice"), file.to_str().expect("a plain path"));
    let said_so = run(&words(&["say", "Hi.", "--model", checkpoint.to_str().expect("a plain path"), "--seed", "7", "-o", at]), &[]);
    assert!(said_so.status.success(), "{}", said(&said_so));
    check_frames_of(&fs::read(&file).expect("a file"));
    let nowhere = run(&words(&["say", "Hi.", "--model", "no/such-model", "-o", at]), &[]);
    assert!(!nowhere.status.success() && said(&nowhere).contains("no/such-model"), "{}", said(&nowhere));
}

/// Fails unless a WAV file holds frames of the codec.
fn check_frames_of(file: &[u8]) {
    let samples = Wav::read(file).expect("a WAV file").samples.len();
    assert!(samples > 0 && samples.is_multiple_of(1920), "{samples} samples are no whole frames");
}

#[test]
fn the_same_seed_makes_the_same_checkpoint_and_nothing_is_overwritten() {
    let folder = tempfile::tempdir().expect("a folder");
    let [one, two] = ["one", "two"].map(|name| folder.path().join(name));
    make(&one, "0.6B-CustomVoice");
    make(&two, "0.6B-CustomVoice");
    for file in ["model.safetensors", "speech_tokenizer/model.safetensors", "vocab.json"] {
        assert!(fs::read(one.join(file)).expect("a file") == fs::read(two.join(file)).expect("a file"), "{file} differs");
    }
    let again = run(&words(&["checkpoint", "qwen3_tts", "--variant", "1.7B-Base", "--tiny", "--out", one.to_str().expect("plain")]), &[]);
    assert!(!again.status.success() && said(&again).contains("not empty"), "{}", said(&again));
    let unknown = run(&words(&["checkpoint", "qwen3_tts", "--variant", "3B", "--out", "/nowhere"]), &[]);
    assert!(said(&unknown).contains("1.7B-VoiceDesign"), "{}", said(&unknown));
    let other = run(&words(&["checkpoint", "hibari", "--variant", "x", "--out", "/nowhere"]), &[]);
    assert!(said(&other).contains("does not make checkpoints"), "{}", said(&other));
}

/// Copies a golden checkpoint so that it can be damaged.
fn copy(variant: &str, to: &Path) {
    fs::create_dir_all(to.join("speech_tokenizer")).expect("a folder");
    for file in ["config.json", "generation_config.json", "vocab.json", "merges.txt", "tokenizer_config.json", "model.safetensors"] {
        fs::copy(golden(variant).join(file), to.join(file)).expect(file);
    }
    for file in ["config.json", "model.safetensors"] {
        let file = Path::new("speech_tokenizer").join(file);
        fs::copy(golden(variant).join(&file), to.join(&file)).expect("it is copied");
    }
}

#[test]
fn a_check_names_what_does_not_load() {
    let folder = tempfile::tempdir().expect("a folder");
    copy("base", folder.path());
    let at = folder.path().to_str().expect("a plain path");
    assert!(check(&["--model", at]).0, "the copy is good");

    // A renamed tensor is missing under one name and unexpected under the other; the header keeps its length.
    let weights = folder.path().join("model.safetensors");
    let bytes = fs::read(&weights).expect("a file");
    let place = bytes.windows(16).position(|part| part == b"talker.codec_hea").expect("the header has it");
    let mut changed = bytes.clone();
    changed[place..place + 16].copy_from_slice(b"talker.codec_haa");
    fs::write(&weights, &changed).expect("it is written");
    fs::remove_file(folder.path().join("merges.txt")).expect("it is removed");
    let (is_good, report) = check(&["--model", at]);
    assert!(!is_good);
    let report = &report["checkpoint"];
    assert_eq!(report["missing_files"], json!(["merges.txt"]));
    let faults: Vec<(&str, &str)> = report["files"][0]["faults"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|fault| (fault["fault"].as_str().unwrap_or_default(), fault["name"].as_str().unwrap_or_default()))
        .collect();
    assert_eq!(faults, [("missing", "talker.codec_head.weight"), ("unexpected", "talker.codec_haad.weight")]);

    // A file that ends early is told as a whole.
    fs::write(&weights, &bytes[..bytes.len() - 7]).expect("it is written");
    let (_, report) = check(&["--model", at]);
    assert!(report["checkpoint"]["files"][0]["unreadable"].as_str().is_some_and(|reason| reason.contains("damaged")), "{report}");

    // Numbers are looked at when asked.
    let mut odd = bytes;
    let last = odd.len() - 2;
    odd[last..].copy_from_slice(&0x7fc0_u16.to_le_bytes());
    fs::write(&weights, odd).expect("it is written");
    fs::copy(golden("base").join("merges.txt"), folder.path().join("merges.txt")).expect("it is copied");
    assert!(check(&["--model", at]).0, "headers are fine");
    let (is_good, report) = check(&["--model", at, "--values"]);
    assert!(!is_good && report.to_string().contains("not_finite"), "{report}");
}

#[test]
fn a_checkpoint_of_another_family_is_told_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("config.json"), r#"{"model_type": "something_else"}"#).expect("a file");
    let at = folder.path().to_str().expect("a plain path");
    for arguments in [vec!["check", "--model", at], vec!["check", "--plugin", "qwen3_tts", "--model", at]] {
        let output = run(&words(&arguments), &[]);
        assert!(!output.status.success() && said(&output).contains("something_else"), "{}", said(&output));
    }
}

#[test]
fn a_model_id_is_found_in_the_hub_cache_and_nowhere_else() {
    let cache = tempfile::tempdir().expect("a folder");
    let model = cache.path().join("models--acme--voice");
    copy("custom_voice", &model.join("snapshots/abc123"));
    fs::create_dir_all(model.join("refs")).expect("a folder");
    fs::write(model.join("refs/main"), "abc123").expect("a file");
    let check = |id: &str| run(&words(&["check", "--no-accelerator", "--model", id]), &[("HF_HUB_CACHE", cache.path())]);
    let found = check("acme/voice");
    assert!(found.status.success() && said(&found).contains("all of it loads"), "{}", said(&found));
    assert!(check("acme/voice@abc123").status.success());
    let missing = check("acme/other");
    assert!(!missing.status.success() && said(&missing).contains("neither a directory nor a model id"), "{}", said(&missing));
}
