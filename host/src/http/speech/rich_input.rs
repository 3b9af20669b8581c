//! Fields of a chat that one model's other interfaces take. Its name in a request says that the client means them; elsewhere they are
//! unknown fields like any other.

use serde_json::{Map, Value};

use crate::http::python;
use crate::schema::Fault;

/// How the model is recognised: its name in lower case without hyphens and underscores.
const MODEL: &str = "higgsaudiov2";
/// The fields, sorted.
const FIELDS: [&str; 5] = ["messages", "reference_audio", "speaker_audio", "speakers", "voice_prompt"];

/// Refuses these fields for that model.
pub fn check(body: &Map<String, Value>) -> Result<(), Fault> {
    let named = body.get("model").and_then(Value::as_str).unwrap_or_default();
    let plain: String = named.to_lowercase().chars().filter(|letter| !matches!(letter, '-' | '_')).collect();
    let sent: Vec<String> = FIELDS.into_iter().filter(|field| body.contains_key(*field)).map(python::quoted).collect();
    if sent.is_empty() || !plain.contains(MODEL) {
        return Ok(());
    }
    let fields = sent.join(", ");
    Err(Fault::rule(&format!(
        "higgs_audio_v2 v1 does not support these rich-input fields: [{fields}]. Supply plain text via the 'input' field instead."
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_fields_are_refused_for_that_model_only() {
        let refusal = |body: Value| check(body.as_object().expect("an object")).err().map(|fault| fault.text);
        for model in ["higgs_audio_v2", "bosonai/Higgs-Audio-v2-3B", "HIGGSAUDIOV2"] {
            let text = refusal(json!({"model": model, "voice_prompt": null, "messages": []})).expect("it is refused");
            assert!(text.contains("fields: ['messages', 'voice_prompt']. Supply plain text"), "{text}");
            assert_eq!(refusal(json!({"model": model, "input": "a"})), None);
        }
        for model in [json!("higgs_audio_v3"), json!(5), json!(null)] {
            assert_eq!(refusal(json!({"model": model, "messages": []})), None);
        }
        assert_eq!(refusal(json!({"messages": []})), None);
    }
}
