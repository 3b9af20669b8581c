//! `stream_format: "audio"`: the bytes of the audio as they are made.

use std::io;

use axum::body::Body;
use axum::response::Response;
use futures_util::stream;

use super::headers;
use super::pieces::Pieces;
use super::record::Record;
use crate::audio::Format;

/// The answer. A failure on the way breaks it off, so that no client takes it for complete.
pub fn answer(pieces: Pieces, format: Format, record: Record) -> Response {
    let head = pieces.head().clone();
    let body = stream::unfold(Some((pieces, record)), |state| async {
        let (mut pieces, mut record) = state?;
        match pieces.next(&mut record).await? {
            Ok(piece) => Some((Ok(piece), Some((pieces, record)))),
            Err(error) => Some((Err(io::Error::other(error)), None)),
        }
    });
    let mut response = Response::new(Body::from_stream(body));
    headers::add_common(&mut response, &head, format.content_type());
    headers::add_stream(response.headers_mut());
    response
}
