//! `POST /v1/audio/voices`
//!
//! An upload is checked and decoded before anything that is there is touched, and then takes the place of an earlier one in one step.

use axum::Json;
use axum::extract::{Request, State};
use serde_json::{Map, Value, json};

use super::embedding;
use super::form::{UploadForm, UploadedFile};

use crate::http::error::{ApiError, shortened};
use crate::http::speech::{find, voice};
use crate::http::state::App;
use crate::http::{limits, python};
use crate::reference::{self, DecodeLimits, ReferenceError};
use crate::voices::{NewVoice, Record, Sample, VoiceError, VoiceName, Voices, look_alike, mime};

/// Largest file.
const MAX_FILE_BYTES: usize = 10 << 20;
/// Longest texts in characters: they are part of the file's header.
const MAX_REF_TEXT: usize = 20_000;
const MAX_TEXT: usize = 4000;

/// Stores a voice.
pub async fn create(State(app): State<App>, request: Request) -> Result<Json<Value>, ApiError> {
    let (head, body) = request.into_parts();
    let share = app.upload_room().enter(&head).await?;
    let form = UploadForm::read(&head, limits::read(&head, body).await?).await?;
    let profiles = app.references().profile_names().await.map_err(|error| find::unusable(&error))?;
    let upload = Upload::check(form, &app, &profiles)?;
    let upload = match upload.payload {
        Payload::Mix(ref mix) => Upload { payload: Payload::Vector(voice::mixed(&app, mix).await?), ..upload },
        Payload::Clip(_) | Payload::Vector(_) => upload,
    };
    let record = app.with_voices(move |voices| store(voices, upload)).await??;
    drop(share);
    tracing::info!(voice = record.name, consent = record.consent, source = record.embedding_source(), "a voice was stored");
    Ok(Json(answer(&record)))
}

/// What a voice is to be made from.
enum Payload {
    Clip(UploadedFile),
    Vector(Vec<f32>),
    Mix(String),
}

/// An upload whose parts are right as far as can be told without decoding its clip.
pub struct Upload {
    name: VoiceName,
    consent: String,
    mime_type: &'static str,
    ref_text: Option<String>,
    speaker_description: Option<String>,
    payload: Payload,
}

impl Upload {
    /// Checks a form. The first failure wins, in the order of the reference.
    pub fn check(form: UploadForm, app: &App, profiles: &[String]) -> Result<Self, ApiError> {
        let (raw_name, consent) = (form.name.unwrap_or_default(), form.consent.unwrap_or_default());
        let payload = only_payload(form.audio_sample, form.speaker_embedding, form.mix)?;
        let name = VoiceName::read(&raw_name).map_err(|error| wrong_name(&raw_name, error.to_string()))?;
        let (payload, mime_type) = match payload {
            Raw::Clip(file) => {
                let kind = check_file(&file)?;
                (Payload::Clip(file), kind)
            }
            Raw::Vector(text) => {
                let vector = embedding::parse(&text)?;
                embedding::check_length(&vector, &app.engine().served())?;
                (Payload::Vector(vector), "")
            }
            Raw::Mix(text) => (Payload::Mix(text), ""),
        };
        check_reserved(&name, app, profiles)?;
        app.voices().check(name.shown()).map_err(|error| refused(&error))?;
        let is_clip = matches!(payload, Payload::Clip(_));
        Ok(Self {
            name,
            consent: bounded("consent", consent, MAX_TEXT)?,
            mime_type,
            ref_text: text_of_clip("ref_text", form.ref_text, is_clip, MAX_REF_TEXT)?,
            speaker_description: text_of_clip("speaker_description", form.speaker_description, is_clip, MAX_TEXT)?,
            payload,
        })
    }
}

/// A payload as it came.
enum Raw {
    Clip(UploadedFile),
    Vector(String),
    Mix(String),
}

fn only_payload(clip: Option<UploadedFile>, vector: Option<String>, mix: Option<String>) -> Result<Raw, ApiError> {
    match (clip, vector, mix) {
        (Some(_), Some(_), _) => Err(ApiError::invalid("audio_sample", "'audio_sample' and 'speaker_embedding' are mutually exclusive")),
        (Some(_), None, Some(_)) | (None, Some(_), Some(_)) => {
            Err(ApiError::invalid("mix", "'mix' excludes 'audio_sample' and 'speaker_embedding'"))
        }
        (Some(clip), None, None) => Ok(Raw::Clip(clip)),
        (None, Some(vector), None) => Ok(Raw::Vector(vector)),
        (None, None, Some(mix)) => Ok(Raw::Mix(mix)),
        (None, None, None) => Err(ApiError::invalid("audio_sample", "Either 'audio_sample' or 'speaker_embedding' must be provided")),
    }
}

fn wrong_name(raw: &str, reason: String) -> ApiError {
    let shown = python::quoted(&shortened(raw.to_owned(), 200));
    ApiError::invalid("name", format!("Invalid voice name {shown}: {reason}"))
}

