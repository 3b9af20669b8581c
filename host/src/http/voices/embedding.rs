//! `speaker_embedding`: a vector as JSON in a part of the form.

use serde_json::Value;

use crate::engine::Served;
use crate::http::error::ApiError;

/// The part's name.
pub const FIELD: &str = "speaker_embedding";
/// Most numbers.
const MAX_NUMBERS: usize = 4096;

/// Reads a vector.
pub fn parse(text: &str) -> Result<Vec<f32>, ApiError> {
    let value: Value = serde_json::from_str(text).map_err(|error| not_json(text, &error.to_string()))?;
    let numbers = value.as_array().filter(|numbers| !numbers.is_empty());
    let numbers = numbers.ok_or_else(|| wrong("must be a non-empty list of numbers"))?;
    if numbers.len() > MAX_NUMBERS {
        return Err(wrong(&format!("exceeds maximum length ({MAX_NUMBERS} elements)")));
    }
    let numbers: Option<Vec<f64>> = numbers.iter().map(number).collect();
    let numbers = numbers.ok_or_else(|| wrong("must contain only numeric values"))?;
    let numbers: Vec<f32> = numbers.into_iter().map(|number| number as f32).collect();
    if numbers.iter().all(|number| number.is_finite()) { Ok(numbers) } else { Err(not_finite()) }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        _ => value.as_f64(),
    }
}

/// What is no JSON here may be JSON as Python writes it, with words for what is not finite, or have numbers that no float can hold.
fn not_json(text: &str, reason: &str) -> ApiError {
    let plain = text.replace("-Infinity", "0").replace("Infinity", "0").replace("NaN", "0");
    let is_python = plain != text && serde_json::from_str::<Value>(&plain).is_ok_and(|value| value.is_array());
    if is_python || reason.starts_with("number out of range") {
        return not_finite();
    }
    wrong(&format!("must be valid JSON: {reason}"))
}

fn not_finite() -> ApiError {
    wrong("values must be finite (no NaN or Inf)")
}

fn wrong(what: &str) -> ApiError {
    ApiError::invalid(FIELD, format!("'{FIELD}' {what}"))
}

/// Refuses a vector that no loaded model could speak with, where a model states the length of its vectors.
pub fn check_length(vector: &[f32], models: &[impl AsRef<Served>]) -> Result<(), ApiError> {
    let stated = models.iter().filter_map(|model| Some((model.as_ref(), model.as_ref().model.speaker_embedding_dim?)));
    let stated: Vec<(&Served, u32)> = stated.collect();
    if stated.is_empty() || stated.iter().any(|(_, dim)| *dim as usize == vector.len()) {
        return Ok(());
    }
    let dims: Vec<String> = stated.iter().map(|(_, dim)| dim.to_string()).collect();
    let models: Vec<&str> = stated.iter().map(|(model, _)| model.id.as_str()).collect();
    let (found, expected, models) = (vector.len(), dims.join(" or "), models.join(" or "));
    let message = format!("{FIELD} has {found} dimensions; expected {expected} for the loaded {models} model");
    Err(ApiError::invalid(FIELD, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_flags_are_a_vector() {
        assert_eq!(parse("[1, -2.5, true, 1e-50]"), Ok(vec![1.0, -2.5, 1.0, 0.0]));
        assert_eq!(parse(&format!("[{}0]", "0,".repeat(4095))).map(|vector| vector.len()), Ok(4096));
    }

    #[test]
    fn what_is_no_vector_is_told_in_the_words_of_the_reference() {
        for (text, said) in [
            ("[1,", "'speaker_embedding' must be valid JSON: "),
            ("", "'speaker_embedding' must be valid JSON: "),
            ("[]", "'speaker_embedding' must be a non-empty list of numbers"),
            ("{}", "'speaker_embedding' must be a non-empty list of numbers"),
            ("5", "'speaker_embedding' must be a non-empty list of numbers"),
            ("[\"1\"]", "'speaker_embedding' must contain only numeric values"),
            ("[[1]]", "'speaker_embedding' must contain only numeric values"),
            ("[null]", "'speaker_embedding' must contain only numeric values"),
            ("[NaN]", "'speaker_embedding' values must be finite (no NaN or Inf)"),
            ("[1, -Infinity]", "'speaker_embedding' values must be finite (no NaN or Inf)"),
            ("[1e39]", "'speaker_embedding' values must be finite (no NaN or Inf)"),
            ("[1e999]", "'speaker_embedding' values must be finite (no NaN or Inf)"),
        ] {
            let error = parse(text).expect_err("it is refused");
            assert!(error.message().starts_with(said), "{text}: {error}");
            assert_eq!(error.param(), Some(FIELD));
        }
        let long = format!("[{}0]", "0,".repeat(4096));
        assert_eq!(parse(&long).expect_err("too long").message(), "'speaker_embedding' exceeds maximum length (4096 elements)");
    }
}
