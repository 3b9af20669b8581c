//! `references`, another spelling of `ref_audio` and `ref_text`; and the two faults of `ref_audio` that the reference tells in its plain
//! envelope.

use serde_json::{Map, Value};

use crate::http::error::ApiError;
use crate::schema::Fault;

/// Refuses a `ref_audio` that is neither text nor a list of texts.
pub fn check_clip(body: &Map<String, Value>) -> Result<(), ApiError> {
    match body.get("ref_audio") {
        None | Some(Value::Null | Value::String(_)) => Ok(()),
        Some(Value::Array(clips)) if clips.iter().all(Value::is_string) => Ok(()),
        Some(Value::Array(_)) => Err(ApiError::invalid("ref_audio", "'ref_audio' list entries must be strings")),
        Some(_) => Err(ApiError::invalid("ref_audio", "'ref_audio' must be a string or list of strings")),
    }
}

/// Turns `references` into `ref_audio` and `ref_text`.
pub fn rewrite(body: &mut Map<String, Value>) -> Result<(), Fault> {
    let Some(references) = body.remove("references").filter(|references| !references.is_null()) else { return Ok(()) };
    let (clip, transcript) = only_reference(&references)?;
    put(body, "ref_audio", clip, "'references' and 'ref_audio' are mutually exclusive")?;
    match transcript {
        Some(text) => put(body, "ref_text", text, "'references[0].text' and 'ref_text' conflict; supply only one"),
        None => Ok(()),
    }
}

fn only_reference(references: &Value) -> Result<(&str, Option<&str>), Fault> {
    let reference = match references.as_array().map(Vec::as_slice) {
        Some([reference]) => reference,
        None | Some([]) => return Err(Fault::rule("'references' must be a non-empty array of {audio_path, text} objects")),
        Some(_) => return Err(Fault::rule("'references' only supports a single reference; multi-shot voice clone is not supported")),
    };
    let shape = "'references[0]' must be an object with 'audio_path' and optional 'text'";
    let reference = reference.as_object().ok_or_else(|| Fault::rule(shape))?;
    let clip = reference.get("audio_path").and_then(Value::as_str).filter(|path| !path.is_empty());
    let needed = "'references[0].audio_path' is required and must be a string (URL, data: URI, or file path)";
    let transcript = match reference.get("text") {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.as_str()),
        Some(_) => return Err(Fault::rule("'references[0].text' must be a string")),
    };
    Ok((clip.ok_or_else(|| Fault::rule(needed))?, transcript))
}

fn put(body: &mut Map<String, Value>, field: &str, value: &str, conflict: &str) -> Result<(), Fault> {
    match body.get(field).filter(|other| !other.is_null()) {
        Some(other) if other != value => Err(Fault::rule(conflict)),
        _ => {
            body.insert(field.to_owned(), Value::from(value));
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rewritten(body: Value) -> Result<Value, String> {
        let Value::Object(mut body) = body else { return Err("not an object".to_owned()) };
        rewrite(&mut body).map_err(|fault| fault.text)?;
        Ok(Value::Object(body))
    }

    #[test]
    fn a_reference_becomes_the_two_plain_fields() {
        let body = json!({"references": [{"audio_path": "a", "text": "t"}], "ref_text": "t"});
        assert_eq!(rewritten(body), Ok(json!({"ref_audio": "a", "ref_text": "t"})));
        assert_eq!(rewritten(json!({"references": null})), Ok(json!({})));
    }

    #[test]
    fn a_wrong_reference_is_told() {
        for (body, part) in [
            (json!({"references": []}), "non-empty array"),
            (json!({"references": "a"}), "non-empty array"),
            (json!({"references": [{}, {}]}), "single reference"),
            (json!({"references": ["a"]}), "must be an object"),
            (json!({"references": [{"audio_path": "a", "text": 5}]}), "'references[0].text' must be a string"),
            (json!({"references": [{"audio_path": 5}]}), "'references[0].audio_path' is required"),
            (json!({"references": [{"audio_path": "a"}], "ref_audio": "b"}), "mutually exclusive"),
            (json!({"references": [{"audio_path": "a", "text": "t"}], "ref_text": "u"}), "conflict"),
        ] {
            let text = rewritten(body).expect_err("it is refused");
            assert!(text.starts_with("Value error, ") && text.contains(part), "{text}");
        }
    }
}
