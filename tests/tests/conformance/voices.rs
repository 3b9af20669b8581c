//! Voices and models by every name and in every form, and which of two names wins.

use serde_json::{Value, json};

use super::support::{refused, refused_fields, same, same_fields};

const VOICE: &str = "speech: voice";
const MODEL: &str = "speech: model";
const OPENAI: [&str; 13] =
    ["alloy", "ash", "ballad", "coral", "echo", "fable", "onyx", "nova", "sage", "shimmer", "verse", "marin", "cedar"];

#[test]
fn a_voice_has_many_names() {
    same(OPENAI.map(|name| (VOICE, "voice", json!(name), json!("heart"))));
    same(OPENAI.map(|name| (VOICE, "voice", json!({"id": name}), json!("heart"))));
    same([
        (VOICE, "voice", json!("HEART"), json!("heart")),
        (VOICE, "voice", json!("DEFAULT"), Value::Null),
        (VOICE, "voice", json!({"id": "heart"}), json!("heart")),
        (VOICE, "voice", json!({"id": "Heart", "name": 5, "more": null}), json!("heart")),
        (VOICE, "voice", json!({"id": "default"}), Value::Null),
        (VOICE, "voice", json!({"id": "alloy"}), json!("heart")),
        (VOICE, "speaker", json!("Heart"), json!("heart")),
        (VOICE, "speaker", json!({"id": "heart"}), json!("heart")),
        (VOICE, "speaker", json!("default"), Value::Null),
    ]);
}

#[test]
fn voice_wins_over_speaker() {
    let heart = json!({"voice": "heart"});
    same_fields([
        (VOICE, json!({"voice": "heart", "speaker": "nobody"}), heart.clone()),
        (VOICE, json!({"speaker": "nobody", "voice": {"id": "heart"}}), heart.clone()),
        (VOICE, json!({"voice": null, "speaker": "nobody"}), json!({})),
        (VOICE, json!({"voice": "heart", "speaker": {"name": "no id"}}), heart),
    ]);
    refused_fields([
        (VOICE, json!({"voice": "nobody", "speaker": "heart"}), 400, "voice", "Invalid voice 'nobody'"),
        (VOICE, json!({"speaker": "nobody"}), 400, "voice", "Invalid voice 'nobody'"),
    ]);
}

#[test]
fn voices_in_other_forms_are_refused() {
    let (id, text) = ("voice dict must contain 'id'", "Input should be a valid string");
    refused([
        (VOICE, "voice", json!({}), 400, "body.voice", id),
        (VOICE, "voice", json!({"name": "heart"}), 400, "body.voice", id),
        (VOICE, "voice", json!({"ID": "heart"}), 400, "body.voice", id),
        (VOICE, "voice", json!({"id": 5}), 400, "body.voice", text),
        (VOICE, "voice", json!({"id": null}), 400, "body.voice", text),
        (VOICE, "speaker", json!({"name": "heart"}), 400, "body.speaker", id),
        (VOICE, "voice", json!("nobody"), 400, "voice", "Supported: default, heart"),
        (VOICE, "voice", json!({"id": "nobody"}), 400, "voice", "Invalid voice 'nobody'"),
        (VOICE, "voice", json!("heart2"), 400, "voice", "Invalid voice 'heart2'"),
    ]);
}

#[test]
fn a_model_is_known_by_its_exact_name() {
    same([(MODEL, "model", json!("hibari"), Value::Null), (MODEL, "model", json!(""), Value::Null)]);
    refused([
        (MODEL, "model", json!("HIBARI"), 404, "model", "The model `HIBARI` does not exist."),
        (MODEL, "model", json!("hibari "), 404, "model", "does not exist."),
        (MODEL, "model", json!("tts-9"), 404, "model", "The model `tts-9` does not exist."),
        (MODEL, "model", json!("../hibari"), 404, "model", "does not exist."),
    ]);
}
