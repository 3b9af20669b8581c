//! Reading a request body within bounds of size and time.

use std::time::Duration;

use axum::body::Body;
use http::request::Parts;
use http::{HeaderMap, header};
use http_body_util::BodyExt;
use tokio::time::timeout;

use super::error::ApiError;

/// Largest body.
pub const MAX_BODY_BYTES: usize = 32 << 20;
/// Time for a whole body to arrive.
pub const BODY_DEADLINE: Duration = Duration::from_secs(30);
/// How much of a refused body is still taken in, so that its sender comes to read the answer.
const MAX_DISCARDED_BYTES: usize = 64 << 20;
/// And for how long.
const DISCARD_DEADLINE: Duration = Duration::from_secs(5);

/// Reads a whole body.
pub async fn read(parts: &Parts, body: Body) -> Result<Vec<u8>, ApiError> {
    read_within(BODY_DEADLINE, parts, body).await
}

async fn read_within(deadline: Duration, parts: &Parts, mut body: Body) -> Result<Vec<u8>, ApiError> {
    if announced_len(&parts.headers).is_some_and(|len| len > MAX_BODY_BYTES as u64) {
        discard(parts, body).await;
        return Err(ApiError::too_large(MAX_BODY_BYTES));
    }
    let bytes =
        timeout(deadline, collect(&mut body, announced_len(&parts.headers))).await.map_err(|_| ApiError::too_slow(deadline.as_secs()))?;
    if bytes.as_ref().is_err_and(|error| error.status() == http::StatusCode::PAYLOAD_TOO_LARGE) {
        discard(parts, body).await;
    }
    bytes
}

/// The bytes of a body, in memory of the announced length: growing step by step would leave a heap several times that size behind.
async fn collect(body: &mut Body, announced: Option<u64>) -> Result<Vec<u8>, ApiError> {
    let len = announced.and_then(|len| usize::try_from(len).ok()).unwrap_or_default();
    let mut bytes = Vec::with_capacity(len.min(MAX_BODY_BYTES));
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| ApiError::malformed(Some("body".to_owned()), "the request body broke off or is badly framed"))?;
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > MAX_BODY_BYTES {
            return Err(ApiError::too_large(MAX_BODY_BYTES));
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
        assert_eq!(read_len(32).await, Ok(MAX_BODY_BYTES));
        let error = read_len(33).await.expect_err("too large");
        assert!(error.status() == 413 && error.message().contains("32 MiB"), "{error}");
    }

    #[tokio::test]
    async fn a_body_that_never_ends_is_given_up() {
        let endless = Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
        let error = read_within(Duration::from_millis(20), &parts(), endless).await.expect_err("too slow");
        assert!(error.status() == 408 && error.message().contains("0 s"), "{error}");
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_is_a_fault_of_the_request() {
        let broken = Body::from_stream(stream::iter([Ok(Bytes::from_static(b"{")), Err(std::io::Error::other("gone"))]));
        assert_eq!(read(&parts(), broken).await.expect_err("it broke off").status(), 400);
    }
}
