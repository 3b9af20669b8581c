//! What a request speaks with. It is made ready when the request has its place in the model: only then is anything read or encoded.

use std::sync::Arc;

use omni_plugin_api::Voice;

use super::cloning::{Brought, Transcript};
use super::stored;
use crate::engine::Served;
use crate::http::error::ApiError;
use crate::http::state::App;
use crate::reference::{self, Clip};
use crate::voices::Entry;
use crate::voices::mix::{self, MixError, Part};
use crate::voices::precomputed::Precomputed;

/// What a request speaks with.
#[derive(Debug, Clone, PartialEq)]
pub enum Choice {
    /// A voice of the model itself.
    Own(Voice),
    /// A voice that was prepared for the model.
    Prepared(Arc<Precomputed>),
    /// An uploaded voice, as it is now: a request keeps the voice it started with.
    Stored(Entry),
    /// A mixture.
    Mixed(Vec<Part>),
    /// A speaker of the folder of profiles.
    Profile(String, Vec<f32>),
    /// A voice that the request brings.
    Brought(Brought),
}

impl Choice {
    /// What it is called in the log; none for the model's default.
    pub fn name(&self) -> Option<String> {
        match self {
            Self::Own(voice) => voice.name.clone(),
            Self::Prepared(prepared) => Some(prepared.name.clone()),
            Self::Profile(name, _) => Some(name.clone()),
            Self::Brought(_) => Some("(brought along)".to_owned()),
            Self::Stored(entry) => Some(entry.record.name.clone()),
            Self::Mixed(parts) => Some(parts.iter().map(|part| format!("{}({})", part.voice, part.weight)).collect::<Vec<_>>().join("+")),
        }
    }

    /// The clip that a request brings, fetched and decoded; none for every other voice.
    pub async fn fetched(&self, app: &App) -> Result<Option<Arc<Clip>>, ApiError> {
        match self {
            Self::Brought(Brought::Clip(locator)) => {
                app.references().clip(locator).await.map(Some).map_err(|error| reference::refusal(&error).into())
            }
            _ => Ok(None),
        }
    }

    /// The voice with all that the model needs of it. A transcript that the request gives wins over that of the voice; `clip` is what
    /// [`Choice::fetched`] gave.
    pub async fn ready(&self, app: &App, model: &Arc<Served>, told: &Transcript, clip: Option<Arc<Clip>>) -> Result<Voice, ApiError> {
        let ref_text = told.text.as_deref();
        if let Some(clip) = clip {
            let tensors = app.references().tensors(model, &clip, ref_text).await?;
            return Ok(Voice { name: None, tensors: tensors.to_vec(), transcript: ref_text.map(str::to_owned) });
        }
        match self {
            Self::Profile(_, vector) | Self::Brought(Brought::Vector(vector)) => stored::of_vector(vector.clone()),
            Self::Brought(Brought::Clip(_)) => Err(ApiError::failed("the clip of the voice was not fetched")),
            Self::Own(voice) => Ok(voice.clone()),
            Self::Prepared(prepared) => of_prepared(prepared, ref_text),
            Self::Stored(entry) => stored::voice(app, model, entry, told).await,
            Self::Mixed(parts) => stored::of_vector(mix_vectors(app, model, parts).await?),
        }
    }
}

/// The vector of a mixture, by the first model that has speaker vectors.
pub async fn mixed(app: &App, text: &str) -> Result<Vec<f32>, ApiError> {
    let of_mix = |error: MixError| ApiError::invalid("mix", error.to_string());
    let parts = mix::parse(text).unwrap_or_else(|| Ok(vec![Part { voice: text.trim().to_owned(), weight: 1.0 }])).map_err(of_mix)?;
    let served = app.engine().served();
    match served.iter().find(|model| model.model.speaker_embedding_dim.is_some()) {
        Some(model) => mix_vectors(app, model, &parts).await,
        None => Err(ApiError::invalid("mix", "no loaded model has speaker vectors: there is nothing to mix")),
    }
}

async fn mix_vectors(app: &App, model: &Arc<Served>, parts: &[Part]) -> Result<Vec<f32>, ApiError> {
    let mut vectors = Vec::with_capacity(parts.len());
    for part in parts {
        vectors.push(stored::vector(app, model, &part.voice).await?);
    }
    mix::mix(parts, &vectors).map_err(|error| ApiError::invalid("voice", error.to_string()))
}

fn of_prepared(prepared: &Precomputed, ref_text: Option<&str>) -> Result<Voice, ApiError> {
    let transcript = ref_text.map(str::to_owned).or_else(|| prepared.transcript.clone());
    if prepared.mode.needs_transcript() && transcript.is_none() {
        let name = &prepared.name;
        let message = format!("Precomputed voice '{name}' uses ICL mode but has no ref_text in the request or custom voice manifest");
        return Err(ApiError::invalid("ref_text", message));
    }
    Ok(Voice { name: None, tensors: prepared.tensors.clone(), transcript })
}