fn check_file(file: &UploadedFile) -> Result<&'static str, ApiError> {
    let bytes = file.bytes.len();
    if bytes > MAX_FILE_BYTES {
        return Err(ApiError::invalid("audio_sample", format!("File size exceeds maximum limit of 10MB. Got {bytes} bytes.")));
    }
    mime::kind(file.kind.as_deref(), &file.name, &file.bytes).ok_or_else(|| {
        let (found, allowed) = (shortened(file.kind.clone().unwrap_or_default(), 100), mime::ALLOWED.join(", "));
        ApiError::invalid("audio_sample", format!("Unsupported MIME type: {found}. Allowed: {allowed}"))
    })
}

/// Refuses the name of a voice that is the model's or the operator's, and one that reads like it.
fn check_reserved(name: &VoiceName, app: &App, profiles: &[String]) -> Result<(), ApiError> {
    let served = app.engine().served();
    let is_it = |other: &str| look_alike(other, name.shown());
    if !served.iter().any(|model| model.own_voices().any(is_it)) && !profiles.iter().any(|profile| is_it(profile)) {
        return Ok(());
    }
    let message = format!("Voice name '{}' is reserved by a built-in speaker of this model; choose a different name.", name.shown());
    Err(ApiError::invalid("name", message))
}

/// A text that goes with a clip, trimmed; blank is absent.
fn text_of_clip(field: &str, text: Option<String>, is_clip: bool, max: usize) -> Result<Option<String>, ApiError> {
    let text = text.map(|text| text.trim().to_owned()).filter(|text| is_clip && !text.is_empty());
    text.map(|text| bounded(field, text, max)).transpose()
}

fn bounded(field: &str, text: String, max: usize) -> Result<String, ApiError> {
    let found = text.chars().count();
    if found <= max {
        return Ok(text);
    }
    Err(ApiError::invalid(field, format!("'{field}' is too long (max {max} characters, found {found})")))
}

/// Decodes and stores. It blocks.
fn store(voices: &Voices, upload: Upload) -> Result<std::sync::Arc<Record>, ApiError> {
    let Upload { name, consent, mime_type, ref_text, speaker_description, payload } = upload;
    let new = match payload {
        Payload::Vector(vector) => NewVoice::of_vector(name, consent, vector),
        // A mixture has become a vector by now.
        Payload::Mix(_) => return Err(ApiError::internal("a mixture was not made")),
        Payload::Clip(file) => {
            let (file_size, original_filename) = (file.bytes.len() as u64, file.name);
            let clip = reference::decode(file.bytes, &DecodeLimits::default()).map_err(|error| undecodable(&error))?;
            NewVoice {
                name,
                consent,
                mime_type: mime_type.to_owned(),
                original_filename,
                file_size: Some(file_size),
                ref_text,
                speaker_description,
                sample: Sample::Audio(clip),
            }
        }
    };
    voices.register(&new).map_err(|error| refused(&error))
}

fn undecodable(error: &ReferenceError) -> ApiError {
    match error {
        ReferenceError::Unsupported(_) | ReferenceError::Corrupted(_) => {
            ApiError::invalid("audio_sample", format!("Could not decode audio file: {error}"))
        }
        error if error.is_client() => ApiError::invalid("audio_sample", error.to_string()),
        ReferenceError::Busy => crate::engine::SpeechError::Overloaded { retry_after_s: 1 }.into(),
        error => ApiError::internal(format!("Failed to upload voice: {error}")),
    }
}

/// Why a voice is not stored, in the words of the reference.
fn refused(error: &VoiceError) -> ApiError {
    match error {
        VoiceError::Exists(name) => {
            let message = format!(
                "Voice '{name}' already exists and VLLM_OMNI_SPEAKER_REGISTRATION_POLICY is 'immutable'; delete it first via DELETE \
                 /v1/audio/voices/{}.",
                name.to_lowercase()
            );
            ApiError::invalid("name", message)
        }
        VoiceError::Full(cap) => {
            let message = format!(
                "Uploaded voice limit reached ({cap}). Delete an existing voice before registering a new one, or raise the cap via \
                 SPEAKER_MAX_UPLOADED."
            );
            ApiError::invalid("name", message)
        }
        VoiceError::Store(error) => ApiError::store_failed("Failed to save voice file", error),
        error => ApiError::internal(format!("Failed to upload voice: {error}")),
    }
}

/// Both sets of members: the reference's below `voice`, and OpenAI's.
fn answer(record: &Record) -> Value {
    let mut voice = Map::new();
    for (member, value) in [("name", json!(record.name)), ("consent", json!(record.consent)), ("created_at", json!(record.created_at))] {
        voice.insert(member.to_owned(), value);
    }
    let more = match record.embedding_dim() {
        Some(dim) => vec![("embedding_source", Some(json!("direct"))), ("embedding_dim", Some(json!(dim)))],
        None => vec![
            ("mime_type", Some(json!(record.mime_type))),
            ("file_size", Some(json!(record.file_size))),
            ("ref_text", record.ref_text.as_ref().map(|text| json!(text))),
            ("speaker_description", record.speaker_description.as_ref().map(|text| json!(text))),
        ],
    };
    voice.extend(more.into_iter().filter_map(|(member, value)| Some((member.to_owned(), value?))));
    json!({
        "id": record.name,
        "object": "audio.voice",
        "name": record.name,
        "created_at": record.created_at,
        "type": "audio_sample",
        "success": true,
        "voice": voice,
    })
}
