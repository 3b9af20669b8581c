//! Prepared voices: a folder as vLLM-Omni writes it, named by the deploy file's `custom_voice_dir`.

use std::fs;
use std::path::Path;

use omni_host::voices::precomputed::{Mode, Precomputed, write};
use omni_plugin_api::NamedTensor;
use omni_tests::upload::listing;
use serde_json::json;

use super::support::{refused, say, spoken, start, upload_vector};

fn prepare(folder: &Path, name: &str, note: f32) {
    let voice = Precomputed {
        name: name.to_owned(),
        mode: Mode::Xvec,
        tensors: vec![NamedTensor::f32("speaker_embedding", vec![2], vec![note, 0.5])],
        transcript: None,
        description: Some("made beforehand".to_owned()),
    };
    write(folder, "sine", None, &voice).expect("it is written");
}

#[test]
fn prepared_voices_are_listed_spoken_with_and_kept_from_uploads_and_broken_ones_are_skipped_with_the_reason() {
    let (prepared, uploads) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    prepare(prepared.path(), "Ready", 69.0);
    prepare(prepared.path(), "other", 45.0);
    prepare(prepared.path(), "broken", 57.0);
    fs::write(prepared.path().join("broken.safetensors"), "nothing").expect("a file");
    let deploy = uploads.path().join("deploy.yaml");
    fs::write(&deploy, format!("custom_voice_dir: {}\n", prepared.path().display())).expect("a file");
    let server = start(&uploads.path().join("voices"), &["--deploy-config", deploy.to_str().expect("a path")], &[]);
    let listed = listing(&server);
    assert_eq!(listed["voices"], json!(["default", "high", "low", "middle", "other", "ready"]));
    assert_eq!(listed["uploaded_voices"], json!([]));
    assert!(spoken(&server, "READY") == spoken(&server, "high"));
    assert!(spoken(&server, "ready+other") == spoken(&server, "middle"), "prepared vectors are mixed");
    refused(&upload_vector(&server, "ready", 60.0), 400, "Voice name 'ready' is reserved by a built-in speaker of this model");
    refused(&say(&server, "broken", &json!({})), 400, "Invalid voice 'broken'");
    let log = server.log();
    assert!(log.contains("voice 'broken'") && log.contains("cannot be read"), "{log}");
}
