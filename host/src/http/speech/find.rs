//! Which voice a name stands for.
//!
//! A model's own voices come first, then those that were prepared for it, the profiles, the uploaded ones, the names that the operator or
//! OpenAI gives to others, and mixtures. All of that is known here. The store of voices is asked last, for a name that nothing else explains
//! and that a voice can have: another host may have stored it a moment ago.

use std::sync::Arc;

use omni_plugin_api::Voice;

use super::cloning;
use super::stored;
use super::voice::Choice;
use crate::engine::Served;
use crate::http::error::{ApiError, shortened};
use crate::http::state::App;
use crate::reference::{self, ReferenceError};
use crate::voices::mix::{self, MixError, Part};
use crate::voices::{Entry, Source, VoiceName, key_of};

/// The name that means "no voice in particular".
pub const DEFAULT: &str = "default";

/// OpenAI's voices. A client that knows only these gets the model's default voice, unless there is a voice of that very name or the operator
/// chose one for it; `GET /v1/audio/voices` shows which stands for which.
pub const OPENAI: [&str; 13] =
    ["alloy", "ash", "ballad", "coral", "echo", "fable", "onyx", "nova", "sage", "shimmer", "verse", "marin", "cedar"];

/// Bytes of the list of voices in an error.
const MAX_LISTED_BYTES: usize = 1500;
/// Bytes of a name in an error.
const MAX_NAME_BYTES: usize = 200;

/// The voice of a name. An empty name is none.
pub async fn choose(app: &App, model: &Served, name: Option<&str>) -> Result<Choice, ApiError> {
    let Some(name) = name.map(str::trim).filter(|name| !name.is_empty()) else { return Ok(Choice::Own(Voice::default())) };
    if let Some(choice) = here(app, model, name).await? {
        return Ok(choice);
    }
    if let Some(meant) = model.aliases.voice(name)
        && let Some(choice) = anywhere(app, model, meant).await?
    {
        return Ok(choice);
    }
    if is_one_of(name, &[DEFAULT]) || is_one_of(name, &OPENAI) {
        return Ok(Choice::Own(Voice::default()));
    }
    mixed_or_stored(app, model, name).await
}

/// A mixture, where its parts are known; else what the store has under that name, since a name may look like a mixture and be none.
async fn mixed_or_stored(app: &App, model: &Served, name: &str) -> Result<Choice, ApiError> {
    let parts = mix::parse(name);
    if let Some(Ok(parts)) = &parts
        && model.model.speaker_embedding_dim.is_some()
        && are_here(app, model, parts).await
    {
        return Ok(Choice::Mixed(parts.clone()));
    }
    if let Some(choice) = elsewhere(app, model, name).await? {
        return Ok(choice);
    }
    match parts {
        Some(parts) => mixture(model, name, parts).map(Choice::Mixed),
        None if model.info.abilities.judges_voices => Ok(Choice::Own(Voice::named(name))),
        None => Err(unknown(app, model, name).await),
    }
}

/// The voice of this very name, as far as this host knows.
async fn here(app: &App, model: &Served, name: &str) -> Result<Option<Choice>, ApiError> {
    if let Some(voice) = model.voice(name) {
        return Ok(Some(Choice::Own(Voice::named(&voice.name))));
    }
    if let Some(prepared) = model.prepared(name) {
        return Ok(Some(Choice::Prepared(Arc::clone(prepared))));
    }
    let found = match profile(app, name).await? {
        Some(vector) => Some(cloning::fitting(model, vector).map(|vector| Choice::Profile(name.to_owned(), vector))),
        None => app.voices().known(name).map(|entry| usable(model, entry).map(Choice::Stored)),
    };
    match found {
        // A name that means something else as well still does, where this model cannot speak with the voice of that name.
        Some(Err(_)) if means_another(model, name) => Ok(None),
        found => found.transpose(),
    }
}

