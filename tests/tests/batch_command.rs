//! `omni-host batch`: a manifest is spoken, a second run goes on from the first, and a failure is told in the report and by the exit status.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use omni_tests::artifacts::{omni_host, plugin};
use omni_tests::server::Server;
use omni_tests::wav::Wav;
use serde_json::Value;

fn batch(folder: &Path, manifest: &str, more: &[&str]) -> Output {
    let mut command = Command::new(omni_host());
    command.arg("batch").arg("--manifest").arg(folder.join(manifest)).arg("-o").arg(folder.join("out"));
    // The voices of whoever runs the tests are not theirs to touch.
    command.env("SPEAKER_SAMPLES_DIR", "memory:");
    command.args(more).stdin(Stdio::null()).output().expect("omni-host runs")
}

/// With the family that speaks a tone, in the command's own process.
fn in_process(folder: &Path, manifest: &str, more: &[&str]) -> Output {
    let library = plugin("sine");
    batch(folder, manifest, &[&["--plugin", library.to_str().expect("UTF-8")], more].concat())
}

fn check_ok(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The last line of the report about each file.
fn report(folder: &Path) -> BTreeMap<String, Value> {
    let text = fs::read_to_string(folder.join("out/report.jsonl")).expect("a report");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line of JSON"));
    lines.map(|line| (line["output"].as_str().expect("a file").to_owned(), line)).collect()
}

fn wav(folder: &Path, name: &str) -> Wav {
    Wav::read(&fs::read(folder.join("out").join(name)).expect("the file is there")).expect("a WAV file")
}

#[test]
fn every_form_of_a_manifest_is_spoken_and_a_second_run_does_only_what_is_left() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path();
    fs::write(path.join("m.jsonl"), "{\"text\":\"One.\",\"voice\":\"low\"}\n{\"input\":\"Two.\",\"output\":\"deep/two.flac\"}\n")
        .expect("written");
    let told = check_ok(&in_process(path, "m.jsonl", &["--concurrency", "2"]));
    assert!(told.contains("2 spoken, 0 spoken before, 0 failed"), "{told}");
    assert!(!wav(path, "000001.wav").samples.is_empty());
    assert!(fs::read(path.join("out/deep/two.flac")).expect("the file is there").starts_with(b"fLaC"));

    // The same again, with one item changed, one file gone and one item more.
    fs::write(path.join("m.csv"), "text,voice,output\nOne.,low,\nTwo!,,deep/two.flac\nThree.,high,three.mp3\n").expect("written");
    let told = check_ok(&in_process(path, "m.csv", &[]));
    assert!(told.contains("2 spoken, 1 spoken before, 0 failed"), "{told}");
    fs::remove_file(path.join("out/three.mp3")).expect("it goes");
    let told = check_ok(&in_process(path, "m.csv", &[]));
    assert!(told.contains("1 spoken, 2 spoken before, 0 failed"), "{told}");
    let told = check_ok(&in_process(path, "m.csv", &["--restart"]));
    assert!(told.contains("3 spoken, 0 spoken before, 0 failed"), "{told}");
}

#[test]
fn an_item_that_fails_is_told_and_the_others_are_spoken() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path();
    let manifest = r#"{"voice": "low", "items": [{"input": "One."}, {"input": "..."}, {"input": "Three.", "voice": "nobody"}]}"#;
    fs::write(path.join("m.json"), manifest).expect("written");
    let output = in_process(path, "m.json", &[]);
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("2 of 3 items failed"), "{told}");
    let report = report(path);
    assert_eq!(report["000001.wav"]["status"], "ok");
    for name in ["000002.wav", "000003.wav"] {
        assert_eq!(report[name]["status"], "failed");
        assert!(report[name]["error"].as_str().is_some_and(|error| error.contains("400")), "{}", report[name]);
        assert!(!path.join("out").join(name).exists(), "a failed item leaves no file");
    }
    // Mended, only what failed is spoken.
    fs::write(path.join("m.json"), manifest.replace("...", "Two.").replace("nobody", "high")).expect("written");
    let told = check_ok(&in_process(path, "m.json", &[]));
    assert!(told.contains("2 spoken, 1 spoken before, 0 failed"), "{told}");
}

#[test]
fn stored_voices_speak_as_on_a_server() {
    let folder = tempfile::tempdir().expect("a directory");
    let (path, stored) = (folder.path(), folder.path().join("voices"));
    fs::write(path.join("high.json"), "[81, 0.5]").expect("written");
    let added = Command::new(omni_host()).args(["voices", "add", "anne"]).arg(path.join("high.json")).arg("--voices").arg(&stored).output();
    assert!(added.is_ok_and(|added| added.status.success()), "no voice was stored");
    fs::write(path.join("m.jsonl"), "{\"input\":\"One.\",\"voice\":\"anne\",\"seed\":5}\n").expect("written");
    let stored = stored.to_str().expect("UTF-8");
    check_ok(&in_process(path, "m.jsonl", &["--voices", stored]));
    let library = plugin("sine");
    let server = Server::start_with(&["--plugin", library.to_str().expect("UTF-8"), "--voices", stored]);
    let here = wav(path, "000001.wav");
    check_ok(&batch(path, "m.jsonl", &["--url", &server.url(""), "--restart"]));
    assert!(here == wav(path, "000001.wav"), "another sound than on a server");
    assert_eq!(in_process(path, "m.jsonl", &["--restart"]).status.code(), Some(1), "elsewhere nobody is called that");
}

#[test]
fn a_server_that_is_busy_is_asked_again() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path();
    let library = plugin("sine");
    let library = library.to_str().expect("UTF-8");
    let server = Server::start_with(&["--plugin", library, "--max-num-seqs", "1", "--max-queue", "0"]);
    let lines: String = (0..6).map(|number| format!("{{\"input\":\"Number {number}.\",\"pace\":20}}\n")).collect();
    fs::write(path.join("m.jsonl"), lines).expect("written");
    let told = check_ok(&batch(path, "m.jsonl", &["--url", &server.url(""), "--concurrency", "3"]));
    assert!(told.contains("6 spoken, 0 spoken before, 0 failed"), "{told}");
}

#[test]
fn what_is_interrupted_leaves_whole_files_and_is_gone_on_with() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path();
    let lines: String = (0..40).map(|number| format!("{{\"input\":\"Number {number} of many.\",\"pace\":4}}\n")).collect();
    fs::write(path.join("m.jsonl"), lines).expect("written");
    let library = plugin("sine");
    let mut command = Command::new(omni_host());
    command.arg("batch").arg("--manifest").arg(path.join("m.jsonl")).arg("-o").arg(path.join("out")).arg("--plugin").arg(&library);
    command.env("SPEAKER_SAMPLES_DIR", "memory:");
    let mut child =
        command.args(["--concurrency", "2"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
    let done = || fs::read_to_string(path.join("out/report.jsonl")).unwrap_or_default().lines().count();
    omni_tests::server::wait_until(std::time::Duration::from_secs(120), || done() >= 3);
    child.kill().expect("it is killed");
    child.wait().expect("it ends");
    let before = done();
    assert!((3..40).contains(&before), "{before} items were done");
    let server = Server::start_with(&["--plugin", library.to_str().expect("UTF-8")]);
    let told = check_ok(&batch(path, "m.jsonl", &["--url", &server.url(""), "--concurrency", "20"]));
    assert!(told.contains(&format!("{before} spoken before, 0 failed")), "{told} ({before})");
    for index in 1..=40 {
        assert!(!wav(path, &format!("{index:06}.wav")).samples.is_empty());
    }
}
