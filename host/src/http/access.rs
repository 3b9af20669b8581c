//! What every request gets: an id, a span, its line in the log and its place in the metrics. Written when the last byte of its answer has
//! left, or its client has.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::Response;
use http::Method;
use hyper::body::{Frame, SizeHint};
use tracing::{Instrument, Span};

use super::error::shortened;
use super::request_id::{REQUEST_ID, RequestId};
use super::wire::Phase;
use crate::observe::metrics::catalogue::{HTTP_BYTES, HTTP_IN_FLIGHT, HTTP_REQUESTS, HTTP_SECONDS};
use crate::observe::trace;

/// Routes that probes ask every few seconds.
const PROBED: [&str; 6] = ["/health", "/ready", "/ping", "/version", "/metrics", "/load"];
/// The status in log and metrics of a request whose client left before there was one.
const LEFT: u16 = 499;
/// No audio yet.
const NONE: u64 = u64::MAX;

tokio::task_local! {
    /// What is summed up for the request at work on this task.
    static TALLY: Tally;
}

/// What the work on a request adds to its line in the log. Cheap to clone.
#[derive(Clone)]
pub struct Tally(Arc<Sums>);

struct Sums {
    id: Option<RequestId>,
    started: Instant,
    first_audio_ms: AtomicU64,
    audio_ms: AtomicU64,
    key: OnceLock<Arc<str>>,
}

impl Tally {
    fn new(id: Option<RequestId>) -> Self {
        let (first_audio_ms, audio_ms) = (AtomicU64::new(NONE), AtomicU64::new(0));
        Self(Arc::new(Sums { id, started: Instant::now(), first_audio_ms, audio_ms, key: OnceLock::new() }))
    }

    /// That of the request at work; one that nobody reads where there is none.
    pub fn current() -> Self {
        TALLY.try_with(Self::clone).unwrap_or_else(|_| Self::new(None))
    }

    /// The id of the request at work.
    pub fn request_id() -> Option<String> {
        TALLY.try_with(|tally| tally.0.id.as_ref().map(|id| id.as_str().to_owned())).ok().flatten()
    }

    /// Notes the name of the key that the request at work showed.
    pub fn note_key(name: &Arc<str>) {
        // Outside of a request there is no line to put it on; a second key is never looked for.
        let _ = TALLY.try_with(|tally| tally.0.key.set(Arc::clone(name)));
    }

    /// Audio was made for the request.
    pub fn audio(&self, made: Duration) {
        self.0.first_audio_ms.fetch_min(self.0.started.elapsed().as_millis() as u64, Ordering::Relaxed);
        self.0.audio_ms.fetch_add(made.as_millis() as u64, Ordering::Relaxed);
    }

    fn first_audio_ms(&self) -> Option<u64> {
        Some(self.0.first_audio_ms.load(Ordering::Relaxed)).filter(|ms| *ms != NONE)
    }

    fn audio_s(&self) -> Option<f64> {
        self.first_audio_ms().map(|_| self.0.audio_ms.load(Ordering::Relaxed) as f64 / 1000.0)
    }
}

/// A request from its head to the end of its answer. Dropping it ends it.
struct Access {
    span: Span,
    method: Method,
    path: String,
    route: String,
    tally: Tally,
    status: Option<u16>,
    bytes: u64,
    is_complete: bool,
    phase: Option<Phase>,
}

impl Access {
    fn begin(request: &Request, id: RequestId, span: Span) -> Self {
        HTTP_IN_FLIGHT.of([]).increment(1.0);
        Self {
            span,
            method: request.method().clone(),
            path: shortened(request.uri().path().to_owned(), 200),
            route: route(request).to_owned(),
            tally: Tally::new(Some(id)),
            status: None,
            bytes: 0,
            is_complete: false,
            phase: request.extensions().get().cloned(),
        }
    }

    fn log(&self) {
        let (method, path, route, status) = (self.method.as_str(), self.path.as_str(), self.route.as_str(), self.status.unwrap_or(LEFT));
        let (ms, bytes, complete) = (self.tally.0.started.elapsed().as_millis() as u64, self.bytes, self.is_complete);
        let (first_audio_ms, audio_s, key) = (self.tally.first_audio_ms(), self.tally.audio_s(), self.tally.0.key.get().map(|key| &**key));
        if PROBED.contains(&route) {
            tracing::debug!(method, path, route, status, ms, bytes, complete, "answered");
        } else {
            tracing::info!(method, path, route, status, ms, bytes, complete, first_audio_ms, audio_s, key, "answered");
        }
    }

    fn measure(&self) {
        let status = self.status.unwrap_or(LEFT).to_string();
        HTTP_IN_FLIGHT.of([]).decrement(1.0);
        HTTP_REQUESTS.of([&self.route, &status]).increment(1);
        HTTP_BYTES.of([&self.route]).increment(self.bytes);
        HTTP_SECONDS.of([&self.route]).record(self.tally.0.started.elapsed());
    }
}

impl Drop for Access {
    fn drop(&mut self) {
        let status = self.status.unwrap_or(LEFT);
        trace::answered(&self.span, status);
        self.span.in_scope(|| self.log());
        self.measure();
        if let Some(phase) = &self.phase {
            phase.answered(status);
        }
    }
}

/// The pattern that a request matched, without a slash at its end.
fn route(request: &Request) -> &str {
    let pattern = request.extensions().get::<MatchedPath>().map_or("unknown", MatchedPath::as_str);
    pattern.strip_suffix('/').filter(|bare| !bare.is_empty()).unwrap_or(pattern)
}

/// Gives a request its id and its span, and accounts for it.
pub async fn account(request: Request, next: Next) -> Response {
    let id = RequestId::of(request.headers());
    let span = trace::request(id.as_str(), request.method().as_str(), route(&request), request.headers());
    let mut access = Access::begin(&request, id.clone(), span.clone());
    let answering = TALLY.scope(access.tally.clone(), next.run(request)).instrument(span);
    let mut response = answering.await;
    access.status = Some(response.status().as_u16());
    response.headers_mut().insert(REQUEST_ID, id.into_value());
    response.map(|body| Body::new(Accounted { body, access }))
}

/// A body whose bytes are counted and whose end ends its request.
struct Accounted {
    body: Body,
    access: Access,
}

impl HttpBody for Accounted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = std::task::ready!(Pin::new(&mut self.body).poll_frame(context));
        match &frame {
            Some(Ok(frame)) => self.access.bytes += frame.data_ref().map_or(0, |data| data.len() as u64),
            Some(Err(_)) => {}
            None => self.access.is_complete = true,
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Accounted {
    fn drop(&mut self) {
        self.access.is_complete |= self.body.is_end_stream();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_within_a_request_adds_to_its_sums_and_other_work_to_none() {
        Tally::current().audio(Duration::from_secs(1));
        let tally = Tally::new(Some(RequestId::fresh()));
        TALLY
            .scope(tally.clone(), async {
                assert_eq!(Tally::request_id().as_deref(), tally.0.id.as_ref().map(RequestId::as_str));
                Tally::note_key(&Arc::from("alice"));
                Tally::current().audio(Duration::from_millis(1500));
                Tally::current().audio(Duration::from_millis(500));
            })
            .await;
        assert_eq!((tally.audio_s(), tally.0.key.get().map(|key| &**key)), (Some(2.0), Some("alice")));
        assert!(tally.first_audio_ms().is_some_and(|ms| ms < 60_000));
        assert_eq!((Tally::new(None).audio_s(), Tally::request_id()), (None, None));
    }
}
