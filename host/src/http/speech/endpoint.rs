//! The handler: admission, then the body, then speech.

use axum::extract::{Request, State};
use axum::response::Response;
use http::request::Parts;

use super::body;
use super::form::{Delivery, SpeechForm};
use super::pieces::Pieces;
use super::record::Record;
use super::validate::{Accepted, accept};
use super::{raw, sse, whole};
use crate::http::error::ApiError;
use crate::http::limits;
use crate::http::state::App;

/// Speaks a text.
///
/// Nothing of a body is read while there is no place for the request, and no status is sent before there is audio, so that an error
/// keeps its own.
pub async fn create(State(app): State<App>, request: Request) -> Result<Response, ApiError> {
    let bytes = receive(&app, request).await?;
    let accepted = accept(&app, read(bytes)?).await?;
    let record = Record::new(&accepted);
    speak(&app, accepted, record).await
}

/// The body of a request that there is a place for.
pub async fn receive(app: &App, request: Request) -> Result<Vec<u8>, ApiError> {
    let (parts, content) = request.into_parts();
    if let Err(refusal) = admit(app, &parts) {
        limits::discard(&parts, content).await;
        return Err(refusal);
    }
    limits::read(&parts, content).await
}

fn admit(app: &App, parts: &Parts) -> Result<(), ApiError> {
    app.engine().has_room()?;
    body::check_type(&parts.headers)
}

/// Takes the bytes, so that they are gone while the request is worked on.
fn read(bytes: Vec<u8>) -> Result<SpeechForm, ApiError> {
    SpeechForm::read(body::parse(&bytes)?)
}

async fn speak(app: &App, accepted: Accepted, mut record: Record) -> Result<Response, ApiError> {
    let mut closing = app.closing();
    let begun = tokio::select! {
        biased;
        begun = begin(app, &accepted, &mut record) => begun,
        _ = closing.wait_for(|closing| *closing) => Err(ApiError::stopping()),
    };
    match begun {
        Ok(Begun::Whole(response)) => Ok(response),
        Ok(Begun::Stream(pieces)) if accepted.delivery == Delivery::Raw => Ok(raw::answer(pieces, accepted.wanted.format, record)),
        Ok(Begun::Stream(pieces)) => Ok(sse::answer(pieces, accepted.wanted.format, record)),
        Err(error) => {
            record.failed(error.message());
            Err(error)
        }
    }
}

/// An answer whose status is certain.
enum Begun {
    Whole(Response),
    Stream(Pieces),
}

async fn begin(app: &App, accepted: &Accepted, record: &mut Record) -> Result<Begun, ApiError> {
    if accepted.delivery == Delivery::Whole {
        return Ok(Begun::Whole(whole::answer(app, accepted, record).await?));
    }
    let stream = accepted.speak(app).await?;
    record.warned(&stream.head.warnings);
    Ok(Begun::Stream(Pieces::begin(stream, accepted.wanted, app.closing(), record).await?))
}
