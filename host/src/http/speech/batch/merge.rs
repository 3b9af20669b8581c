//! An item and what its batch says for all items, as one request.

use serde_json::{Map, Value};

/// Fields of the single endpoint that mean nothing in a batch.
const IGNORED: [&str; 2] = ["stream", "stream_format"];

/// Fields of an item that replace more than the batch's field of the same name: they say the same in another way, or exclude it.
const REPLACES: [(&str, &[&str]); 5] = [
    ("voice", &["speaker"]),
    ("speaker", &["voice"]),
    ("ref_audio", &["speaker_embedding"]),
    ("references", &["ref_audio", "ref_text", "speaker_embedding"]),
    ("speaker_embedding", &["ref_audio", "ref_text"]),
];

/// The fields that count: of two names of one field the first, and nothing that a batch ignores.
pub fn known(mut fields: Map<String, Value>) -> Map<String, Value> {
    if fields.contains_key("voice") {
        fields.remove("speaker");
    }
    fields.retain(|field, _| !IGNORED.contains(&field.as_str()));
    fields
}

/// Those of them that are given: null leaves a field to the batch, or to its default.
pub fn given(mut fields: Map<String, Value>) -> Map<String, Value> {
    fields.retain(|_, value| !value.is_null());
    fields
}

/// The request that an item stands for.
pub fn merge(defaults: &Map<String, Value>, item: Map<String, Value>) -> Map<String, Value> {
    let is_replaced =
        |field: &str| item.contains_key(field) || REPLACES.iter().any(|(own, others)| item.contains_key(*own) && others.contains(&field));
    let left = defaults.iter().filter(|(field, _)| !is_replaced(field));
    let mut merged: Map<String, Value> = left.map(|(field, value)| (field.clone(), value.clone())).collect();
    merged.extend(item);
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(defaults: &str, item: &str) -> Value {
        let fields = |text: &str| given(known(serde_json::from_str(text).expect("an object")));
        Value::Object(merge(&fields(defaults), fields(item)))
    }

    #[test]
    fn an_item_says_what_it_wants_and_leaves_the_rest_to_its_batch() {
        for (rule, defaults, item, wanted) in [
            ("defaults reach an item", r#"{"speed": 2, "seed": 1}"#, r#"{"input": "a"}"#, r#"{"input": "a", "speed": 2, "seed": 1}"#),
            ("its own value wins", r#"{"speed": 2}"#, r#"{"speed": 3}"#, r#"{"speed": 3}"#),
            ("null is no value", r#"{"speed": 2}"#, r#"{"speed": null}"#, r#"{"speed": 2}"#),
            (
                "false and nothing are values",
                r#"{"voice": "b", "x": true}"#,
                r#"{"voice": "", "x": false}"#,
                r#"{"voice": "", "x": false}"#,
            ),
            ("a speaker replaces a voice", r#"{"voice": "b"}"#, r#"{"speaker": "c"}"#, r#"{"speaker": "c"}"#),
            ("a voice replaces a speaker", r#"{"speaker": "b"}"#, r#"{"voice": {"id": "c"}}"#, r#"{"voice": {"id": "c"}}"#),
            ("a null voice beats a speaker", r#"{"voice": "b"}"#, r#"{"voice": null, "speaker": "c"}"#, r#"{"voice": "b"}"#),
            (
                "objects are replaced whole",
                r#"{"extra_params": {"a": 1}}"#,
                r#"{"extra_params": {"b": 2}}"#,
                r#"{"extra_params": {"b": 2}}"#,
            ),
            (
                "a clip leaves the transcript",
                r#"{"ref_audio": "x", "ref_text": "t"}"#,
                r#"{"ref_audio": "y"}"#,
                r#"{"ref_audio": "y", "ref_text": "t"}"#,
            ),
            (
                "references replace clip and transcript",
                r#"{"ref_audio": "x", "ref_text": "t"}"#,
                r#"{"references": [1]}"#,
                r#"{"references": [1]}"#,
            ),
            (
                "a vector replaces a clip",
                r#"{"ref_audio": "x", "ref_text": "t"}"#,
                r#"{"speaker_embedding": [1]}"#,
                r#"{"speaker_embedding": [1]}"#,
            ),
            ("a clip replaces a vector", r#"{"speaker_embedding": [1]}"#, r#"{"ref_audio": "x"}"#, r#"{"ref_audio": "x"}"#),
            ("streaming means nothing", r#"{"stream": true}"#, r#"{"stream_format": "sse"}"#, r#"{}"#),
            ("unknown fields travel too", r#"{"warmth": 1}"#, r#"{"glow": 2}"#, r#"{"warmth": 1, "glow": 2}"#),
        ] {
            let wanted: Value = serde_json::from_str(wanted).expect("an object");
            assert_eq!(merged(defaults, item), wanted, "{rule}");
        }
    }
}
