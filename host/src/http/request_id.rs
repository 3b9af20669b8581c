//! `x-request-id` on every answer, and the request's line in the log.

use std::time::Instant;

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue};
use tracing::Instrument;

/// The header's name.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Longest id that is taken over from a client.
const MAX_LEN: usize = 128;
/// Paths that probes ask every few seconds.
const PROBED: [&str; 4] = ["/health", "/ready", "/ping", "/version"];

/// Identifies a request in answers and in the log.
#[derive(Debug, Clone)]
struct RequestId(HeaderValue);

impl RequestId {
    /// A new id: `speech-` and 16 hex digits.
    fn fresh() -> Self {
        let id = format!("speech-{:016x}", fastrand::u64(..));
        Self(HeaderValue::from_str(&id).unwrap_or_else(|_| HeaderValue::from_static("speech")))
    }

    /// The client's id where it is sane, else a new one.
    fn of(headers: &HeaderMap) -> Self {
        headers.get(REQUEST_ID).filter(|id| is_sane(id)).cloned().map_or_else(Self::fresh, Self)
    }

    /// The id as text.
    fn as_str(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }
}

fn is_sane(id: &HeaderValue) -> bool {
    let bytes = id.as_bytes();
    (1..=MAX_LEN).contains(&bytes.len()) && bytes.iter().all(|byte| (b' '..=b'~').contains(byte))
}

/// Gives a request its id and its span, puts the id on the answer, and logs the answer.
pub async fn tag(request: Request, next: Next) -> Response {
    let id = RequestId::of(request.headers());
    let (method, path, started) = (request.method().clone(), request.uri().path().to_owned(), Instant::now());
    let span = tracing::info_span!("request", id = id.as_str());
    let mut response = next.run(request).instrument(span.clone()).await;
    span.in_scope(|| log(method.as_str(), &path, response.status().as_u16(), started));
    response.headers_mut().insert(REQUEST_ID, id.0);
    response
}

fn log(method: &str, path: &str, status: u16, started: Instant) {
    let ms = started.elapsed().as_millis() as u64;
    let path = super::error::shortened(path.to_owned(), 200);
    if PROBED.contains(&path.as_str()) {
        tracing::debug!(method, path, status, ms, "answered");
    } else {
        tracing::info!(method, path, status, ms, "answered");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id_for(sent: &[u8]) -> String {
        let value = HeaderValue::from_bytes(sent).expect("a header value");
        RequestId::of(&HeaderMap::from_iter([(REQUEST_ID, value)])).as_str().to_owned()
    }

    #[test]
    fn a_sane_id_is_kept_and_any_other_replaced() {
        assert_eq!(id_for(b"trace-7 b"), "trace-7 b");
        for sent in [&b""[..], b"\xc3\xa9", &[b'a'; 129]] {
            let id = id_for(sent);
            assert!(id.len() == 23 && id.starts_with("speech-") && id[7..].bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
        }
    }
}
