//! Deploy files by the real binary: each packaged one has a plan, and what is wrong with a file is told with its place before anything loads.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use omni_tests::artifacts::{omni_host, sine_and};
use serde_json::Value;

/// Two accelerators that a plan may use.
const MACHINE: [&str; 2] = ["--device-memory=0=80GiB", "--device-memory=1=80GiB"];

fn run(arguments: &[OsString]) -> Output {
    Command::new(omni_host()).args(arguments).output().expect("omni-host runs")
}

/// What `check` makes of a file.
fn check(file: &Path, more: &[&str]) -> Output {
    let arguments: Vec<OsString> = ["check".into(), file.into()].into_iter().chain(more.iter().map(Into::into)).collect();
    run(&arguments)
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn packaged() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy");
    let files = fs::read_dir(folder).expect("the folder of deploy files").map(|entry| entry.expect("an entry").path());
    files.filter(|path| path.extension().is_some_and(|end| end == "yaml")).collect()
}

#[test]
fn every_packaged_file_has_a_plan() {
    let files = packaged();
    assert!(files.len() >= 20, "{files:?}");
    for file in files {
        let name = file.display();
        let output = check(&file, &[MACHINE[0], MACHINE[1], "--json"]);
        assert!(output.status.success(), "{name}: {}", said(&output));
        let plan: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let stages = plan["stages"].as_array().expect("a list");
        let replicas = plan["memory"].as_array().map(Vec::len);
        assert!(!stages.is_empty() && replicas >= Some(stages.len()), "{name}: {plan}");
        for stage in stages {
            let rows = stage["values"].as_array().expect("a list");
            let row = rows.iter().find(|row| row["key"] == "devices").unwrap_or_else(|| panic!("{name}: no devices in {stage}"));
            assert!(!row["value"].is_null() && !row["origin"].is_null(), "{name}: {row}");
        }
        let text = String::from_utf8(check(&file, &MACHINE).stdout).expect("text");
        for heading in ["stage 0", "devices", "max_num_seqs", "kv_cache_memory_bytes", "memory"] {
            assert!(text.contains(heading), "{name} has no {heading}:\n{text}");
        }
    }
}

#[test]
fn what_is_wrong_is_told_with_file_line_and_key() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("wrong.yaml");
    for (text, place, reason) in [
        (
            "stages:\n  - stage_id: 0\n    max_num_seq: 8\n",
            ":3:5: stages.0.max_num_seq: ",
            "nobody reads this key; did you mean max_num_seqs",
        ),
        ("stages:\n  - stage_id: 0\n    max_num_seqs: many\n", ":3:5: stages.0.max_num_seqs: ", "expected a whole number"),
        ("a: ${b}\nb: ${a}\nstages:\n  - stage_id: 0\n", ":2:1: b: ", "found a circle"),
        ("base_config: wrong.yaml\n", ":1:1: base_config: ", ""),
        ("stages:\n  - stage_id: 0\n    devices: '7'\n", ":3:5: stages.0.devices: ", "expected a device of this machine"),
        ("stages:\n  - stage_id: 0\n   max_num_seqs: 8\n", ":3:", ""),
    ] {
        fs::write(&file, text).expect("a file");
        let output = check(&file, &[MACHINE[0], "--strict-config"]);
        let message = said(&output);
        assert!(!output.status.success(), "{text} is taken");
        assert!(message.contains(&format!("wrong.yaml{place}")) && message.contains(reason), "{text}\n{message}");
    }
}

#[test]
fn a_plan_past_the_memory_is_refused_with_the_numbers() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("large.yaml");
    fs::write(&file, "stages:\n  - stage_id: 0\n    gpu_memory_utilization: 0.7\n  - stage_id: 1\n    gpu_memory_utilization: 0.6\n")
        .expect("a file");
    let message = said(&check(&file, &[MACHINE[0]]));
    assert!(message.contains("expected shares of cuda:0 that come to at most 1, found 1.30"), "{message}");
    fs::write(&file, "stages:\n  - stage_id: 0\n    kv_cache_memory_bytes: 107374182400\n").expect("a file");
    let message = said(&check(&file, &[MACHINE[0]]));
    assert!(message.contains("expected a plan within the 80.0 GiB that cuda:0 has free of 80.0 GiB, found one of 101.0 GiB"), "{message}");
}

#[test]
fn a_server_with_a_wrong_file_loads_nothing_and_says_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("wrong.yaml");
    fs::write(&file, "stages:\n  - stage_id: 0\n    max_num_seqs: 0\n").expect("a file");
    let file = file.to_str().expect("a plain path");
    let serve = ["serve", "--host", "127.0.0.1", "--port", "0", "--deploy-config", file].map(OsString::from);
    let output = run(&[&serve[..], &sine_and(&[])].concat());
    let message = said(&output);
    assert!(!output.status.success() && message.contains("wrong.yaml:3:5: stages.0.max_num_seqs: expected a number from 1"), "{message}");
    assert!(!message.contains("how the stage works"), "a stage was opened: {message}");
}
