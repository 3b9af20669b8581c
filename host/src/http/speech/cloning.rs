//! A voice that comes with the request: `ref_audio`, or `speaker_embedding`.

use serde_json::{Map, Value};

use crate::engine::Served;
use crate::http::error::ApiError;
use crate::schema::RequestSchema;

/// The field that asks for the voice alone, without what is said in the clip.
const BY_VECTOR: &str = "x_vector_only_mode";
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

/// What a request tells of the transcript of its voice's clip.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Transcript {
    /// What is said in the clip; none where only its voice is wanted.
    pub text: Option<String>,
    /// Whether that also holds for a stored voice which was uploaded without a transcript. Where a model can speak by the vector alone, such
    /// a voice stays one until the request says otherwise.
    is_for_untold: bool,
}

impl Transcript {
    /// Reads it, for a model with this schema.
    pub fn read(fields: &Map<String, Value>, schema: &RequestSchema) -> Self {
        let by_vector = fields.get(BY_VECTOR).and_then(Value::as_bool);
        let text = fields.get("ref_text").and_then(Value::as_str).filter(|text| !text.trim().is_empty() && by_vector != Some(true));
        Self { text: text.map(str::to_owned), is_for_untold: by_vector == Some(false) || !schema.knows(BY_VECTOR) }
    }

    /// The transcript of a stored clip that was uploaded with this one, or without.
    pub fn of_stored(&self, uploaded: Option<&str>) -> Option<String> {
        match uploaded {
            Some(uploaded) => Some(self.text.clone().unwrap_or_else(|| uploaded.to_owned())),
            None => self.text.clone().filter(|_| self.is_for_untold),
        }
    }
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
    fn a_stored_voice_without_a_transcript_gets_one_where_that_is_meant() {
        let plain = RequestSchema::compile(&json!({"type": "object"})).expect("a schema");
        let by_vector = RequestSchema::compile(&json!({"type": "object", "properties": {BY_VECTOR: {}}})).expect("a schema");
        let told = |schema, fields: Value| Transcript::read(fields.as_object().expect("fields"), schema);
        let (asked, kept) = (Some("asked".to_owned()), Some("kept".to_owned()));
        for (schema, fields, with_kept, with_none) in [
            (&plain, json!({"ref_text": "asked"}), &asked, &asked),
            (&plain, json!({"ref_text": " "}), &kept, &None),
            (&by_vector, json!({"ref_text": "asked"}), &asked, &None),
            (&by_vector, json!({"ref_text": "asked", BY_VECTOR: false}), &asked, &asked),
            (&by_vector, json!({"ref_text": "asked", BY_VECTOR: true}), &kept, &None),
            (&by_vector, json!({}), &kept, &None),
        ] {
            let told = told(schema, fields.clone());
            assert_eq!((&told.of_stored(Some("kept")), &told.of_stored(None)), (with_kept, with_none), "{fields}");
        }
    }

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
