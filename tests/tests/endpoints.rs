//! The smaller endpoints, answers to wrong paths and methods, and the server's end.

use omni_tests::checks;
use omni_tests::http::{self, Answer, get};
use omni_tests::sentences::long_text;
use omni_tests::server::Server;
use omni_tests::speech::{self, PATH, Stream, request, request_with};
use omni_tests::wav::Wav;
use serde_json::{Value, json};
use ureq::http::Method;

fn server() -> &'static Server {
    Server::shared()
}

fn good_json(path: &str) -> Value {
    let answer = get(&server().url(path));
    assert_eq!(answer.status, 200, "{path}: {}", answer.start());
    assert_eq!(answer.header("content-type"), Some("application/json"), "{path}");
    assert!(answer.header("x-request-id").is_some_and(|id| !id.is_empty()), "{path}: {:?}", answer.headers);
    answer.json()
}

#[test]
fn health_readiness_and_version_are_json() {
    assert_eq!(good_json("/health")["status"], "healthy");
    assert!(good_json("/ready").is_object());
    assert!(good_json("/version")["version"].as_str().is_some_and(|version| version.contains('.')));
}

#[test]
fn models_are_listed_and_can_be_asked_for_by_name() {
    let list = good_json("/v1/models");
    assert_eq!(list["object"], "list");
    let cards = list["data"].as_array().expect("a list");
    let card =
        cards.iter().find(|card| card["id"] == "hibari").unwrap_or_else(|| panic!("the embedded voice's model is not listed: {list}"));
    assert_eq!(card["object"], "model");
    assert!(card["created"].is_u64() && card["owned_by"].is_string(), "{card}");
    let one = good_json("/v1/models/hibari");
    assert_eq!((&one["id"], &one["object"]), (&json!("hibari"), &json!("model")));
    let message = checks::error(&get(&server().url("/v1/models/no-such-model")), 404, "model");
    assert!(message.contains("no-such-model"), "{message}");
}

#[test]
fn voices_are_listed_and_each_one_speaks() {
    let list = good_json("/v1/audio/voices");
    assert!(list["uploaded_voices"].is_array(), "{list}");
    let voices: Vec<&str> = list["voices"].as_array().expect("a list").iter().map(|voice| voice.as_str().expect("a name")).collect();
    assert!(voices.contains(&"heart") && voices.contains(&"default"), "{voices:?}");
    assert!(voices.is_sorted(), "{voices:?}");
    for voice in voices {
        speech::speak_request(server(), &request_with("Hello.", &json!({"voice": voice})));
    }
}

#[test]
fn open_webui_finds_models_voices_and_speech_below_its_own_address() {
    for path in ["/v1/audio/models", "/openwebui/v1/audio/models"] {
        assert_eq!(good_json(path)["models"], json!([{"id": "hibari", "name": "hibari"}]), "{path}");
    }
    let names = good_json("/v1/audio/voices")["voices"].as_array().expect("a list").clone();
    let objects: Vec<Value> = names.iter().map(|name| json!({"id": name, "name": name})).collect();
    assert_eq!(good_json("/openwebui/v1/audio/voices")["voices"], json!(objects));
    assert_eq!(good_json("/openwebui/v1/models/hibari")["id"], "hibari");
    let spoken = http::post_json(&server().url("/openwebui/v1/audio/speech"), &request("Hello."));
    assert!(spoken.body == speech::wav_bytes(server(), &request("Hello.")), "another answer: {}", spoken.start());
    check_json_refusal(&get(&server().url("/openwebui/health")), "what is not below /v1");
}

fn check_json_refusal(answer: &Answer, what: &str) {
    assert!(matches!(answer.status, 404 | 405), "{what}: {} {}", answer.status, answer.start());
    checks::error(answer, answer.status, "");
}

#[test]
fn wrong_paths_and_methods_are_answered_in_json_and_never_redirected() {
    let body = request("Hello.").to_string();
    let send =
        |method: Method, path: &str| http::send(method, &server().url(path), &[("content-type", "application/json")], body.as_bytes());
    let method = get(&server().url(PATH));
    assert_eq!(method.status, 405);
    assert!(method.header("allow").is_some_and(|allow| allow.contains("POST")), "{:?}", method.headers);
    check_json_refusal(&method, "GET of the speech endpoint");
    for path in ["/audio/speech", "/v1/v1/audio/speech", "/v1/audio", "/v1/audio/speech/more", "/nothing", "/v1/%00", "/v1/../etc"] {
        check_json_refusal(&send(Method::POST, path), path);
    }
    for (method, path) in [(Method::PUT, PATH), (Method::DELETE, "/v1/models"), (Method::POST, "/health")] {
        check_json_refusal(&send(method, path), path);
    }
    let slash = send(Method::POST, "/v1/audio/speech/");
    match slash.status {
        200 => speech::check_good(&slash, "audio/wav"),
        _ => check_json_refusal(&slash, "a trailing slash"),
    }
}

#[test]
fn every_answer_has_a_request_id_of_its_own() {
    let id = |path: &str| get(&server().url(path)).header("x-request-id").map(str::to_owned).expect("an id");
    assert_ne!(id("/health"), id("/health"));
    assert_ne!(id("/nothing"), id("/nothing"));
}

#[test]
fn an_idle_server_that_is_asked_to_end_ends_well() {
    let mut server = Server::start();
    server.ask_to_end();
    let status = server.wait_for_end();
    assert_eq!(status.code(), Some(0), "{}", server.log());
}

#[test]
fn a_busy_server_that_is_asked_to_end_finishes_what_it_began() {
    let mut server = Server::start();
    let text = long_text(20);
    let expected = Wav::read(&speech::wav_bytes(&server, &request(&text))).expect("a good file");
    let mut stream = Stream::open(&server, &request_with(&text, &json!({"response_format": "pcm"})));
    let first = stream.next_piece().expect("a first piece");
    server.ask_to_end();
    let url = server.url(PATH);
    let late = http::try_send(Method::POST, &url, &[("content-type", "application/json")], request("Hello.").to_string().as_bytes());
    // It may have been faster than the signal; what it must not do is accept and then break off.
    if let Ok(late) = late.as_ref().map_err(|error| eprintln!("not accepted: {error}")) {
        assert!(matches!(late.status, 200 | 503), "{} {}", late.status, late.start());
        assert!(late.status == 200 || late.header("retry-after").is_some(), "{:?}", late.headers);
    }
    let streamed = Wav::from_pcm(&[first, stream.pieces().concat()].concat(), expected.rate).expect("whole samples");
    assert_eq!(streamed.samples.len(), expected.samples.len(), "the stream was cut");
    let status = server.wait_for_end();
    assert_eq!(status.code(), Some(0), "{}", server.log());
}

#[test]
fn a_port_in_use_is_an_error_that_names_it() {
    let port = server().address().port().to_string();
    let mut command = std::process::Command::new(omni_tests::artifacts::omni_host());
    let output = command.args(["serve", "--host", "127.0.0.1", "--port", &port]).output().expect("omni-host runs");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && message.contains(&port), "{}: {message}", output.status);
    assert!(!message.contains("panicked"), "{message}");
}
