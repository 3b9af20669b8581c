//! Where a request's time goes, as spans: the request, its admission, each stage, and encoding.
//!
//! Spans cost next to nothing while nobody listens. With the feature `otel` and an endpoint they go to an OpenTelemetry collector, and a
//! `traceparent` that a client sends becomes the parent of its request.

#[cfg(feature = "otel")]
mod otlp;

use http::HeaderMap;
use tracing::Span;

#[cfg(feature = "otel")]
pub use otlp::{Traces, layer};

/// The span of a request, which also carries its id through the log.
pub fn request(id: &str, method: &str, route: &str, headers: &HeaderMap) -> Span {
    #[cfg(feature = "otel")]
    if otlp::is_on() {
        return otlp::request(id, method, route, headers);
    }
    let _ = (method, route, headers);
    tracing::info_span!("request", id)
}

/// Notes the status of a request whose answer has ended.
pub fn answered(span: &Span, status: u16) {
    #[cfg(feature = "otel")]
    otlp::answered(span, status);
    let _ = (span, status);
}

/// From a request's arrival to its slot in the first stage.
pub fn admission() -> Span {
    tracing::debug_span!("admission")
}

/// A request in a stage.
pub fn stage(request: &Span, model: &str, stage: &str, name: &str, replica: &str) -> Span {
    tracing::debug_span!(parent: request, "stage", model, stage, name, replica, units = tracing::field::Empty)
}

/// From the first samples that are encoded to the end of the answer.
pub fn encode(format: &'static str) -> Span {
    tracing::debug_span!("encode", format)
}

/// A server without the feature `otel` sends no traces.
#[cfg(not(feature = "otel"))]
pub struct Traces;

#[cfg(not(feature = "otel"))]
impl Traces {
    /// Nothing to start. A warning tells an operator who asked for traces.
    pub fn start(endpoint: Option<&str>) -> Result<Option<Self>, String> {
        let is_asked_for = endpoint.is_some() || std::env::var_os("OTEL_EXPORTER_OTLP_ENDPOINT").is_some();
        if is_asked_for { Err("this binary was built without traces (the feature `otel`)".to_owned()) } else { Ok(None) }
    }

    /// Nothing to end.
    pub fn finish(self) {}
}
