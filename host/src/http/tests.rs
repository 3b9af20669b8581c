//! The router as a whole, on an engine that has no model: what every answer carries, and every refusal before speech.

use axum::body::Body;
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::Value;
use tower::ServiceExt;

use super::{App, Guard, ROUTES, router};
use crate::engine::{Engine, EngineSettings};

struct Answer {
    status: StatusCode,
    headers: http::HeaderMap,
    json: Value,
}

impl Answer {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

async fn ask(method: Method, path: &str, headers: &[(&str, &str)]) -> Answer {
    let settings = EngineSettings::default();
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Body::from("{}")).expect("a request");
    let response = router(App::new(Engine::new(settings)), Guard::default()).oneshot(request).await.expect("an answer");
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.expect("a body").to_bytes();
    Answer { status: parts.status, headers: parts.headers, json: serde_json::from_slice(&bytes).unwrap_or_default() }
}

#[tokio::test]
async fn what_is_not_in_the_table_gets_the_envelope() {
    for (method, path, status) in [
        (Method::GET, "/", 404),
        (Method::POST, "/audio/speech", 404),
        (Method::POST, "/v1/v1/audio/speech", 404),
        (Method::GET, "/v1/audio/speech", 405),
        (Method::DELETE, "/v1/models/", 405),
    ] {
        let answer = ask(method, path, &[]).await;
        assert_eq!(answer.status, status, "{path}");
        assert_eq!(answer.header("content-type"), "application/json");
        assert!(answer.json["detail"].is_string() && answer.json["error"]["code"] == status, "{}", answer.json);
        assert!(answer.header("x-request-id").starts_with("speech-"));
        assert_eq!(answer.header("access-control-allow-origin"), "*");
    }
    assert_eq!(ask(Method::GET, "/v1/audio/speech/", &[]).await.header("allow"), "POST");
}

#[tokio::test]
async fn every_route_works_with_a_slash_at_its_end() {
    for route in ROUTES.iter().filter(|route| route.methods.contains("GET")) {
        let path = route.path.replace("{*id}", "some/model");
        let (plain, slashed) = (ask(Method::GET, &path, &[]).await, ask(Method::GET, &format!("{path}/"), &[]).await);
        assert_eq!((plain.status, plain.json), (slashed.status, slashed.json), "{path}");
    }
}

#[tokio::test]
async fn nothing_speaks_without_a_model_and_the_server_still_lives() {
    let speech = ask(Method::POST, "/v1/audio/speech", &[("content-type", "application/json")]).await;
    assert_eq!(speech.status, StatusCode::SERVICE_UNAVAILABLE, "{}", speech.json);
    assert!(!speech.header("retry-after").is_empty());
    assert_eq!(ask(Method::GET, "/ready", &[]).await.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(ask(Method::GET, "/health", &[]).await.status, StatusCode::OK);
    assert_eq!(ask(Method::POST, "/ping", &[]).await.status, StatusCode::OK);
    assert_eq!(ask(Method::GET, "/version", &[]).await.json["version"], env!("CARGO_PKG_VERSION"));
}

#[tokio::test]
async fn a_page_of_another_origin_may_ask() {
    let asks = [
        ("origin", "https://app.example"),
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", "authorization,content-type"),
    ];
    let preflight = ask(Method::OPTIONS, "/v1/audio/speech", &asks).await;
    assert_eq!(preflight.status, StatusCode::OK);
    assert!(preflight.header("access-control-allow-methods").contains("POST"));
    assert_eq!(preflight.header("access-control-allow-headers"), "authorization,content-type");
    let answer = ask(Method::GET, "/version", &asks[..1]).await;
    for name in ["x-request-id", "x-sample-rate", "retry-after", "x-vllm-omni-total-tokens"] {
        assert!(answer.header("access-control-expose-headers").contains(name), "{name}");
    }
}

#[tokio::test]
async fn a_clients_request_id_comes_back() {
    assert_eq!(ask(Method::GET, "/version", &[("x-request-id", "trace-7")]).await.header("x-request-id"), "trace-7");
}
