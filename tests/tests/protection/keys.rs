//! API keys: through the real client, over both protocols, and what is open without one.

use std::fs;

use omni_host::http::ROUTES;
use omni_tests::artifacts::sine_and;
use omni_tests::http::{self, Answer};
use omni_tests::page::Page;
use omni_tests::python::Python;
use omni_tests::server::Server;
use omni_tests::speech::{PATH, request};
use omni_tests::{checks, raw};
use serde_json::{Value, json};
use ureq::http::Method;

const SDK: &str = include_str!("../../python/keys.py");

fn get_with(server: &Server, path: &str, key: Option<&str>) -> Answer {
    let header = key.map(|key| format!("Bearer {key}"));
    let headers: Vec<(&str, &str)> = header.iter().map(|value| ("authorization", value.as_str())).collect();
    http::send(Method::GET, &server.url(path), &headers, b"")
}

fn check_refused(answer: &Answer) {
    assert_eq!((answer.status, &answer.json()["error"]), (401, &json!("Unauthorized")), "{}", answer.start());
    assert!(answer.header("www-authenticate").is_some_and(|challenge| challenge.starts_with("Bearer")), "{:?}", answer.headers);
    assert!(answer.header("x-request-id").is_some_and(|id| !id.is_empty()), "{:?}", answer.headers);
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "a page could not read why");
}

/// Has the `openai` package speak with each key.
fn by_sdk(server: &Server, keys: &[&str]) -> Vec<Value> {
    let output = Python::ready().command().args(["-c", SDK, &server.url("/v1")]).args(keys).output().expect("Python runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("a report in JSON")
}

#[test]
fn the_openai_package_speaks_with_a_key_and_raises_its_own_error_without() {
    let server = Server::start_with(&sine_and(&["--api-key", "sk-first", "--api-key", "sk-second"]));
    let reports = by_sdk(&server, &["sk-first", "sk-second", "sk-third", "sk-firs"]);
    for good in &reports[..2] {
        assert!(good["bytes"].as_u64() > Some(1000), "{good}");
    }
    for bad in &reports[2..] {
        assert_eq!((&bad["class"], &bad["status"]), (&json!("AuthenticationError"), &json!(401)), "{bad}");
        assert!(bad["request_id"].as_str().is_some_and(|id| !id.is_empty()), "{bad}");
    }
    assert_eq!(Page::of(&server).sum("omni_host:requests_refused_total", &[("reason", "unauthorized")]), 2.0);
    assert!(!server.log().contains("sk-"), "a key is in the log:\n{}", server.log());
    assert!(server.log().contains("key=\"key-2\""), "the log does not tell whose request it was:\n{}", server.log());
}

#[test]
fn everything_below_v1_needs_the_key_and_probes_do_not() {
    let server = Server::start_with(&sine_and(&["--api-key", "sk-1"]));
    for path in ["/v1/models", "/v1/models/sine", "/v1/audio/voices", "/v1/audio/models", "/openwebui/v1/audio/voices", "/v1/nothing"] {
        check_refused(&get_with(&server, path, None));
        check_refused(&get_with(&server, path, Some("sk-2")));
        assert_ne!(get_with(&server, path, Some("sk-1")).status, 401, "{path}");
    }
    let body = request("Hello.").to_string();
    check_refused(&http::post(&server.url(PATH), body.as_bytes()));
    for path in ["/health", "/ready", "/ping", "/metrics", "/version", "/load"] {
        assert_eq!(get_with(&server, path, None).status, 200, "{path}");
    }
}

/// A browser asks first, and without a key: that is in the request it asks about.
#[test]
fn a_page_of_another_origin_may_ask_on_every_route_and_read_every_answer() {
    let server = Server::start_with(&sine_and(&["--api-key", "sk-1", "--rate-limit", "2"]));
    for route in ROUTES {
        let path = route.path.replace("{*id}", "sine").replace("{name}", "anne");
        check_preflight(&http::send(Method::OPTIONS, &server.url(&path), &PREFLIGHT, b""), &path);
    }
    let post = |key: &str, body: &Value| {
        let key = format!("Bearer {key}");
        let headers = [("origin", "https://app.example"), ("content-type", "application/json"), ("authorization", key.as_str())];
        http::send(Method::POST, &server.url(PATH), &headers, body.to_string().as_bytes())
    };
    let answers = [("sk-1", "Hello."), ("sk-1", ""), ("sk-1", "Hello."), ("sk-2", "Hello.")].map(|(key, text)| post(key, &request(text)));
    assert_eq!(answers.each_ref().map(|answer| answer.status), [200, 400, 429, 401]);
    for answer in answers {
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{}", answer.status);
        let exposed = answer.header("access-control-expose-headers").unwrap_or_default();
        for name in ["x-request-id", "retry-after", "www-authenticate"] {
            assert!(exposed.split(',').any(|exposed| exposed.trim() == name), "{}: {name} is not among {exposed}", answer.status);
        }
    }
}

const PREFLIGHT: [(&str, &str); 3] = [
    ("origin", "https://app.example"),
    ("access-control-request-method", "POST"),
    ("access-control-request-headers", "authorization,content-type"),
];

fn check_preflight(answer: &Answer, path: &str) {
    assert!(matches!(answer.status, 200 | 204), "{path}: {}", answer.status);
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{path}");
    for (header, values) in
        [("access-control-allow-methods", &["POST"][..]), ("access-control-allow-headers", &["authorization", "content-type"])]
    {
        let allowed = answer.header(header).unwrap_or_default().to_lowercase();
        assert!(values.iter().all(|value| allowed.contains(&value.to_lowercase())), "{path}: {header} is {allowed:?}");
    }
}

#[test]
fn a_large_body_without_a_key_is_refused_and_its_sender_hears_why() {
    let server = Server::start_with(&sine_and(&["--api-key", "sk-1"]));
    let mut connection = server.connect();
    connection.send_while_reading(raw::post(PATH, &vec![b' '; 8 << 20]));
    check_refused(&connection.read_answer());
}

#[test]
fn a_websocket_needs_the_key_in_its_handshake() {
    let server = Server::start_with(&sine_and(&["--api-key", "sk-1"]));
    let handshake = |key: &str| {
        let mut connection = server.connect();
        let head = "GET /v1/audio/speech/stream HTTP/1.1\r\nhost: test\r\nupgrade: websocket\r\nconnection: upgrade\r\n\
                    sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
        connection.send(format!("{head}authorization: Bearer {key}\r\n\r\n").as_bytes());
        connection.read_head().status
    };
    assert_eq!((handshake("sk-1"), handshake("sk-2")), (101, 401));
}

#[test]
fn keys_come_from_a_file_or_the_environment_and_listings_can_be_open() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("keys");
    fs::write(&path, "# team\nalice sk-a\nsk-b\n").expect("a file");
    let server = Server::start_with(&sine_and(&["--public-listing", "--api-key-file", path.to_str().expect("a plain path")]));
    for path in ["/v1/models", "/v1/audio/voices", "/openwebui/v1/audio/voices"] {
        assert_eq!(get_with(&server, path, None).status, 200, "{path}");
    }
    assert_eq!(by_sdk(&server, &["sk-a", "sk-b", "alice"]).iter().filter(|report| report["class"] == "none").count(), 2);
    assert!(server.log().contains("key=\"alice\"") && !server.log().contains("sk-"), "{}", server.log());
    let server = Server::start_within(&sine_and(&[]), &[("VLLM_API_KEY", "sk-env")]);
    assert_eq!(get_with(&server, "/v1/models", Some("sk-env")).status, 200);
    check_refused(&get_with(&server, "/v1/models", None));
}

