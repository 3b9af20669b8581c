//! The stored voices of a command that speaks.

use super::Failure;
use crate::config::Environment;
use crate::engine::Engine;
use crate::http::{ApiSettings, App};
use crate::reference::References;
use crate::voices;

/// The state of a server, or of a command that speaks, with the voices of a place; without one, those of the place that the environment names.
/// A store that cannot be read now may be back later, and one that cannot be written to only refuses uploads: it keeps nobody from speaking.
pub async fn app(place: Option<&str>, engine: Engine, references: References, settings: ApiSettings) -> Result<App, Failure> {
    let environment = Environment::here().map_err(|error| Failure(error.to_string()))?;
    let (usual, rules) = voices::settings(&environment);
    let place = place.unwrap_or(&usual);
    let store = voices::open_store(place).map_err(|error| Failure(format!("the voices at '{place}' cannot be opened: {error}")))?;
    let app = App::with_voices_of(engine, store, rules, references, settings);
    let known = app.voices().clone();
    let looked = move || (known.refresh().map(|()| known.list().len()), known.store().obstacle());
    let (read, obstacle) =
        tokio::task::spawn_blocking(looked).await.map_err(|error| Failure(format!("reading the voices was lost: {error}")))?;
    match read {
        Ok(count) => tracing::info!(place, count, "uploaded voices"),
        Err(error) => tracing::warn!(place, %error, "the voice store cannot be read; it is tried again"),
    }
    if let Some(obstacle) = obstacle {
        tracing::warn!(
            place,
            obstacle,
            "no voice can be uploaded: --voices or SPEAKER_SAMPLES_DIR names a place that cannot be written to"
        );
    }
    Ok(app)
}
