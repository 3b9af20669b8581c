//! Uploaded voices at work: their sound is read and given to the model's encoder the first time, and kept as what the model made of it.

use std::sync::Arc;

use omni_plugin_api::{NamedTensor, TensorValues, Voice};

use super::cloning::{self, Transcript};
use super::find;
use crate::engine::{Served, SpeechError};
use crate::http::error::{ApiError, shortened};
use crate::http::state::App;
use crate::reference::{FeatureKey, Tensors};
use crate::voices::{Entry, Record, SPEAKER_EMBEDDING, Sample, Source, VoiceError, Voices};

/// Stands for the model in the key of what no model made: a stored vector.
const NO_MODEL: &str = "";

/// An uploaded voice by its name, also one that another host has just stored.
pub async fn look_up(app: &App, name: &str) -> Result<Option<Entry>, ApiError> {
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

/// An uploaded voice as the model takes it. Without a transcript it is its speaker's vector alone, where the model makes one: what is said in
/// the clip is not known, so the speech cannot go on from there.
pub async fn voice(app: &App, model: &Arc<Served>, entry: &Entry, told: &Transcript) -> Result<Voice, ApiError> {
    let transcript = |record: &Record| match record.source {
        Source::Audio { .. } => told.of_stored(record.ref_text.as_deref()),
        Source::Embedding { .. } => None,
    };
    let (transcript, tensors) = features(app, model, entry, transcript).await?;
    let mut tensors = tensors.to_vec();
    if transcript.is_none() && tensors.iter().any(|tensor| tensor.name == SPEAKER_EMBEDDING) {
        tensors.retain(|tensor| tensor.name == SPEAKER_EMBEDDING);
    }
    Ok(Voice { name: None, tensors, transcript })
}

/// A voice that is a speaker's vector.
pub fn of_vector(vector: Vec<f32>) -> Result<Voice, ApiError> {
    Ok(Voice { name: None, tensors: vec![NamedTensor::f32(SPEAKER_EMBEDDING, vec![vector.len()], vector)], transcript: None })
}

/// The speaker's vector of a voice that is prepared, a profile, or uploaded.
pub async fn vector(app: &App, model: &Arc<Served>, name: &str) -> Result<Vec<f32>, ApiError> {
    let shown = shortened(name.to_owned(), 200);
    let none = || ApiError::invalid("voice", format!("voice '{shown}' has no speaker vector that model '{}' could mix", model.id));
    if let Some(prepared) = model.prepared(name) {
        return vector_in(&prepared.tensors).ok_or_else(none);
    }
    if let Some(vector) = find::profile(app, name).await? {
        return cloning::fitting(model, vector);
    }
    let entry = look_up(app, name).await?.ok_or_else(|| ApiError::invalid("voice", format!("Invalid voice '{shown}' in a mixture")))?;
    if matches!(entry.record.source, Source::Audio { .. }) && !model.info.abilities.clones {
        return Err(none());
    }
    let (_, tensors) = features(app, model, &entry, |record| record.ref_text.clone()).await?;
    vector_in(&tensors).ok_or_else(none)
}

fn vector_in(tensors: &[NamedTensor]) -> Option<Vec<f32>> {
    match &tensors.iter().find(|tensor| tensor.name == SPEAKER_EMBEDDING)?.values {
        TensorValues::F32(values) => Some(values.clone()),
        TensorValues::I32(_) => None,
    }
}

/// What the model makes of an uploaded voice, and of which transcript: kept from another time, or of the sound that the voice has now. Sound and
/// transcript are of one version, however often it is replaced meanwhile.
async fn features(
    app: &App,
    model: &Arc<Served>,
    entry: &Entry,
    transcript: impl Fn(&Record) -> Option<String>,
) -> Result<(Option<String>, Tensors), ApiError> {
    let key = |record: &Record, content| {
        let model = if record.embedding_dim().is_some() { NO_MODEL.to_owned() } else { model.id.clone() };
        FeatureKey { content, model, transcript: transcript(record) }
    };
    let kept = entry.content().map(|content| key(&entry.record, content)).filter(|key| app.features().has(key));
    let (entry, key, sample) = match kept {
        Some(key) => (entry.clone(), key, None),
        None => {
            let now = read(app.voices().clone(), entry.clone()).await?;
            let (now, sample) = now.ok_or_else(|| gone(&entry.record.name))?;
            let key = key(&now.record, sample.content());
            (now, key, Some(sample))
        }
    };
    let (content, transcript) = (key.content, key.transcript.clone());
    let work = || make(app.voices().clone(), Arc::clone(model), entry.clone(), sample, transcript.clone());
    let tensors = app.features().get_or_encode(key, work).await;
    // Nothing stays behind of a voice that was deleted or replaced meanwhile.
    if app.voices().known(&entry.record.key).as_ref() != Some(&entry) {
        app.references().forget(&content);
    }
    Ok((transcript, tensors?))
}

fn gone(name: &str) -> ApiError {
    ApiError::invalid("voice", format!("Audio file for uploaded voice '{name}' is missing"))
}

/// Has the model encode a voice. One whose features were still there a moment ago is read again.
async fn make(
    voices: Voices,
    model: Arc<Served>,
    entry: Entry,
    sample: Option<Sample>,
    transcript: Option<String>,
) -> Result<Vec<NamedTensor>, SpeechError> {
    let replaced = || SpeechError::Unavailable { message: "the voice was replaced while it was read".to_owned(), retry_after_s: 1 };
    let sample = match sample {
        Some(sample) => sample,
        None => {
            let now = read(voices, entry.clone()).await?.filter(|(now, _)| *now == entry);
            now.map(|(_, sample)| sample).ok_or_else(replaced)?
        }
    };
    match sample {
        Sample::Embedding(vector) => Ok(vec![NamedTensor::f32(SPEAKER_EMBEDDING, vec![vector.len()], vector)]),
        Sample::Audio(clip) => model.encode_reference(clip, transcript).await,
    }
}

async fn read(voices: Voices, entry: Entry) -> Result<Option<(Entry, Sample)>, SpeechError> {
    let read = tokio::task::spawn_blocking(move || voices.sample(&entry)).await;
    let read = read.map_err(|error| SpeechError::failed(format!("reading a voice was lost: {error}")))?;
    read.map_err(unreadable)
}

fn unreadable(error: VoiceError) -> SpeechError {
    match error {
        VoiceError::Store(crate::voices::StoreError::Unavailable(reason)) => SpeechError::Unavailable { message: reason, retry_after_s: 5 },
        error => SpeechError::failed(error.to_string()),
    }
}
