//! A request of this API as one of the speech endpoint.

use serde_json::{Map, Value};

/// Other names of fields.
const NAMES: [(&str, &str); 4] =
    [("text", "input"), ("instruct", "instructions"), ("instruction", "instructions"), ("format", "response_format")];

/// Gives the fields their names. A field that has its own name already keeps it. How the audio is delivered is the path's to say.
pub fn renamed(mut body: Map<String, Value>) -> Map<String, Value> {
    for (name, meant) in NAMES {
        if let Some(value) = body.remove(name).filter(|value| !value.is_null()) {
            body.entry(meant).or_insert(value);
        }
    }
    body.retain(|name, _| name != "stream" && name != "stream_format");
    body
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_get_the_names_of_the_speech_endpoint() {
        for (sent, meant) in [
            (json!({"text": "a", "speaker": "s", "instruct": "i"}), json!({"input": "a", "speaker": "s", "instructions": "i"})),
            (json!({"text": "a", "input": "b", "stream": true, "stream_format": "sse"}), json!({"input": "b"})),
            (json!({"text": null, "format": "mp3", "seed": 5}), json!({"response_format": "mp3", "seed": 5})),
        ] {
            assert_eq!(Value::Object(renamed(sent.as_object().cloned().unwrap_or_default())), meant);
        }
    }
}
