//! Servers with tiny Qwen3-TTS checkpoints, and the command line.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use omni_tests::server::Server;
use omni_tests::wav::Wav;
use omni_tests::{artifacts, speech};
use serde_json::{Value, json};

/// Frames that a request of these tests may make: an untrained network rarely ends by itself.
pub const FRAMES: u64 = 12;

/// A tiny checkpoint of the plugin's golden files: `custom_voice`, `voice_design` or `base`.
pub fn golden(variant: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins/qwen3-tts/tests/golden").join(variant)
}

/// Arguments that serve a checkpoint.
pub fn serving(checkpoint: &Path) -> Vec<OsString> {
    vec!["--plugin".into(), artifacts::plugin("qwen3_tts").into(), "--model".into(), checkpoint.into()]
}

/// The server of a golden checkpoint that the tests share. Uploads go to a folder of its own.
pub fn server(variant: &'static str) -> &'static Server {
    static SERVERS: OnceLock<[(&str, Server); 3]> = OnceLock::new();
    let servers = SERVERS.get_or_init(|| ["custom_voice", "voice_design", "base"].map(|variant| (variant, start(&golden(variant)))));
    servers.iter().find(|(name, _)| *name == variant).map(|(_, server)| server).expect("one of three")
}

fn start(checkpoint: &Path) -> Server {
    Server::start_with(&serving(checkpoint))
}

/// A request with its fields; the length is bounded and the seed fixed unless it says otherwise.
pub fn request(fields: &Value) -> Value {
    let bounded = json!({"max_new_tokens": FRAMES, "seed": speech::SEED, "response_format": "wav"});
    let mut request = bounded;
    for (name, value) in fields.as_object().expect("fields are an object") {
        request[name] = value.clone();
    }
    request
}

/// Has a request spoken and checks that sound of whole frames came.
pub fn speak(server: &Server, fields: &Value) -> Wav {
    let wav = speech::speak_request(server, &request(fields));
    check_frames(&wav.samples);
    wav
}

/// Fails unless samples are whole frames, within the bound, and not silent.
pub fn check_frames(samples: &[i16]) {
    let frame = 1920;
    assert!(samples.len().is_multiple_of(frame) && !samples.is_empty(), "{} samples are no whole frames", samples.len());
    assert!(samples.len() <= FRAMES as usize * frame, "{} samples are more than asked for", samples.len());
    assert!(samples.iter().any(|sample| *sample != 0), "silence");
}

/// Fails unless a request is refused with these words.
pub fn refused(server: &Server, fields: &Value, message: &str) {
    let answer = speech::ask(server, &request(fields));
    assert_eq!(answer.status, 400, "{fields}: {}", answer.start());
    assert_eq!(answer.json()["error"]["message"], json!(message), "{fields}");
}

/// Runs the command line.
pub fn run(arguments: &[OsString], variables: &[(&str, &Path)]) -> Output {
    let mut command = Command::new(artifacts::omni_host());
    command.args(arguments).env("OMNI_PLUGIN_PATH", artifacts::plugin("qwen3_tts").parent().expect("a folder"));
    for (name, value) in variables {
        command.env(name, value);
    }
    command.stdin(Stdio::null()).output().expect("omni-host runs")
}

/// Words as arguments.
pub fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

/// What a command wrote, for messages.
pub fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
