//! Clients that people really use: the `openai` packages of Python and Node.js, curl, Python's own WAV reader, and the command line.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use omni_tests::artifacts;
use omni_tests::asr;
use omni_tests::node::Node;
use omni_tests::python::Python;
use omni_tests::sentences::long_text;
use omni_tests::server::Server;
use omni_tests::speech::{self, PATH, RATE, request, request_with};
use omni_tests::wav::{HEADER_BYTES, Wav};
use omni_tests::words;
use serde_json::{Value, json};

const TEXT: &str = "The juice of lemons makes fine punch.";
const SDK: &str = include_str!("../python/sdk.py");
const NODE_SDK: &str = include_str!("../node/sdk.mjs");
/// Reads a file as Python's standard library does and prints the bytes of sound it found.
const WAVE: &str = "import sys, wave; print(wave.open(sys.argv[1]).getnframes() * 2)";

fn server() -> &'static Server {
    Server::shared()
}

fn success(output: &Output) -> String {
    assert!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// Runs the package's program against the server and gives its report.
fn report(folder: &Path) -> Value {
    let mut command = Python::ready().command();
    let output = command.args(["-c", SDK, &server().url("/v1")]).arg(folder).output().expect("Python runs");
    serde_json::from_str(&success(&output)).expect("a report in JSON")
}

#[test]
fn the_openai_package_saves_speech_lists_models_and_raises_its_own_errors() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let report = report(folder.path());
    check_saved_files(folder.path());
    assert!(report["saved"]["pieces"].as_u64() >= Some(1), "{report}");
    check_failures(&report["failures"]);
    assert!(report["models"].as_array().is_some_and(|models| models.contains(&json!("hibari"))), "{report}");
    assert_eq!(report["model"], "hibari");
    assert_eq!(report["missing_model"]["class"], "NotFoundError", "{report}");
}

fn check_saved_files(folder: &Path) {
    let read = |name: &str| fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let expected = speech::wav_bytes(server(), &request(TEXT));
    assert!(read("file.wav") == expected, "the saved file is not what the server sends others");
    assert!(read("default.wav") == expected, "the default format or the object form of a voice gives another file");
    assert!(read("alloy.wav") == expected, "a voice of OpenAI's own is not the model's default");
    assert!(read("whole.pcm") == expected[HEADER_BYTES..], "raw samples differ from the file's");
    assert!(read("streamed.pcm") == expected[HEADER_BYTES..], "streamed samples differ from the file's");
}

fn check_failures(failures: &Value) {
    for (field, class, status) in [
        ("voice", "BadRequestError", 400),
        ("model", "NotFoundError", 404),
        ("input", "BadRequestError", 400),
        ("speed", "BadRequestError", 400),
    ] {
        let failure = &failures[field];
        assert_eq!((&failure["class"], &failure["status"]), (&json!(class), &json!(status)), "{failure}");
        assert!(failure["request_id"].as_str().is_some_and(|id| !id.is_empty()), "{failure}");
        assert!(failure["type"].is_string(), "{failure}");
        assert!(failure.to_string().to_lowercase().contains(field), "{field} is not named: {failure}");
    }
}

#[test]
fn the_openai_package_of_node_names_voices_in_every_form_streams_and_throws_its_own_errors() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = Node::ready().module(NODE_SDK).arg(server().url("/v1")).arg(folder.path()).output().expect("Node.js runs");
    let report: Value = serde_json::from_str(&success(&output)).expect("a report in JSON");
    let expected = speech::wav_bytes(server(), &request(TEXT));
    for form in report["voices"].as_array().expect("a list") {
        let file = folder.path().join(format!("{}.wav", form.as_str().expect("a name")));
        assert!(fs::read(&file).expect("the file was written") == expected, "the voice as {form} gives another file");
    }
    let streamed = fs::read(folder.path().join("streamed.pcm")).expect("the file was written");
    assert!(streamed == expected[HEADER_BYTES..], "streamed samples differ from the file's");
    assert!(report["stream"]["pieces"].as_u64() >= Some(1) && report["stream"]["type"] == "audio/pcm", "{}", report["stream"]);
    assert!(report["models"].as_array().is_some_and(|models| models.contains(&json!("hibari"))), "{}", report["models"]);
    check_node_failures(&report);
}

