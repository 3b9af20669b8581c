//! Samples as they are made: 32-bit floats.

use std::io;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use futures_util::stream;
use http::{HeaderName, HeaderValue};

use super::whole::accepted;
use crate::engine::SpeechStream;
use crate::http::error::ApiError;
use crate::http::speech::{Accepted, Record, first_audio, headers, next_audio};
use crate::http::state::App;

const CONTENT_TYPE: &str = "application/octet-stream";
/// What the samples are.
const SAMPLE_FORMAT: HeaderName = HeaderName::from_static("x-sample-format");
/// How many channels they have.
const CHANNELS: HeaderName = HeaderName::from_static("x-channels");

/// Speaks a text and answers while it is spoken.
pub async fn create(State(app): State<App>, request: Request) -> Result<Response, ApiError> {
    let accepted = accepted(&app, request).await?;
    check_plain(&accepted)?;
    let mut record = Record::new(&accepted);
    match begin(&app, &accepted, &mut record).await {
        Ok((stream, first)) => Ok(answer(app, stream, first, record)),
        Err(error) => {
            record.failed(error.message());
            Err(error)
        }
    }
}

/// The samples are the model's own: nothing stands between that could change them.
fn check_plain(accepted: &Accepted) -> Result<(), ApiError> {
    if accepted.wanted.speed != 1.0 {
        let message = "this model has no speed of its own: use /synthesize, or remove the speed";
        return Err(ApiError::invalid("speed", message));
    }
    match accepted.wanted.sample_rate_hz {
        Some(_) => Err(ApiError::invalid("sample_rate", "the samples come at the model's own rate: use /synthesize, or remove the rate")),
        None => Ok(()),
    }
}

async fn begin(app: &App, accepted: &Accepted, record: &mut Record) -> Result<(SpeechStream, Vec<f32>), ApiError> {
    let mut closing = app.closing();
    let work = async {
        let mut stream = accepted.speak(app).await?;
        record.warned(&stream.head.warnings);
        let first = first_audio(&mut stream).await?;
        record.made(first.len());
        Ok((stream, first))
    };
    tokio::select! {
        biased;
        begun = work => begun,
        _ = closing.wait_for(|closing| *closing) => Err(ApiError::stopping()),
    }
}

/// The answer. A failure on the way breaks it off, so that no client takes it for complete.
fn answer(app: App, speech: SpeechStream, first: Vec<f32>, record: Record) -> Response {
    let head = speech.head.clone();
    let rest = stream::unfold(Some((app, speech, record)), |state| async {
        let (app, mut speech, mut record) = state?;
        let mut closing = app.closing();
        let audio = tokio::select! {
            biased;
            audio = next_audio(&mut speech) => audio,
            _ = closing.wait_for(|closing| *closing) => Some(Err(ApiError::stopping())),
        };
        match audio {
            Some(Ok(samples)) => {
                record.made(samples.len());
                Some((Ok(bytes(&samples)), Some((app, speech, record))))
            }
            Some(Err(error)) => {
                record.failed(error.message());
                Some((Err(io::Error::other(error)), None))
            }
            None => {
                record.done();
                None
            }
        }
    });
    let first = stream::once(std::future::ready(Ok(bytes(&first))));
    let mut response = Response::new(Body::from_stream(futures_util::StreamExt::chain(first, rest)));
    headers::add_common(&mut response, &head, CONTENT_TYPE);
    headers::add_stream(response.headers_mut());
    response.headers_mut().insert(SAMPLE_FORMAT, HeaderValue::from_static("f32le"));
    response.headers_mut().insert(CHANNELS, HeaderValue::from(head.channels));
    response
}

fn bytes(samples: &[f32]) -> Bytes {
    samples.iter().flat_map(|sample| sample.to_le_bytes()).collect::<Vec<u8>>().into()
}
