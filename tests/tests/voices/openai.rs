//! The voices calls of the unchanged `openai` package.

use omni_tests::python::Python;
use omni_tests::upload::tone;
use serde_json::{Value, json};

use super::support::{server_on, spoken};

const PROGRAM: &str = include_str!("../../python/sdk_voices.py");

#[test]
fn the_openai_package_uploads_speaks_with_and_deletes_a_voice() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server_on(&folder.path().join("voices"));
    let clip = folder.path().join("clip.wav");
    std::fs::write(&clip, tone(440.0, 2.0, 24_000)).expect("a file");
    let mut command = Python::ready().command();
    let output = command.args(["-c", PROGRAM, &server.url("/v1")]).arg(&clip).arg(folder.path()).output().expect("Python runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report in JSON");
    let created = &report["created"];
    assert_eq!((&created["id"], &created["object"], &created["name"]), (&json!("Anne"), &json!("audio.voice"), &json!("Anne")), "{report}");
    assert!(created["created_at"].is_u64() && created["type"] == "audio_sample", "{report}");
    let saved = std::fs::read(folder.path().join("spoken.wav")).expect("the file was written");
    assert!(saved == spoken(&server, "high"), "the package's file is not the voice that was uploaded");
    let deleted = &report["deleted"];
    let told = (&deleted["id"], &deleted["deleted"], &deleted["object"]);
    assert_eq!(told, (&json!("Anne"), &json!(true), &json!("audio.voice.deleted")), "{report}");
    assert_eq!(report["deleted_again"], json!({"class": "NotFoundError", "status": 404}));
    assert_eq!(report["too_short"], json!({"class": "BadRequestError", "status": 400}));
}