fn check_node_failures(report: &Value) {
    let failures = &report["failures"];
    for (failure, class, status, param) in [
        (&failures["voice"], "BadRequestError", 400, "voice"),
        (&failures["speed"], "BadRequestError", 400, "body.speed"),
        (&failures["input"], "BadRequestError", 400, "input"),
        (&failures["model"], "NotFoundError", 404, "model"),
        (&report["missing_model"], "NotFoundError", 404, "model"),
    ] {
        let (told, wanted) = (json!([failure["class"], failure["status"], failure["param"]]), json!([class, status, param]));
        assert_eq!(told, wanted, "{failure}");
        assert_eq!(failure["attempts"], 1, "what cannot succeed was tried again: {failure}");
        assert!(failure["is_api_error"] == true && failure["type"].is_string(), "{failure}");
        assert!(failure["requestID"].as_str().is_some_and(|id| !id.is_empty()), "{failure}");
    }
}

/// curl's arguments for a raw stream of a text.
fn curl(server: &Server, text: &str) -> Command {
    let body = request_with(text, &json!({"response_format": "pcm", "stream_format": "audio"}));
    let mut command = Command::new("curl");
    command.args(["-sS", "-N", "--fail", "--noproxy", "*", "--max-time", "200", "-H", "content-type: application/json", "-d"]);
    command.arg(body.to_string()).arg(server.url(PATH));
    command
}

fn curl_exists() -> bool {
    let exists = Command::new("curl").arg("--version").stdout(Stdio::null()).status().is_ok_and(|status| status.success());
    if !exists {
        eprintln!("no curl on this machine: nothing to test with it");
    }
    exists
}

#[test]
fn curl_saves_a_stream_that_is_the_whole_sound() {
    if !curl_exists() {
        return;
    }
    let output = curl(server(), TEXT).output().expect("curl runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let whole = speech::wav_bytes(server(), &request(TEXT));
    assert!(output.stdout == whole[HEADER_BYTES..], "curl saved {} bytes, expected {}", output.stdout.len(), whole.len() - HEADER_BYTES);
}

/// Measured by the server's own work, not by the clock.
#[test]
fn curl_passes_on_the_first_bytes_while_most_of_the_work_is_still_to_do() {
    if !curl_exists() {
        return;
    }
    let server = Server::start();
    speech::speak(&server, TEXT);
    let before = server.cpu_ticks();
    let mut process = curl(&server, &long_text(70)).stdout(Stdio::piped()).spawn().expect("curl runs");
    let mut output = process.stdout.take().expect("its output is a pipe");
    let mut sound = vec![0; 256];
    output.read_exact(&mut sound).expect("the first bytes");
    let at_first_bytes = server.cpu_ticks() - before;
    output.read_to_end(&mut sound).expect("the rest");
    let in_all = server.cpu_ticks() - before;
    assert!(process.wait().expect("curl ends").success());
    assert!(Wav::from_pcm(&sound, RATE).expect("whole samples").seconds() > 70.0, "too little sound for seventy sentences");
    assert!(in_all >= 20, "too little work to tell: {in_all} ticks");
    assert!(at_first_bytes * 2 < in_all, "{at_first_bytes} of {in_all} ticks of work were done before the first bytes");
}

fn say(arguments: &[&str]) -> Output {
    Command::new(artifacts::omni_host()).arg("say").args(arguments).stdin(Stdio::null()).output().expect("omni-host runs")
}

#[test]
fn the_command_line_speaks_without_a_server() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("hello.wav");
    let path_text = path.to_str().expect("a plain path");
    success(&say(&[TEXT, "-o", path_text, "--seed", "7"]));
    let file = fs::read(&path).expect("the file was written");
    let wav = Wav::read(&file).expect("true sizes");
    let output = Python::ready().command().args(["-c", WAVE]).arg(&path).output().expect("Python runs");
    assert_eq!(success(&output).trim(), (wav.samples.len() * 2).to_string(), "Python's reader finds another length");
    words::assert_heard_only(&asr::hear(&wav), TEXT);
    assert!(file == speech::wav_bytes(server(), &request(TEXT)), "the server says it differently with the same seed");
}

#[test]
fn the_command_line_speaks_through_a_server() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("hello.wav");
    success(&say(&[TEXT, "-o", path.to_str().expect("a plain path"), "--seed", "7", "--url", &server().url("")]));
    assert!(fs::read(&path).expect("the file was written") == speech::wav_bytes(server(), &request(TEXT)), "another file");
}

#[test]
fn the_command_line_says_what_it_cannot_speak_and_leaves_no_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("nothing.wav");
    let path_text = path.to_str().expect("a plain path");
    for arguments in [&["", "-o", path_text][..], &["…", "-o", path_text], &["Hello.", "-o", path_text, "-v", "nobody"]] {
        let output = say(arguments);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && !message.trim().is_empty(), "{arguments:?}: {} {message}", output.status);
        assert!(!message.contains("panicked"), "{message}");
        assert!(!path.exists(), "{arguments:?} left a file");
    }
}
