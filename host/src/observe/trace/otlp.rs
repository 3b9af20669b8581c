//! Spans on their way to an OpenTelemetry collector: OTLP over HTTP, in batches, from threads of their own.
//!
//! Serving never waits for a collector: spans go into a bounded queue, and what does not fit is dropped. Only spans of this program are
//! taken, so the requests that carry them are not traced themselves.

use std::env;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::HeaderMap;
use opentelemetry::propagation::{Extractor, TextMapPropagator};
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{Protocol, SpanExporter as Otlp, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use tokio::runtime::{Builder, Runtime};
use tracing::Span;
use tracing::level_filters::LevelFilter;
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

/// Spans whose target begins with this are taken.
const OURS: &str = "omni_host";
/// What the service is called where nobody says.
const SERVICE: &str = "omni-host";
/// Time for one export, and for the last one at the end.
const DEADLINE: Duration = Duration::from_secs(5);
/// An endpoint for traces, or for every signal: either switches traces on.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];

static IS_ON: AtomicBool = AtomicBool::new(false);

/// Whether spans go anywhere.
pub fn is_on() -> bool {
    IS_ON.load(Ordering::Relaxed)
}

/// The way to a collector.
pub struct Traces {
    provider: SdkTracerProvider,
    /// Kept: exports run on it.
    _runtime: Runtime,
}

impl Traces {
    /// Opens the way if there is an endpoint: this one, or that of the standard variables, which also decide about headers, batches,
    /// sampling and the service's name.
    ///
    /// # Errors
    /// When what they say cannot be followed.
    pub fn start(endpoint: Option<&str>) -> Result<Option<Self>, String> {
        if is_off() || !(endpoint.is_some() || ENDPOINTS.iter().any(|name| variable(name).is_some())) {
            return Ok(None);
        }
        let built = Builder::new_multi_thread().worker_threads(1).thread_name("traces").enable_all().build();
        let runtime = built.map_err(|error| format!("the thread for traces cannot be started: {error}"))?;
        let exporter = OnRuntime::new(otlp(endpoint)?, runtime.handle().clone());
        let provider = SdkTracerProvider::builder().with_resource(resource()).with_batch_exporter(exporter).build();
        IS_ON.store(true, Ordering::Relaxed);
        Ok(Some(Self { provider, _runtime: runtime }))
    }

    /// Sends what is left.
    pub fn finish(self) {
        if let Err(error) = self.provider.shutdown_with_timeout(DEADLINE) {
            tracing::warn!(%error, "the last spans were not sent");
        }
    }
}

/// The layer that takes spans, if there is a way for them.
pub fn layer<S>(traces: Option<&Traces>) -> Option<impl Layer<S> + Send + Sync + use<S>>
where
    S: tracing::Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
{
    let tracer = traces?.provider.tracer(SERVICE);
    let ours = filter_fn(|metadata| metadata.is_span() && metadata.target().starts_with(OURS)).with_max_level_hint(LevelFilter::DEBUG);
    let spans = tracing_opentelemetry::layer().with_tracer(tracer).with_location(false).with_threads(false).with_target(false);
    Some(spans.with_filter(ours))
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// Whether the standard variables switch traces off whatever else they say.
fn is_off() -> bool {
    let is = |name: &str, wanted: &str| variable(name).is_some_and(|value| value.trim().eq_ignore_ascii_case(wanted));
    is("OTEL_SDK_DISABLED", "true") || is("OTEL_TRACES_EXPORTER", "none")
}

/// The sender: protobuf over HTTP, with no proxy that a variable happens to name between us and the collector.
fn otlp(endpoint: Option<&str>) -> Result<Otlp, String> {
    // Another part of the process may have chosen already; then its choice is as good.
    drop(rustls::crypto::ring::default_provider().install_default());
    let client = reqwest::Client::builder().no_proxy().timeout(DEADLINE).build();
    let client = client.map_err(|error| format!("the client for traces cannot be made: {error}"))?;
    let mut builder = Otlp::builder().with_http().with_http_client(client).with_protocol(Protocol::HttpBinary);
    if let Some(endpoint) = endpoint {
        builder = builder.with_endpoint(endpoint);
    }
    builder.build().map_err(|error| format!("traces cannot be sent: {error}"))
}

fn resource() -> Resource {
    let is_named = variable("OTEL_SERVICE_NAME").is_some()
        || variable("OTEL_RESOURCE_ATTRIBUTES").is_some_and(|attributes| attributes.contains("service.name="));
    let resource = Resource::builder();
    if is_named { resource.build() } else { resource.with_service_name(SERVICE).build() }
}

/// Exports on threads that have what the HTTP client needs; the thread that collects batches has not.
struct OnRuntime {
    inner: Arc<Otlp>,
    runtime: tokio::runtime::Handle,
    /// Whether the last export failed: told once, not with every batch.
    is_failing: AtomicBool,
}

impl OnRuntime {
    fn new(inner: Otlp, runtime: tokio::runtime::Handle) -> Self {
        Self { inner: Arc::new(inner), runtime, is_failing: AtomicBool::new(false) }
    }

    fn note(&self, outcome: &OTelSdkResult) {
        let was_failing = self.is_failing.swap(outcome.is_err(), Ordering::Relaxed);
        match outcome {
            Err(error) if !was_failing => tracing::warn!(%error, "spans are not taken by the collector and are lost"),
            Ok(()) if was_failing => tracing::info!("spans are taken again"),
            _ => {}
        }
    }
}

impl fmt::Debug for OnRuntime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("OnRuntime")
    }
}

impl SpanExporter for OnRuntime {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let inner = Arc::clone(&self.inner);
        let sent = self.runtime.spawn(async move { inner.export(batch).await }).await;
        let outcome = sent.unwrap_or_else(|error| Err(OTelSdkError::InternalFailure(error.to_string())));
        self.note(&outcome);
        outcome
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        // Nobody else holds it before the first export.
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.set_resource(resource);
        }
    }
}

/// The span of a request, below that of its client where it names one.
pub fn request(id: &str, method: &str, route: &str, headers: &HeaderMap) -> Span {
    let span = tracing::info_span!("request", id, otel.name = %format_args!("{method} {route}"), otel.kind = "server");
    let parent = TraceContextPropagator::new().extract(&Headers(headers));
    // Refused only for a span that nobody records.
    drop(span.set_parent(parent));
    span.set_attribute("http.request.method", method.to_owned());
    span.set_attribute("http.route", route.to_owned());
    span
}

/// Notes the status of an answer.
pub fn answered(span: &Span, status: u16) {
    if is_on() {
        span.set_attribute("http.response.status_code", i64::from(status));
        if status >= 500 {
            span.set_attribute("error.type", status.to_string());
        }
    }
}

/// Headers as the propagator reads them.
struct Headers<'a>(&'a HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(http::HeaderName::as_str).collect()
    }
}
