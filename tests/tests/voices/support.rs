//! Servers of the tone family on a place for voices, and what they say.

use std::path::Path;

use omni_tests::artifacts;
use omni_tests::http::{self, Answer};
use omni_tests::server::Server;
use omni_tests::speech::PATH;
use omni_tests::upload::{Form, tone};
use serde_json::{Value, json};

/// A server of the tone family with its voices in a folder.
pub fn server_on(folder: &Path) -> Server {
    start(folder, &[], &[])
}

/// The same with more arguments and variables.
pub fn start(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Server {
    let sine = artifacts::plugin("sine");
    let usual = ["--voices", folder.to_str().expect("a path"), "--plugin", sine.to_str().expect("a path")];
    Server::start_within(&[&usual, arguments].concat(), variables)
}

/// Speech of a short text by a voice, at a loudness that does not depend on the voice.
pub fn say(server: &Server, voice: &str, more: &Value) -> Answer {
    let mut request = json!({"input": "Good day to you.", "voice": voice, "seed": 7, "loudness": 0.5});
    let members = request.as_object_mut().expect("an object");
    members.extend(more.as_object().expect("an object").clone());
    http::post_json(&server.url(PATH), &request)
}

/// The bytes of that speech.
pub fn spoken(server: &Server, voice: &str) -> Vec<u8> {
    let answer = say(server, voice, &json!({}));
    assert_eq!(answer.status, 200, "{voice}: {}", answer.start());
    answer.body
}

/// Uploads a clip of a tone.
pub fn upload_tone(server: &Server, name: &str, frequency_hz: f64) -> Answer {
    Form::of(name).clip(&tone(frequency_hz, 2.0, 24_000)).send(server)
}

/// Uploads a speaker's vector of the tone family: a note and an amplitude.
pub fn upload_vector(server: &Server, name: &str, note: f64) -> Answer {
    Form::of(name).text("speaker_embedding", &json!([note, 0.5]).to_string()).send(server)
}

/// Fails unless an answer is 200; gives its document.
pub fn good(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{}", answer.start());
    answer.json()
}

/// Fails unless an answer is a refusal with these words.
pub fn refused(answer: &Answer, status: u16, words: &str) {
    assert_eq!(answer.status, status, "{}", answer.start());
    let message = answer.json()["error"]["message"].as_str().expect("a message").to_owned();
    assert!(message.contains(words), "expected {words:?} in {message:?}");
}