async fn anywhere(app: &App, model: &Served, name: &str) -> Result<Option<Choice>, ApiError> {
    match here(app, model, name).await? {
        Some(choice) => Ok(Some(choice)),
        None => elsewhere(app, model, name).await,
    }
}

/// What the store has under a name. One that no voice can have, or that means something else, is not looked for.
async fn elsewhere(app: &App, model: &Served, name: &str) -> Result<Option<Choice>, ApiError> {
    if means_another(model, name) || VoiceName::read(name).is_err() {
        return Ok(None);
    }
    let entry = stored::look_up(app, name).await?;
    entry.map(|entry| usable(model, entry).map(Choice::Stored)).transpose()
}

async fn are_here(app: &App, model: &Served, parts: &[Part]) -> bool {
    for part in parts {
        // One that is here and cannot be used is told when the mixture is made.
        if matches!(here(app, model, &part.voice).await, Ok(None)) {
            return false;
        }
    }
    true
}

/// Whether a name stands for a voice of another name.
fn means_another(model: &Served, name: &str) -> bool {
    is_one_of(name, &[DEFAULT]) || is_one_of(name, &OPENAI) || model.aliases.voice(name).is_some()
}

/// The vector of a profile, as its file is now.
pub async fn profile(app: &App, name: &str) -> Result<Option<Vec<f32>>, ApiError> {
    app.references().profile(name).await.map_err(|error| unusable(&error))
}

/// What is told of profiles that cannot be used.
pub fn unusable(error: &ReferenceError) -> ApiError {
    if error.is_client() { ApiError::invalid("voice", error.to_string()) } else { reference::refusal(error).into() }
}

/// The parts of a mixture, if the model can speak it.
fn mixture(model: &Served, name: &str, parts: Result<Vec<Part>, MixError>) -> Result<Vec<Part>, ApiError> {
    let shown = shortened(name.to_owned(), MAX_NAME_BYTES);
    let parts = parts.map_err(|error| ApiError::invalid("voice", format!("Invalid voice '{shown}': {error}")))?;
    if model.model.speaker_embedding_dim.is_none() {
        let message = format!("Model '{}' has no speaker vectors: it cannot speak the mixture '{shown}'", model.id);
        return Err(ApiError::invalid("voice", message));
    }
    Ok(parts)
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

/// The voice of the model that one of OpenAI's names gives.
pub fn stands_for(app: &App, model: &Served, profiles: &[String], name: &str) -> Option<String> {
    let meant = || model.aliases.voice(name).and_then(|meant| known(app, model, profiles, meant));
    known(app, model, profiles, name).or_else(meant).or_else(|| model.model.voices.first().map(|voice| voice.name.clone()))
}

/// The listed name of a voice that the model can speak with now.
pub fn known(app: &App, model: &Served, profiles: &[String], name: &str) -> Option<String> {
    let key = key_of(name);
    let is_it = |other: &&str| key_of(other) == key;
    let profile = || profiles.iter().map(String::as_str).find(is_it).filter(|_| model.model.speaker_embedding_dim.is_some());
    let stored = || app.voices().known(name).and_then(|entry| usable(model, entry).ok()).map(|entry| entry.record.name.clone());
    model.own_voices().find(is_it).or_else(profile).map(str::to_owned).or_else(stored)
}

fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|other| other.eq_ignore_ascii_case(name))
}

async fn unknown(app: &App, model: &Served, name: &str) -> ApiError {
    let name = shortened(name.to_owned(), MAX_NAME_BYTES);
    let profiles = match app.references().profile_names().await {
        Ok(profiles) => profiles,
        Err(error) => return unusable(&error),
    };
    let uploaded = app.voices().list();
    let has_vectors = model.model.speaker_embedding_dim.is_some();
    let uploaded = uploaded.iter().filter(|_| model.info.abilities.clones || has_vectors).map(|record| record.key.as_str());
    let profiles = profiles.iter().filter(|_| has_vectors).map(String::as_str);
    let mut names: Vec<&str> = model.own_voices().chain(profiles).chain(uploaded).collect();
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
