//! A voice that comes with the request: `ref_audio`, or `speaker_embedding`.

use serde_json::{Map, Value};

use crate::engine::Served;
use crate::http::error::ApiError;

/// Fields that carry a voice.
const FIELDS: [&str; 3] = ["ref_audio", "speaker_embedding", "ref_audio_2"];
/// What a locator that is none is told.
const FORM: &str = "ref_audio must be a URL (http/https), base64 data URL (data:...), or file URI (file://...)";

/// A voice that came with a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Brought {
    /// Where a clip is.
    Clip(String),
    /// A speaker's vector.
    Vector(Vec<f32>),
}

/// The voice that a request brings, if it brings one and the model can speak with it.
pub fn read(model: &Served, fields: &Map<String, Value>) -> Result<Option<Brought>, ApiError> {
    let Some(field) = FIELDS.into_iter().find(|field| fields.contains_key(*field)) else { return Ok(None) };
    if !model.info.abilities.clones {
        // `references` has become `ref_audio` by now.
        let sent = if field == "ref_audio" { "'ref_audio' (or 'references')".to_owned() } else { format!("'{field}'") };
        let message = format!("Model '{}' cannot clone a voice: {sent} is not supported; choose a built-in voice with 'voice'", model.id);
        return Err(ApiError::invalid(field, message));
    }
    if fields.contains_key("ref_audio_2") {
        let message = format!("Model '{}' speaks with one voice at a time: 'ref_audio_2' is not supported", model.id);
        return Err(ApiError::invalid("ref_audio_2", message));
    }
    match (fields.get("ref_audio"), fields.get("speaker_embedding")) {
        (Some(_), Some(_)) => Err(ApiError::invalid("ref_audio", "'speaker_embedding' and 'ref_audio' are mutually exclusive")),
        (Some(clip), None) => clip_of(clip).map(|clip| Some(Brought::Clip(clip.to_owned()))),
        (None, Some(vector)) => vector_of(vector).and_then(|vector| fitting(model, vector)).map(|vector| Some(Brought::Vector(vector))),
        (None, None) => Ok(None),
    }
}

/// The transcript of the clip, unless only its voice is wanted.
pub fn transcript(fields: &Map<String, Value>) -> Option<String> {
    let is_unwanted = fields.get("x_vector_only_mode").and_then(Value::as_bool).unwrap_or_default();
    let text = fields.get("ref_text").and_then(Value::as_str).filter(|text| !text.trim().is_empty() && !is_unwanted);
    text.map(str::to_owned)
}

/// A clip, alone or as the only one of a list.
fn clip_of(value: &Value) -> Result<&str, ApiError> {
    let clip = match value {
        Value::Array(clips) if clips.len() == 1 => clips.first().and_then(Value::as_str),
        clip => clip.as_str(),
    };
    clip.filter(|clip| !clip.trim().is_empty()).ok_or_else(|| ApiError::invalid("ref_audio", FORM))
}

/// A vector of the model's size.
pub fn fitting(model: &Served, vector: Vec<f32>) -> Result<Vec<f32>, ApiError> {
    let (found, name) = (vector.len(), model.info.called());
    let message = match model.model.speaker_embedding_dim {
        Some(dim) if dim as usize == found => return Ok(vector),
        Some(dim) => format!("speaker_embedding has {found} dimensions; expected {dim} for the loaded {name} model"),
        None => format!("Model '{}' has no speaker vectors: 'speaker_embedding' is not supported", model.id),
    };
    Err(ApiError::invalid("speaker_embedding", message))
}

/// A vector, alone or as the only one of a list.
fn vector_of(value: &Value) -> Result<Vec<f32>, ApiError> {
    let refused = |message: &str| ApiError::invalid("speaker_embedding", message);
    let numbers = match value.as_array().map(Vec::as_slice) {
        Some([Value::Array(vector)]) => vector.as_slice(),
        Some([Value::Array(_), ..]) => return Err(refused("one speaker vector is expected, found several")),
        Some(numbers) if !numbers.is_empty() => numbers,
        _ => return Err(refused("'speaker_embedding' must be a non-empty list of floats")),
    };
    let numbers = numbers.iter().map(|number| number.as_f64().map(|number| number as f32).filter(|number| number.is_finite()));
    numbers.collect::<Option<_>>().ok_or_else(|| refused("'speaker_embedding' values must be finite (no NaN or Inf)"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_clip_or_a_vector_may_stand_alone_or_in_a_list_of_one() {
        for clip in [json!("a"), json!(["a"])] {
            assert_eq!(clip_of(&clip), Ok("a"));
        }
        for clip in [json!(""), json!(" "), json!([]), json!(["a", "b"]), json!([5])] {
            assert_eq!(clip_of(&clip).expect_err("it is refused").message(), FORM);
        }
        for vector in [json!([1, 0.5]), json!([[1, 0.5]])] {
            assert_eq!(vector_of(&vector), Ok(vec![1.0, 0.5]));
        }
        for vector in [json!([]), json!([[1], [2]]), json!([1e300]), json!("a")] {
            assert_eq!(vector_of(&vector).expect_err("it is refused").param(), Some("speaker_embedding"));
        }
    }
}
