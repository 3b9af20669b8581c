//! Whole answers, and the list of speakers.

use std::collections::BTreeSet;
use std::time::Instant;

use axum::Json;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use http::{HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::body::renamed;
use crate::http::error::ApiError;
use crate::http::speech::{self, Accepted, Clip, Record, SpeechForm, accept, headers, spoken};
use crate::http::state::App;

/// Seconds of audio in the answer.
const AUDIO_DURATION: HeaderName = HeaderName::from_static("x-audio-duration");
/// Seconds that it took.
const LATENCY: HeaderName = HeaderName::from_static("x-latency");

/// Speaks a text and answers with all of it.
pub async fn create(State(app): State<App>, request: Request) -> Result<Response, ApiError> {
    let begun = Instant::now();
    let accepted = accepted(&app, request).await?;
    let mut record = Record::new(&accepted);
    let mut closing = app.closing();
    let spoken = tokio::select! {
        biased;
        spoken = spoken(&app, &accepted, &mut record) => spoken,
        _ = closing.wait_for(|closing| *closing) => Err(ApiError::stopping()),
    };
    let clip = spoken.inspect_err(|error| record.failed(error.message()))?;
    let seconds = seconds(&accepted, &clip);
    let mut response = Response::new(Body::from(clip.bytes));
    headers::add_common(&mut response, &clip.head, accepted.wanted.format.content_type());
    headers::add_usage(response.headers_mut(), clip.head.usage, clip.finish);
    for (name, value) in [(AUDIO_DURATION, seconds), (LATENCY, begun.elapsed().as_secs_f64())] {
        if let Ok(value) = HeaderValue::from_str(&format!("{value:.3}")) {
            response.headers_mut().insert(name, value);
        }
    }
    Ok(response)
}

/// Reads a request and checks it against its model.
pub(super) async fn accepted(app: &App, request: Request) -> Result<Accepted, ApiError> {
    let bytes = speech::receive(app, request).await?;
    accept(app, SpeechForm::read(renamed(speech::parse(&bytes)?))?).await
}

/// The length of a clip: the model's samples, stretched where its speed was changed afterwards.
fn seconds(accepted: &Accepted, clip: &Clip) -> f64 {
    let channels = usize::from(clip.head.channels.max(1));
    let rate_hz = accepted.served.model.sample_rate_hz.max(1);
    (clip.samples / channels) as f64 / f64::from(rate_hz) / accepted.wanted.speed
}

/// `GET /speakers`: every name that `speaker` takes, and those among them that are files of the folder of profiles.
pub async fn speakers(State(app): State<App>) -> Result<Json<Value>, ApiError> {
    // An error where no model can speak yet: an empty list would be taken for the truth.
    app.engine().find(None)?;
    let profiles = app.references().profile_names().await.map_err(|error| ApiError::from(crate::reference::refusal(&error)))?;
    let mut all: BTreeSet<String> = profiles.iter().cloned().collect();
    for model in app.engine().served() {
        all.extend(model.own_voices().map(str::to_lowercase));
    }
    all.extend(app.voices().list().iter().map(|record| record.key.clone()));
    Ok(Json(json!({"count": all.len(), "speakers": all, "custom": profiles})))
}
