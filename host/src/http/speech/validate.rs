//! A request against the model that is to speak it. The first failure wins, in the order of the reference.

use std::sync::Arc;

use omni_plugin_api::{SpeechRequest, Voice};
use serde_json::{Map, Value};

use super::form::{Delivery, SpeechForm};
use super::{text, voice};
use crate::audio::Format;
use crate::engine::{Engine, Served};
use crate::http::error::ApiError;
use crate::http::validation::{Fault, Faults};
use crate::schema::RequestSchema;

/// Fields that carry a reference voice.
const REFERENCES: [&str; 3] = ["ref_audio", "speaker_embedding", "ref_audio_2"];

/// A request that its model takes.
pub struct Accepted {
    /// The model.
    pub served: Arc<Served>,
    /// What it is asked.
    pub request: SpeechRequest,
    /// The voice it speaks with.
    pub voice: Voice,
    /// The format of the audio.
    pub format: Format,
    /// How the audio is delivered.
    pub delivery: Delivery,
}

/// Finds the model of a request and checks the request against it.
pub fn accept(engine: &Engine, form: SpeechForm) -> Result<Accepted, ApiError> {
    check_rate(&form)?;
    let served = engine.find(form.model.as_deref())?;
    accept_by(served, form)
}

/// Checks a request against the model that was found for it.
pub fn accept_by(served: Arc<Served>, form: SpeechForm) -> Result<Accepted, ApiError> {
    check_rate(&form)?;
    check_timestamps(&form)?;
    check_speed(&served, form.speed)?;
    check_reference(&served, &form.fields)?;
    let input = text::prepare(&form.input, served.info.text, form.text_cleanup)?;
    let voice = voice::resolve(&served, form.voice.as_deref())?;
    let fields = family_fields(&served.schema, form.fields)?;
    let request = SpeechRequest { input, seed: seed(form.seed), speed: form.speed as f32, fields };
    Ok(Accepted { served, request, voice, format: form.format, delivery: form.delivery })
}

fn check_rate(form: &SpeechForm) -> Result<(), ApiError> {
    match form.sample_rate {
        None => Ok(()),
        Some(_) => Err(ApiError::invalid("sample_rate", "sample_rate is not supported by the current TTS model")),
    }
}

fn check_timestamps(form: &SpeechForm) -> Result<(), ApiError> {
    if !form.word_timestamps {
        return Ok(());
    }
    let message = match form.delivery {
        Delivery::Whole => "word_timestamps=true requires the server to be launched with --forced-aligner.",
        Delivery::Raw | Delivery::Events => {
            "word_timestamps=true is currently supported by the WebSocket /v1/audio/speech/stream path. Use session.config with \
             stream_audio=true and response_format='pcm'."
        }
    };
    Err(ApiError::invalid("word_timestamps", message))
}

fn check_speed(model: &Served, speed: f64) -> Result<(), ApiError> {
    if speed == 1.0 || model.info.abilities.native_speed {
        return Ok(());
    }
    let message = format!("speed={speed} is not supported by model '{}', which speaks at its own rate only; use speed=1.0", model.id);
    Err(ApiError::invalid("speed", message))
}

fn check_reference(model: &Served, fields: &Map<String, Value>) -> Result<(), ApiError> {
    let Some(field) = REFERENCES.into_iter().find(|field| fields.contains_key(*field)) else { return Ok(()) };
    // `references` has become `ref_audio` by now.
    let sent = if field == "ref_audio" { "'ref_audio' (or 'references')".to_owned() } else { format!("'{field}'") };
    let message = if model.info.abilities.clones {
        format!("{sent} is not available in this version of the server: it speaks with built-in voices only")
    } else {
        format!("Model '{}' cannot clone a voice: {sent} is not supported; choose a built-in voice with 'voice'", model.id)
    };
    Err(ApiError::invalid(field, message))
}

/// The fields that the family's schema knows, checked against it.
fn family_fields(schema: &RequestSchema, fields: Map<String, Value>) -> Result<Map<String, Value>, ApiError> {
    let known = schema.known(fields);
    let mut faults = Faults::default();
    for problem in schema.problems(&known) {
        let place = Some(problem.place.as_str()).filter(|place| !place.is_empty());
        faults.add(place, &Fault::new(problem.kind, problem.text), &problem.value);
    }
    faults.into_result().map(|()| known)
}

/// The seed that was given, its bits unchanged, or one that a client could give again.
fn seed(given: Option<i64>) -> u64 {
    given.map_or_else(|| u64::from(fastrand::u32(..)), i64::cast_unsigned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_the_schema_names_reaches_the_family_and_only_if_it_is_right() {
        let schema = json!({"type": "object", "properties": {"language": {}, "warmth": {"type": "number", "maximum": 1}}});
        let schema = RequestSchema::compile(&schema).expect("the schema is one");
        let fields = |fields: Value| family_fields(&schema, fields.as_object().cloned().unwrap_or_default());
        let known = fields(json!({"language": "en", "warmth": "0.5", "who": "knows"})).expect("they are right");
        assert_eq!(Value::Object(known), json!({"language": "en", "warmth": 0.5}));
        let body = fields(json!({"warmth": 7})).expect_err("seven is too warm").body();
        assert_eq!(body["error"]["param"], "body.warmth");
    }

    #[test]
    fn every_seed_is_another() {
        assert_ne!(seed(Some(i64::MIN)), seed(Some(i64::MAX)));
        assert_eq!(seed(Some(-1)), u64::MAX);
    }
}
