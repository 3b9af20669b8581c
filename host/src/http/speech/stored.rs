//! Uploaded voices at work: their sound is read and given to the model's encoder the first time, and kept as what the model made of it.

use std::sync::Arc;

use omni_plugin_api::{NamedTensor, TensorValues, Voice};

use crate::engine::{Served, SpeechError};
use crate::http::error::{ApiError, shortened};
use crate::http::state::App;
use crate::reference::{FeatureKey, Tensors};
use crate::voices::{Entry, SPEAKER_EMBEDDING, Sample, Source, VoiceError, Voices};

/// How often a voice is looked for again that is replaced while it is read.
const TRIES: usize = 4;
/// Stands for the model in the key of what no model made: a stored vector.
const NO_MODEL: &str = "";

/// An uploaded voice by its name, also one that another host has just stored.
pub async fn find(app: &App, name: &str) -> Result<Option<Entry>, ApiError> {
    if let Some(entry) = app.voices().known(name) {
        return Ok(Some(entry));
    }
    let wanted = name.to_owned();
    match app.with_voices(move |voices| voices.find(&wanted)).await? {
        Ok(entry) => Ok(entry),
        Err(VoiceError::Store(error)) => {
            // A store that is away must not take the model's other voices with it: the name is as good as unknown.
            tracing::warn!(%error, voice = shortened(name.to_owned(), 200), "a voice cannot be looked for");
            Err(ApiError::store_failed("the voice cannot be looked for", &error))
        }
        Err(error) => Err(ApiError::internal(error.to_string())),
    }
}

/// An uploaded voice as the model takes it.
pub async fn voice(app: &App, model: &Arc<Served>, entry: &Entry, ref_text: Option<&str>) -> Result<Voice, ApiError> {
    let transcript = match entry.record.source {
        Source::Audio { .. } => ref_text.map(str::to_owned).or_else(|| entry.record.ref_text.clone()),
        Source::Embedding { .. } => None,
    };
    let tensors = features(app, model, entry, transcript.clone()).await?;
    Ok(Voice { name: None, tensors: tensors.to_vec(), transcript })
}

/// A voice that is a speaker's vector.
pub fn of_vector(vector: Vec<f32>) -> Result<Voice, ApiError> {
    Ok(Voice { name: None, tensors: vec![NamedTensor::f32(SPEAKER_EMBEDDING, vec![vector.len()], vector)], transcript: None })
}

/// The speaker's vector of a prepared or uploaded voice.
pub async fn vector(app: &App, model: &Arc<Served>, name: &str) -> Result<Vec<f32>, ApiError> {
    let shown = shortened(name.to_owned(), 200);
    let none = || ApiError::invalid("voice", format!("voice '{shown}' has no speaker vector that model '{}' could mix", model.id));
    if let Some(prepared) = model.prepared(name) {
        return vector_in(&prepared.tensors).ok_or_else(none);
    }
    let entry = find(app, name).await?.ok_or_else(|| ApiError::invalid("voice", format!("Invalid voice '{shown}' in a mixture")))?;
    if matches!(entry.record.source, Source::Audio { .. }) && !model.info.abilities.clones {
        return Err(none());
    }
    let transcript = entry.record.ref_text.clone();
    vector_in(&features(app, model, &entry, transcript).await?).ok_or_else(none)
}

fn vector_in(tensors: &[NamedTensor]) -> Option<Vec<f32>> {
    match &tensors.iter().find(|tensor| tensor.name == SPEAKER_EMBEDDING)?.values {
        TensorValues::F32(values) => Some(values.clone()),
        TensorValues::I32(_) => None,
    }
}

/// What the model makes of an uploaded voice.
async fn features(app: &App, model: &Arc<Served>, entry: &Entry, transcript: Option<String>) -> Result<Tensors, ApiError> {
    let owner = match entry.record.source {
        Source::Audio { .. } => model.id.clone(),
        Source::Embedding { .. } => NO_MODEL.to_owned(),
    };
    let mut entry = entry.clone();
    for _ in 1..TRIES {
        let outcome = try_features(app, model, &owner, &entry, transcript.clone()).await;
        // What goes wrong with a voice that is another by now says nothing of the one that took its place.
        match app.voices().known(&entry.record.key) {
            Some(now) if outcome.is_err() && now != entry => entry = now,
            None if outcome.is_err() => return Err(gone(&entry.record.name)),
            _ => return outcome,
        }
    }
    try_features(app, model, &owner, &entry, transcript).await
}

fn gone(name: &str) -> ApiError {
    ApiError::invalid("voice", format!("Audio file for uploaded voice '{name}' is missing"))
}

async fn try_features(app: &App, model: &Arc<Served>, owner: &str, entry: &Entry, transcript: Option<String>) -> Result<Tensors, ApiError> {
    let key = FeatureKey { content: entry.identity(), model: owner.to_owned(), transcript: transcript.clone() };
    let work = || make(app.voices().clone(), Arc::clone(model), entry.clone(), transcript);
    Ok(app.features().get_or_encode(key, work).await?)
}

/// Reads a voice and has the model encode it.
async fn make(voices: Voices, model: Arc<Served>, entry: Entry, transcript: Option<String>) -> Result<Vec<NamedTensor>, SpeechError> {
    let read = tokio::task::spawn_blocking(move || voices.sample(&entry)).await;
    let read = read.map_err(|error| SpeechError::failed(format!("reading a voice was lost: {error}")))?;
    match read.map_err(unreadable)? {
        None => Err(SpeechError::Unavailable { message: "the voice was replaced while it was read".to_owned(), retry_after_s: 1 }),
        Some(Sample::Embedding(vector)) => Ok(vec![NamedTensor::f32(SPEAKER_EMBEDDING, vec![vector.len()], vector)]),
        Some(Sample::Audio(clip)) => model.encode_reference(clip, transcript).await,
    }
}

fn unreadable(error: VoiceError) -> SpeechError {
    match error {
        VoiceError::Store(crate::voices::StoreError::Unavailable(reason)) => SpeechError::Unavailable { message: reason, retry_after_s: 5 },
        error => SpeechError::failed(error.to_string()),
    }
}