#[test]
fn each_key_may_make_so_many_requests_a_minute() {
    let server = Server::start_with(&sine_and(&["--api-key", "sk-1", "--api-key", "sk-2", "--rate-limit", "2"]));
    let reports = by_sdk(&server, &["sk-1", "sk-1", "sk-1", "sk-2"]);
    let classes: Vec<&Value> = reports.iter().map(|report| &report["class"]).collect();
    assert_eq!(classes, ["none", "none", "RateLimitError", "none"]);
    let wait = reports[2]["retry_after"].as_str().and_then(|seconds| seconds.parse::<u64>().ok());
    assert!(wait.is_some_and(|seconds| (1..=30).contains(&seconds)), "{}", reports[2]);
    let refused = http::send(Method::GET, &server.url("/v1/models"), &[("authorization", "Bearer sk-1")], b"");
    assert!(checks::error(&refused, 429, "").contains("2 requests a minute"));
}

#[test]
fn settings_that_would_leave_the_server_open_are_refused() {
    for arguments in [&["--api-key", ""][..], &["--rate-limit", "5"], &["--api-key-file", "/no/such/file"]] {
        let mut command = std::process::Command::new(omni_tests::artifacts::omni_host());
        let output = command.args(["serve", "--port", "0"]).args(arguments).output().expect("omni-host runs");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && message.contains("error: "), "{arguments:?}: {} {message}", output.status);
    }
}
