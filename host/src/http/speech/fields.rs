//! The optional fields of the API that a family may know: their types are checked for every family alike, their meaning is the family's.

use serde_json::{Value, json};

use crate::schema::{Fault, coerce};

/// Most numbers, or vectors, in `speaker_embedding`.
const MAX_EMBEDDING: usize = 8192;
/// The tasks of `task_type`.
const TASKS: &[&str] = &["CustomVoice", "VoiceDesign", "Base"];

/// What a field holds. Every one of them may also be null, which means absent.
#[derive(Debug, Clone, Copy)]
pub enum Rule {
    /// A string.
    Text,
    /// A whole number from this one on.
    Count(i64),
    /// A number from this one on.
    Amount(f64),
    /// A boolean.
    Flag,
    /// A JSON object.
    Object,
    /// One of these strings.
    Choice(&'static [&'static str]),
    /// Where a clip of reference audio is, or several.
    Clip,
    /// A speaker's vector, or several.
    Embedding,
}

/// The fields, in the order in which their faults are told.
pub const COMMON: [(&str, Rule); 14] = [
    ("instructions", Rule::Text),
    ("task_type", Rule::Choice(TASKS)),
    ("language", Rule::Text),
    ("ref_audio", Rule::Clip),
    ("ref_text", Rule::Text),
    ("ref_audio_2", Rule::Text),
    ("ambient_sound", Rule::Text),
    ("duration_seconds", Rule::Amount(0.0)),
    ("x_vector_only_mode", Rule::Flag),
    ("speaker_embedding", Rule::Embedding),
    ("max_new_tokens", Rule::Count(1)),
    ("initial_codec_chunk_frames", Rule::Count(0)),
    ("non_streaming_mode", Rule::Flag),
    ("extra_params", Rule::Object),
];

/// A value as its field's type.
pub fn coerce(rule: Rule, value: &Value) -> Result<Value, Fault> {
    match rule {
        Rule::Text => coerce::text(value).map(Value::from),
        Rule::Count(min) => coerce::integer(value, min).map(Value::from),
        Rule::Amount(min) => coerce::float(value, min, f64::MAX).map(Value::from),
        Rule::Flag => coerce::flag(value).map(Value::from),
        Rule::Choice(choices) => coerce::choice(value, choices).map(Value::from),
        Rule::Object if value.is_object() => Ok(value.clone()),
        Rule::Object => Err(Fault::new("dict_type", "Input should be a valid dictionary")),
        Rule::Clip => clip(value),
        Rule::Embedding => embedding(value),
    }
}

fn clip(value: &Value) -> Result<Value, Fault> {
    match value {
        Value::Array(clips) if clips.is_empty() => Err(Fault::rule("'ref_audio' list cannot be empty")),
        _ => Ok(value.clone()),
    }
}

fn embedding(value: &Value) -> Result<Value, Fault> {
    let items = value.as_array().ok_or_else(|| Fault::new("list_type", "Input should be a valid list"))?;
    if items.len() > MAX_EMBEDDING {
        let text = format!("Value should have at most {MAX_EMBEDDING} items after validation, not {}", items.len());
        return Err(Fault::new("too_long", text));
    }
    if !items.first().is_some_and(Value::is_array) {
        return vector(items);
    }
    let vectors = items.iter().map(|item| match item {
        Value::Array(numbers) if numbers.is_empty() => Err(Fault::rule("'speaker_embedding' nested vectors must be non-empty")),
        Value::Array(numbers) => vector(numbers),
        _ => Err(Fault::new("list_type", "Input should be a valid list")),
    });
    Ok(Value::Array(vectors.collect::<Result<_, _>>()?))
}

fn vector(numbers: &[Value]) -> Result<Value, Fault> {
    let numbers = numbers.iter().map(|number| {
        let number = coerce::real(number)?;
        if number.is_finite() { Ok(json!(number)) } else { Err(Fault::rule("'speaker_embedding' values must be finite (no NaN or Inf)")) }
    });
    Ok(Value::Array(numbers.collect::<Result<_, _>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_their_fields_types() {
        for (rule, sent, wanted) in [
            (Rule::Count(1), json!("5"), json!(5)),
            (Rule::Flag, json!("yes"), json!(true)),
            (Rule::Amount(0.0), json!("1.5"), json!(1.5)),
            (Rule::Embedding, json!([1, "2", true]), json!([1.0, 2.0, 1.0])),
            (Rule::Embedding, json!([[1], [2, 3]]), json!([[1.0], [2.0, 3.0]])),
            (Rule::Clip, json!(["a"]), json!(["a"])),
        ] {
            assert_eq!(coerce(rule, &sent), Ok(wanted), "{sent}");
        }
    }

    #[test]
    fn wrong_values_are_told_in_the_words_of_the_reference() {
        for (rule, sent, text) in [
            (Rule::Choice(TASKS), json!("base"), "Input should be 'CustomVoice', 'VoiceDesign' or 'Base'"),
            (Rule::Count(1), json!(0), "Input should be greater than or equal to 1"),
            (Rule::Object, json!([]), "Input should be a valid dictionary"),
            (Rule::Clip, json!([]), "Value error, 'ref_audio' list cannot be empty"),
            (Rule::Embedding, json!([[1.0], []]), "Value error, 'speaker_embedding' nested vectors must be non-empty"),
            (Rule::Embedding, json!([1.0, [2.0]]), "Input should be a valid number"),
            (Rule::Embedding, json!([[1.0], 2.0]), "Input should be a valid list"),
            (Rule::Embedding, json!(["inf"]), "Value error, 'speaker_embedding' values must be finite (no NaN or Inf)"),
            (Rule::Embedding, json!(vec![0; 8193]), "Value should have at most 8192 items after validation, not 8193"),
        ] {
            assert_eq!(coerce(rule, &sent).expect_err("it is refused").text, text);
        }
    }
}
