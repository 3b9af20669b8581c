//! `DELETE /v1/audio/voices/{name}`

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use serde_json::{Value, json};

use crate::http::error::{ApiError, shortened};
use crate::http::state::App;
use crate::voices::VoiceError;

/// Deletes an uploaded voice. Requests that speak with it go on.
pub async fn remove(State(app): State<App>, name: Result<Path<String>, PathRejection>) -> Result<Json<Value>, ApiError> {
    // A path that is no text is the name of nothing.
    let Path(name) = name.map_err(|_| ApiError::unknown_voice("?"))?;
    let wanted = name.clone();
    let was_there = app.with_voices(move |voices| voices.remove(&wanted)).await?;
    match was_there {
        Ok(true) => {
            tracing::info!(voice = name, "a voice was deleted");
            let message = format!("Voice '{}' deleted successfully", shortened(name.clone(), 1000));
            Ok(Json(json!({"success": true, "message": message, "id": name, "object": "audio.voice.deleted", "deleted": true})))
        }
        Ok(false) => Err(ApiError::unknown_voice(&name)),
        Err(VoiceError::Store(error)) => Err(ApiError::store_failed("Failed to delete voice", &error)),
        Err(error) => Err(ApiError::internal(format!("Failed to delete voice: {error}"))),
    }
}
