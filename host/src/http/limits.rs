//! How large, how slow and how many: the limits of connections and of request bodies.

use std::time::Duration;

use axum::body::Body;
use clap::Args;
use http::request::Parts;
use http::{HeaderMap, header};
use http_body_util::BodyExt;
use tokio::time::timeout;

use super::error::ApiError;
use super::wire::Patience;

const MEBIBYTE: usize = 1 << 20;
/// How much of a refused body is still taken in, so that its sender comes to read the answer.
const MAX_DISCARDED_BYTES: usize = 64 << 20;
/// And for how long.
const DISCARD_DEADLINE: Duration = Duration::from_secs(5);
/// Least buffer the HTTP library works with.
const MIN_HEAD_BYTES: usize = 8 << 10;

/// Limits of connections and bodies.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Limits")]
pub struct Limits {
    /// Connections that may be open at once; past them clients get 503
    #[arg(long, value_name = "N", default_value_t = Limits::DEFAULT.max_connections, value_parser = at_least_one)]
    max_connections: usize,
    /// Bytes of a request's line and headers
    #[arg(long, value_name = "BYTES", default_value_t = Limits::DEFAULT.max_head_bytes, value_parser = head_bytes)]
    max_head_bytes: usize,
    /// Headers of a request
    #[arg(long, value_name = "N", default_value_t = Limits::DEFAULT.max_headers, value_parser = at_least_one)]
    max_headers: usize,
    /// Mebibytes of a request's body
    #[arg(long, value_name = "MIB", default_value_t = Limits::DEFAULT.max_body_mib, value_parser = mebibytes)]
    max_body_mib: usize,
    /// Seconds for a request's line and headers to arrive
    #[arg(long, value_name = "SECONDS", default_value_t = Limits::DEFAULT.head_timeout_secs, value_parser = clap::value_parser!(u64).range(1..))]
    head_timeout_secs: u64,
    /// Seconds for a request's body to arrive
    #[arg(long, value_name = "SECONDS", default_value_t = Limits::DEFAULT.body_timeout_secs, value_parser = clap::value_parser!(u64).range(1..))]
    body_timeout_secs: u64,
    /// Seconds a connection may wait for its next request
    #[arg(long, value_name = "SECONDS", default_value_t = Limits::DEFAULT.idle_timeout_secs, env = "VLLM_HTTP_TIMEOUT_KEEP_ALIVE", value_parser = clap::value_parser!(u64).range(1..))]
    idle_timeout_secs: u64,
    /// Seconds a client may take nothing of what it asked for
    #[arg(long, value_name = "SECONDS", default_value_t = Limits::DEFAULT.reader_timeout_secs, value_parser = clap::value_parser!(u64).range(1..))]
    reader_timeout_secs: u64,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|number| (1..=1 << 20).contains(number)).ok_or_else(|| format!("a number from 1 to {}", 1 << 20))
}

fn head_bytes(text: &str) -> Result<usize, String> {
    let is_possible = |bytes: &usize| (MIN_HEAD_BYTES..=16 * MEBIBYTE).contains(bytes);
    text.parse().ok().filter(is_possible).ok_or_else(|| format!("bytes from {MIN_HEAD_BYTES} to {}", 16 * MEBIBYTE))
}

fn mebibytes(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|number| (1..=4096).contains(number)).ok_or_else(|| "a number from 1 to 4096".to_owned())
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Limits {
    /// The limits of a server whose operator says nothing.
    const DEFAULT: Self = Self {
        max_connections: 4096,
        max_head_bytes: 64 << 10,
        max_headers: 256,
        max_body_mib: 32,
        head_timeout_secs: 10,
        body_timeout_secs: 30,
        idle_timeout_secs: 75,
        reader_timeout_secs: 120,
    };

    /// Connections open at once.
    pub fn max_connections(&self) -> usize {
        self.max_connections
    }

    /// Bytes of a head.
    pub fn max_head_bytes(&self) -> usize {
        self.max_head_bytes
    }

    /// Headers of a request.
    pub fn max_headers(&self) -> usize {
        self.max_headers
    }

    /// How long clients may take.
    pub fn patience(&self) -> Patience {
        Patience {
            head: Duration::from_secs(self.head_timeout_secs),
            idle: Duration::from_secs(self.idle_timeout_secs),
            reader: Duration::from_secs(self.reader_timeout_secs),
        }
    }

    /// What holds for bodies.
    pub fn body(&self) -> BodyLimits {
        BodyLimits { bytes: self.max_body_mib.saturating_mul(MEBIBYTE), time: Duration::from_secs(self.body_timeout_secs) }
    }
}

