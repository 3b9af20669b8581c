//! Recordings as other people's software writes them: by FFmpeg's libraries.

use std::fs;

use crate::python::Python;

const ENCODE: &str = include_str!("../python/encode.py");

/// A WAV file in a container, which is the ending of `name`, by a codec. Without `more` it is stereo at 48 kHz; `more` is the rate, the
/// layout of channels, and an option of the container.
///
/// # Panics
/// When it cannot be made.
pub fn encoded(wav: &[u8], name: &str, codec: &str, more: &[&str]) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, target) = (folder.path().join("source.wav"), folder.path().join(name));
    fs::write(&source, wav).expect("a file");
    let output = Python::ready().command().args(["-c", ENCODE]).arg(source).arg(&target).arg(codec).args(more).output();
    let output = output.expect("Python runs");
    assert!(output.status.success(), "{name} by {codec}: {}", String::from_utf8_lossy(&output.stderr));
    fs::read(&target).expect("it was written")
}
