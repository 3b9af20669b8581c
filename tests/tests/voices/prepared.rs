//! Prepared voices: a folder as vLLM-Omni writes it, named by the deploy file's `custom_voice_dir`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use omni_host::voices::precomputed::{Mode, Precomputed, write};
use omni_plugin_api::NamedTensor;
use omni_tests::artifacts::{omni_host, plugin};
use omni_tests::upload::{Form, clip_of, data_url, listing};
use serde_json::{Value, json};

use super::support::{good, refused, say, spoken, start, upload_vector};

/// What is said in the clip.
const TOLD: &str = "Do mi.";

/// Prepares a voice that is a note.
pub fn prepare(folder: &Path, name: &str, note: f32) {
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

/// A clip of two notes: whoever goes on from it follows its melody, whoever only has its voice does not.
fn two_notes() -> Vec<u8> {
    const RATE: u32 = 24_000;
    let mut phase = 0.0_f64;
    let samples = (0..2 * RATE).map(|at| {
        phase += std::f64::consts::TAU * if at < RATE { 330.0 } else { 440.0 } / f64::from(RATE);
        (phase.sin() * 12_000.0) as i16
    });
    clip_of(samples, RATE)
}

/// Prepares voices as an operator does.
fn precompute(arguments: &[&str]) -> Output {
    let mut command = Command::new(omni_host());
    command.args(["voices", "precompute", "--plugin"]).arg(plugin("sine")).args(arguments);
    command.stdin(Stdio::null()).output().expect("omni-host runs")
}

#[test]
fn a_voice_that_was_prepared_speaks_as_its_clip_does_and_as_its_upload() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("a path").to_owned();
    let clip = two_notes();
    fs::write(at("told.wav"), &clip).expect("a clip");
    fs::write(at("told.txt"), format!("{TOLD}\n")).expect("its text");
    fs::write(at("bare.wav"), &clip).expect("a clip");
    let (out, told, bare) = (at("prepared"), format!("Told={}", at("told.wav")), format!("bare={}", at("bare.wav")));
    for (mode, voice, answer) in [("icl", &told, "prepared Told (icl, 2.0 s)\n"), ("xvec", &bare, "prepared bare (xvec, 2.0 s)\n")] {
        let output = precompute(&["--out", &out, "--mode", mode, voice]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8_lossy(&output.stdout), answer);
    }
    let deploy = at("deploy.yaml");
    fs::write(&deploy, format!("custom_voice_dir: {out}\n")).expect("a file");
    let server = start(Path::new(&at("voices")), &["--deploy-config", &deploy], &[]);
    good(&Form::of("loaded").text("ref_text", TOLD).clip(&clip).send(&server));
    good(&Form::of("plain").clip(&clip).send(&server));
    let inline = |more: Value| {
        let answer = say(&server, "high", &more);
        assert_eq!(answer.status, 200, "{}", answer.start());
        answer.body
    };
    let url = data_url(&clip);
    let (in_context, by_vector) = (inline(json!({"ref_audio": url, "ref_text": TOLD})), inline(json!({"ref_audio": url})));
    assert!(in_context != by_vector, "the transcript changes nothing");
    for (name, wanted) in [("told", &in_context), ("loaded", &in_context), ("bare", &by_vector), ("plain", &by_vector)] {
        assert!(spoken(&server, name) == *wanted, "'{name}' does not sound like the clip that it was made of");
    }
    let asked = say(&server, "plain", &json!({"ref_text": TOLD}));
    assert!(asked.body == in_context, "the request's transcript is not used: {}", asked.start());
}

#[test]
fn what_a_family_does_not_offer_cannot_be_prepared() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("a path").to_owned();
    fs::write(at("a.wav"), two_notes()).expect("a clip");
    fs::write(at("text.wav"), "no sound").expect("a file");
    let (out, clip, text) = (at("prepared"), format!("a={}", at("a.wav")), format!("b={}", at("text.wav")));
    for (arguments, words) in [
        (["--mode", "icl", &clip].as_slice(), "mode 'icl' needs"),
        (
            &["--mode", "ref_continuation", "--ref-text", TOLD, &clip],
            "needs ref_audio_feat and audio_feat; the family makes speaker_embedding",
        ),
        (&[&text], "Invalid or unsupported audio"),
        (&["--ref-text", TOLD, &clip, &text], "--ref-text belongs to one clip"),
    ] {
        let output = precompute(&[&["--out", &out], arguments].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(words), "{arguments:?}: {said}");
    }
    assert!(!Path::new(&out).exists(), "something was written");
}