/// How large a body may be, and how long it may take to arrive. Travels with each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyLimits {
    /// Largest body.
    pub bytes: usize,
    /// Time for all of it.
    pub time: Duration,
}

impl Default for BodyLimits {
    fn default() -> Self {
        Self { bytes: 32 * MEBIBYTE, time: Duration::from_secs(30) }
    }
}

impl BodyLimits {
    /// Those of a request.
    pub fn of(parts: &Parts) -> Self {
        parts.extensions.get().copied().unwrap_or_default()
    }
}

/// Reads a whole body.
pub async fn read(parts: &Parts, body: Body) -> Result<Vec<u8>, ApiError> {
    read_within(BodyLimits::of(parts), parts, body).await
}

async fn read_within(limits: BodyLimits, parts: &Parts, mut body: Body) -> Result<Vec<u8>, ApiError> {
    let announced = announced_len(&parts.headers);
    if announced.is_some_and(|len| len > limits.bytes as u64) {
        discard(parts, body).await;
        return Err(ApiError::too_large(limits.bytes));
    }
    let collected = timeout(limits.time, collect(&mut body, announced, limits.bytes)).await;
    let bytes = collected.map_err(|_| ApiError::too_slow(limits.time.as_secs()))?;
    if bytes.as_ref().is_err_and(|error| error.status() == http::StatusCode::PAYLOAD_TOO_LARGE) {
        discard(parts, body).await;
    }
    bytes
}

/// The bytes of a body, in memory of the announced length: growing step by step would leave a heap several times that size behind.
async fn collect(body: &mut Body, announced: Option<u64>, most: usize) -> Result<Vec<u8>, ApiError> {
    let len = announced.and_then(|len| usize::try_from(len).ok()).unwrap_or_default();
    let mut bytes = Vec::with_capacity(len.min(most));
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| ApiError::malformed(Some("body".to_owned()), "the request body broke off or is badly framed"))?;
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > most {
            return Err(ApiError::too_large(most));
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes)
}

/// Takes in and forgets the body of a request that is refused anyway.
///
/// Most clients read the answer only when they have sent all; closing before that resets the connection and the answer is lost. A
/// client that asked for permission to send (`expect: 100-continue`) reads first, and is simply not given it.
pub async fn discard(parts: &Parts, mut body: Body) {
    if parts.headers.contains_key(header::EXPECT) {
        return;
    }
    let read_all = async {
        let mut discarded = 0;
        while let Some(Ok(frame)) = body.frame().await {
            discarded += frame.data_ref().map_or(0, |data| data.len());
            if discarded > MAX_DISCARDED_BYTES {
                return;
            }
        }
    };
    // Past the deadline the connection is closed with the rest unread.
    drop(timeout(DISCARD_DEADLINE, read_all).await);
}

fn announced_len(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use futures_util::stream;

    fn parts() -> Parts {
        http::Request::new(()).into_parts().0
    }

    fn body_of(chunks: usize) -> Body {
        let chunk = Bytes::from(vec![b'a'; 1 << 20]);
        Body::from_stream(stream::iter((0..chunks).map(move |_| Ok::<_, std::io::Error>(chunk.clone()))))
    }

    #[tokio::test]
    async fn a_body_up_to_the_limit_is_read_and_a_larger_one_refused() {
        let read_len = |chunks| async move { read(&parts(), body_of(chunks)).await.map(|bytes| bytes.len()) };
        assert_eq!(read_len(32).await, Ok(32 * MEBIBYTE));
        let error = read_len(33).await.expect_err("too large");
        assert!(error.status() == 413 && error.message().contains("32 MiB"), "{error}");
        let mut parts = parts();
        parts.extensions.insert(BodyLimits { bytes: 2 * MEBIBYTE, ..BodyLimits::default() });
        assert_eq!(read(&parts, body_of(3)).await.expect_err("too large").status(), 413);
    }

    #[tokio::test]
    async fn a_body_that_never_ends_is_given_up() {
        let endless = Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
        let error = read_within(BodyLimits { time: Duration::from_millis(20), ..BodyLimits::default() }, &parts(), endless)
            .await
            .expect_err("too slow");
        assert!(error.status() == 408 && error.message().contains("0 s"), "{error}");
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_is_a_fault_of_the_request() {
        let broken = Body::from_stream(stream::iter([Ok(Bytes::from_static(b"{")), Err(std::io::Error::other("gone"))]));
        assert_eq!(read(&parts(), broken).await.expect_err("it broke off").status(), 400);
    }
}
