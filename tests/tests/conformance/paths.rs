//! Paths and methods: what is not there is told in JSON, a slash at the end changes nothing, and `allow` lists what may be sent.

use omni_tests::http::{self, Answer};
use omni_tests::speech::PATH;
use serde_json::json;
use ureq::http::Method;

use super::support::{asked, not_refused, report, server, with};

fn sent(method: Method, path: &str) -> Answer {
    http::send(method, &server().url(path), &[], b"")
}

#[test]
fn a_wrong_method_is_told_what_is_allowed() {
    let rows = [
        (Method::GET, PATH, "POST"),
        (Method::PUT, PATH, "POST"),
        (Method::PATCH, PATH, "POST"),
        (Method::DELETE, PATH, "POST"),
        (Method::GET, "/v1/audio/speech/", "POST"),
        (Method::GET, "/v1/audio/speech/batch", "POST"),
        (Method::DELETE, "/v1/audio/speech/batch", "POST"),
        (Method::POST, "/v1/audio/speech/stream", "GET"),
        (Method::PUT, "/v1/audio/voices", "GET"),
        (Method::PATCH, "/v1/audio/voices", "GET"),
        (Method::POST, "/v1/models", "GET"),
        (Method::POST, "/v1/models/hibari", "GET"),
        (Method::DELETE, "/v1/models/hibari", "GET"),
        (Method::POST, "/v1/audio/models", "GET"),
        (Method::PUT, "/health", "GET"),
        (Method::POST, "/ready", "GET"),
        (Method::POST, "/version", "GET"),
        (Method::DELETE, "/ping", "POST"),
        (Method::GET, "/openwebui/v1/audio/speech", "POST"),
        (Method::POST, "/openwebui/v1/models", "GET"),
    ];
    report(rows.into_iter().map(|(method, path, allowed)| {
        let answer = sent(method.clone(), path);
        let allow = answer.header("allow").unwrap_or_default();
        let lists = allow.split(',').any(|name| name.trim() == allowed);
        let problem = not_refused(&answer, 405, "", path).or((!lists).then(|| format!("allow is {allow:?}")));
        problem.map(|problem| format!("{method} {path}: {problem}"))
    }));
}

#[test]
fn errors_of_paths_and_methods_also_have_the_shape_of_the_frameworks_own() {
    assert_eq!(sent(Method::GET, "/nothing").json()["detail"], "Not Found");
    assert_eq!(sent(Method::GET, PATH).json()["detail"], "Method Not Allowed");
}

#[test]
fn what_is_not_there_is_told_in_json() {
    let paths = [
        "/v1",
        "/v1/",
        "/v1/audio",
        "/v1/audio/",
        "/v1/audio/speeches",
        "/v2/audio/speech",
        "/audio/speech",
        "/V1/audio/speech",
        "/v1//audio/speech",
        "/v1/audio/speech/batch/more",
        "/openwebui",
        "/openwebui/v1",
        "/openwebui/health",
        "/openwebui/ready",
        "/openwebui/openwebui/v1/models",
        "/readyz",
        "/v1/readyz",
        "/test",
        "/v1/test",
        "/v1/health",
    ];
    let methods = [Method::GET, Method::POST, Method::DELETE];
    let rows = paths.into_iter().flat_map(|path| methods.clone().map(|method| (method, path)));
    report(rows.map(|(method, path)| {
        let problem = not_refused(&sent(method.clone(), path), 404, "", path)?;
        Some(format!("{method} {path}: {problem}"))
    }));
}

#[test]
fn a_slash_at_the_end_and_a_query_change_nothing() {
    let expected = asked(&json!({})).body;
    for path in ["/v1/audio/speech/", "/v1/audio/speech?key=1", "/v1/audio/speech/?", "/openwebui/v1/audio/speech/"] {
        let answer = http::post_json(&server().url(path), &with(&json!({})));
        assert!(answer.body == expected, "{path}: {}", answer.start());
    }
    for path in ["/v1/audio/voices", "/v1/audio/models", "/openwebui/v1/audio/voices", "/health", "/version"] {
        let plain = http::get(&server().url(path)).json();
        assert_eq!(http::get(&server().url(&format!("{path}/"))).json(), plain, "{path}/");
        assert_eq!(http::get(&server().url(&format!("{path}?a=b&c"))).json(), plain, "{path}?");
    }
}

#[test]
fn head_is_get_without_the_body() {
    for path in ["/health", "/ready", "/version", "/v1/models", "/v1/models/hibari", "/v1/audio/voices", "/v1/audio/models"] {
        let (head, get) = (sent(Method::HEAD, path), sent(Method::GET, path));
        assert_eq!((head.status, head.body.len()), (200, 0), "{path}");
        assert_eq!(head.header("content-type"), get.header("content-type"), "{path}");
    }
}

#[test]
fn a_ping_has_no_body() {
    for method in [Method::GET, Method::POST] {
        let answer = sent(method, "/ping");
        assert_eq!((answer.status, answer.body.len()), (200, 0));
    }
}
