//! Which voice a name stands for.
//!
//! A model's own voices come first, then those that were prepared for it, then the uploaded ones, then the names that mean no voice in
//! particular. What is found is made ready when the request has its place in the model: only then is anything read or encoded.

use std::sync::Arc;

use omni_plugin_api::Voice;

use super::cloning::{self, Brought};
use super::stored;
use crate::engine::Served;
use crate::http::error::{ApiError, shortened};
use crate::http::state::App;
use crate::reference::{self, Clip, ReferenceError};
use crate::voices::mix::{self, MixError, Part};
use crate::voices::precomputed::Precomputed;
use crate::voices::{Entry, Source, key_of};

/// The name that means "no voice in particular".
pub const DEFAULT: &str = "default";

/// OpenAI's voices. A client that knows only these gets the model's default voice, unless there is a voice of that very name or the operator
/// chose one for it; `GET /v1/audio/voices` shows which stands for which.
pub const OPENAI: [&str; 13] =
    ["alloy", "ash", "ballad", "coral", "echo", "fable", "onyx", "nova", "sage", "shimmer", "verse", "marin", "cedar"];

/// Bytes of the list of voices in an error.
const MAX_LISTED_BYTES: usize = 1500;

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

/// The voice of a name. An empty name is none.
pub async fn choose(app: &App, model: &Served, name: Option<&str>) -> Result<Choice, ApiError> {
    let Some(name) = name.map(str::trim).filter(|name| !name.is_empty()) else { return Ok(Choice::Own(Voice::default())) };
    if let Some(choice) = find(app, model, name).await? {
        return Ok(choice);
    }
    if let Some(meant) = model.aliases.voice(name)
        && let Some(choice) = find(app, model, meant).await?
    {
        return Ok(choice);
    }
    if is_one_of(name, &[DEFAULT]) || is_one_of(name, &OPENAI) {
        return Ok(Choice::Own(Voice::default()));
    }
    match mixture(model, name)? {
        Some(parts) => Ok(Choice::Mixed(parts)),
        None if model.info.abilities.judges_voices => Ok(Choice::Own(Voice::named(name))),
        None => Err(unknown(app, model, name)),
    }
}

