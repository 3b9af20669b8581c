//! Clips as other people's software writes them: made by FFmpeg's libraries.

use std::process::Command;

use omni_tests::python::Python;
use omni_tests::upload::data_url;
use serde_json::json;

use crate::support::{check_pitch, closed, file, open, spoken_pitch, tone};

/// Name of the file, whose end is the container, and the encoder.
const KINDS: [(&str, &str); 9] = [
    ("a.m4a", "aac"),
    ("a.webm", "libopus"),
    ("b.webm", "vorbis"),
    ("a.ogg", "vorbis"),
    ("b.ogg", "libopus"),
    ("a.mp3", "libmp3lame"),
    ("a.flac", "flac"),
    ("a.aiff", "pcm_s16be"),
    ("a.aac", "aac"),
];

#[test]
fn clips_of_every_common_kind_are_understood() {
    let folder = open().folder.path();
    let source = file(folder, "source.wav", &tone(260.0, 2.0));
    for (name, codec) in KINDS {
        let target = folder.join(name);
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/python/encode.py");
        let mut command: Command = Python::ready().command();
        let output = command.args([script, &source]).arg(&target).arg(codec).output().expect("Python starts");
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let clip = std::fs::read(&target).expect("it was written");
        check_pitch(&format!("{name} by {codec}"), spoken_pitch(closed(), &json!({"ref_audio": data_url(&clip)})), 260.0);
    }
}