/// The voice of this very name.
async fn find(app: &App, model: &Served, name: &str) -> Result<Option<Choice>, ApiError> {
    if let Some(voice) = model.voice(name) {
        return Ok(Some(Choice::Own(Voice::named(&voice.name))));
    }
    if let Some(prepared) = model.prepared(name) {
        return Ok(Some(Choice::Prepared(Arc::clone(prepared))));
    }
    let is_usual = is_one_of(name, &[DEFAULT]) || is_one_of(name, &OPENAI) || model.aliases.voice(name).is_some();
    // A name that means another voice is asked for all the time: it is not looked for in the store.
    let stored = if is_usual { app.voices().known(name) } else { stored::find(app, name).await? };
    match stored.map(|entry| usable(model, entry)) {
        Some(Ok(entry)) => Ok(Some(Choice::Stored(entry))),
        Some(Err(_)) if is_usual => Ok(None),
        Some(Err(error)) => Err(error),
        None => match app.references().profile(name).await.map_err(|error| unusable(&error))? {
            Some(vector) => Ok(Some(Choice::Profile(name.to_owned(), cloning::fitting(model, vector)?))),
            None => Ok(None),
        },
    }
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

    /// The voice with all that the model needs of it. `ref_text` is the transcript that the request gives, which wins over that of the
    /// voice; `clip` is what [`Choice::fetched`] gave.
    pub async fn ready(&self, app: &App, model: &Arc<Served>, ref_text: Option<&str>, clip: Option<Arc<Clip>>) -> Result<Voice, ApiError> {
        if let Some(clip) = clip {
            let tensors = app.references().tensors(model, &clip, ref_text).await?;
            return Ok(Voice { name: None, tensors: tensors.to_vec(), transcript: ref_text.map(str::to_owned) });
        }
        match self {
            Self::Profile(_, vector) | Self::Brought(Brought::Vector(vector)) => stored::of_vector(vector.clone()),
            Self::Brought(Brought::Clip(_)) => Err(ApiError::failed("the clip of the voice was not fetched")),
            Self::Own(voice) => Ok(voice.clone()),
            Self::Prepared(prepared) => of_prepared(prepared, ref_text),
            Self::Stored(entry) => stored::voice(app, model, entry, ref_text).await,
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

/// The parts of a mixture, if the name is one and the model can speak it.
fn mixture(model: &Served, name: &str) -> Result<Option<Vec<Part>>, ApiError> {
    let Some(parts) = mix::parse(name) else { return Ok(None) };
    let parts =
        parts.map_err(|error| ApiError::invalid("voice", format!("Invalid voice '{}': {error}", shortened(name.to_owned(), 200))))?;
    if model.model.speaker_embedding_dim.is_none() {
        let message =
            format!("Model '{}' has no speaker vectors: it cannot speak the mixture '{}'", model.id, shortened(name.to_owned(), 200));
        return Err(ApiError::invalid("voice", message));
    }
    Ok(Some(parts))
}

/// An uploaded voice, if the model can speak with it.
fn usable(model: &Served, entry: Entry) -> Result<Entry, ApiError> {
    let name = &entry.record.name;
    let (can, why_not) = match entry.record.source {
        Source::Audio { .. } => (
            model.info.abilities.clones,
            format!("Model '{}' cannot clone a voice, and '{name}' is an uploaded one; choose a built-in voice with 'voice'", model.id),
        ),
        Source::Embedding { dim } => {
            let expected = model.model.speaker_embedding_dim;
            let takes = expected.map_or("none".to_owned(), |dim| format!("{dim} numbers"));
            let fits = expected.is_some_and(|expected| expected as usize == dim);
            (
                fits,
                format!(
                    "Uploaded voice '{name}' uses a speaker embedding of {dim} numbers, and model '{}' takes {takes}. Re-upload with an audio file \
                 for this model.",
                    model.id
                ),
            )
        }
    };
    if can { Ok(entry) } else { Err(ApiError::invalid("voice", why_not)) }
}

/// What is told of a profile that cannot be used.
fn unusable(error: &ReferenceError) -> ApiError {
    if error.is_client() { ApiError::invalid("voice", error.to_string()) } else { reference::refusal(error).into() }
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

/// The voice of the model that one of OpenAI's names gives.
pub fn stands_for(app: &App, model: &Served, name: &str) -> Option<String> {
    let meant = || model.aliases.voice(name).and_then(|meant| known(app, model, meant));
    known(app, model, name).or_else(meant).or_else(|| model.model.voices.first().map(|voice| voice.name.clone()))
}

/// The listed name of a voice that the model can speak with now.
pub fn known(app: &App, model: &Served, name: &str) -> Option<String> {
    let stored = || app.voices().known(name).and_then(|entry| usable(model, entry).ok()).map(|entry| entry.record.name.clone());
    let key = key_of(name);
    model.own_voices().find(|own| key_of(own) == key).map(str::to_owned).or_else(stored)
}

fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|other| other.eq_ignore_ascii_case(name))
}

fn unknown(app: &App, model: &Served, name: &str) -> ApiError {
    let name = shortened(name.to_owned(), 200);
    let uploaded = app.voices().list();
    let uploaded = uploaded.iter().filter(|_| model.info.abilities.clones || model.model.speaker_embedding_dim.is_some());
    let mut names: Vec<&str> = model.own_voices().chain(uploaded.map(|record| record.key.as_str())).collect();
    if names.is_empty() && model.info.abilities.clones {
        let message = format!(
            "Unknown voice '{name}'. {} has no built-in speakers. Upload a voice first via POST /v1/audio/voices, or use ref_audio + ref_text.",
            model.info.called()
        );
        return ApiError::invalid("voice", message);
    }
    names.push(DEFAULT);
    names.sort_unstable();
    names.dedup();
    let listed = shortened(names.join(", "), MAX_LISTED_BYTES);
    ApiError::invalid("voice", format!("Invalid voice '{name}'. Supported: {listed}"))
}
