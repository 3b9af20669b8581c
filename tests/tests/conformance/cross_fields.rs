//! Rules between fields: reference clips in their three spellings, speaker vectors, times of words, and which failure comes first.

use serde_json::{Value, json};

use super::support::{refused, refused_fields, same};

const CLIP: &str = "speech: references";
const VECTOR: &str = "speech: speaker_embedding";
const ORDER: &str = "speech: order of failures";

#[test]
fn references_have_one_shape() {
    let list = "'references' must be a non-empty array of {audio_path, text} objects";
    let path = "'references[0].audio_path' is required and must be a string (URL, data: URI, or file path)";
    let object = "'references[0]' must be an object with 'audio_path' and optional 'text'";
    let two = json!([{"audio_path": "a"}, {"audio_path": "b"}]);
    refused([
        (CLIP, "references", json!([]), 400, "body", list),
        (CLIP, "references", json!({}), 400, "body", list),
        (CLIP, "references", json!("a"), 400, "body", list),
        (CLIP, "references", json!(5), 400, "body", list),
        (CLIP, "references", json!([1]), 400, "body", object),
        (CLIP, "references", json!(["a"]), 400, "body", object),
        (CLIP, "references", json!([{}]), 400, "body", path),
        (CLIP, "references", json!([{"audio_path": ""}]), 400, "body", path),
        (CLIP, "references", json!([{"audio_path": 5}]), 400, "body", path),
        (CLIP, "references", json!([{"audio_path": null}]), 400, "body", path),
        (CLIP, "references", json!([{"audio_path": "a", "text": 5}]), 400, "body", "'references[0].text' must be a string"),
        (CLIP, "references", two, 400, "body", "only supports a single reference"),
    ]);
}

#[test]
fn references_and_the_plain_fields_may_not_differ() {
    let (clip, spoken) = (json!([{"audio_path": "a"}]), json!([{"audio_path": "a", "text": "t"}]));
    let (exclusive, conflict) =
        ("'references' and 'ref_audio' are mutually exclusive", "'references[0].text' and 'ref_text' conflict; supply only one");
    refused_fields([
        (CLIP, json!({"references": clip, "ref_audio": "b"}), 400, "body", exclusive),
        (CLIP, json!({"references": clip, "ref_audio": ["a"]}), 400, "body", exclusive),
        (CLIP, json!({"references": spoken, "ref_text": "u"}), 400, "body", conflict),
        (CLIP, json!({"references": spoken, "ref_text": "t"}), 400, "ref_audio", "cannot clone a voice"),
        (CLIP, json!({"references": clip, "ref_audio": "a"}), 400, "ref_audio", "cannot clone a voice"),
        (CLIP, json!({"references": clip, "ref_text": "u"}), 400, "ref_audio", "cannot clone a voice"),
    ]);
}

#[test]
fn a_voice_that_cannot_clone_says_so() {
    refused([
        (CLIP, "ref_audio", json!("data:audio/wav;base64,AAAA"), 400, "ref_audio", "cannot clone a voice"),
        (CLIP, "ref_audio", json!(["https://example.invalid/a.wav"]), 400, "ref_audio", "cannot clone a voice"),
        (CLIP, "ref_audio", json!([]), 400, "body.ref_audio", "'ref_audio' list cannot be empty"),
        (CLIP, "references", json!([{"audio_path": "a"}]), 400, "ref_audio", "cannot clone a voice"),
        (CLIP, "ref_audio_2", json!("a"), 400, "ref_audio_2", "cannot clone a voice"),
        (VECTOR, "speaker_embedding", json!([0.5, 1]), 400, "speaker_embedding", "cannot clone a voice"),
        (VECTOR, "speaker_embedding", json!([[0.5], [1, 2]]), 400, "speaker_embedding", "cannot clone a voice"),
        (VECTOR, "speaker_embedding", json!(["1.5", true]), 400, "speaker_embedding", "cannot clone a voice"),
        (VECTOR, "speaker_embedding", json!(vec![0; 8192]), 400, "speaker_embedding", "cannot clone a voice"),
    ]);
    same([(CLIP, "ref_text", json!("Without a clip it means nothing."), Value::Null)]);
}

#[test]
fn a_clip_is_named_by_text_or_a_list_of_texts() {
    let (kind, entries) = ("'ref_audio' must be a string or list of strings", "'ref_audio' list entries must be strings");
    refused([
        (CLIP, "ref_audio", json!(5), 400, "ref_audio", kind),
        (CLIP, "ref_audio", json!(true), 400, "ref_audio", kind),
        (CLIP, "ref_audio", json!({}), 400, "ref_audio", kind),
        (CLIP, "ref_audio", json!([5]), 400, "ref_audio", entries),
        (CLIP, "ref_audio", json!(["a", null]), 400, "ref_audio", entries),
        (CLIP, "ref_audio", json!([["a"]]), 400, "ref_audio", entries),
        (CLIP, "references", json!([{"audio_path": "a", "text": null, "more": 1}]), 400, "ref_audio", "cannot clone a voice"),
    ]);
}

#[test]
fn vectors_of_a_speaker_have_one_shape() {
    let (param, empty) = ("body.speaker_embedding", "'speaker_embedding' nested vectors must be non-empty");
    refused([
        (VECTOR, "speaker_embedding", json!("a"), 400, param, "Input should be a valid list"),
        (VECTOR, "speaker_embedding", json!({}), 400, param, "Input should be a valid list"),
        (VECTOR, "speaker_embedding", json!([[]]), 400, param, empty),
        (VECTOR, "speaker_embedding", json!([[1], []]), 400, param, empty),
        (VECTOR, "speaker_embedding", json!([1, [2]]), 400, param, "Input should be a valid"),
        (VECTOR, "speaker_embedding", json!([[1], 2]), 400, param, "Input should be a valid"),
        (VECTOR, "speaker_embedding", json!(["x"]), 400, param, "Input should be a valid number"),
        (VECTOR, "speaker_embedding", json!([null]), 400, param, "Input should be a valid number"),
        (VECTOR, "speaker_embedding", json!(["inf"]), 400, param, "values must be finite (no NaN or Inf)"),
        (VECTOR, "speaker_embedding", json!([["-inf"]]), 400, param, "values must be finite (no NaN or Inf)"),
        (VECTOR, "speaker_embedding", json!(vec![0; 8193]), 400, param, "at most 8192 items after validation, not 8193"),
    ]);
    let both = "'speaker_embedding' and 'ref_audio' are mutually exclusive";
    refused_fields([
        (VECTOR, json!({"speaker_embedding": [1.0], "ref_audio": "a"}), 400, "body", both),
        (VECTOR, json!({"speaker_embedding": [1.0], "references": [{"audio_path": "a"}]}), 400, "body", both),
        (VECTOR, json!({"speaker_embedding": [1.0], "ref_audio": ["a"]}), 400, "ref_audio", "cannot clone a voice"),
    ]);
}

#[test]
fn fields_of_a_chat_are_refused_where_the_model_is_named_that_has_one() {
    let topic = "speech: rich input";
    let one = "higgs_audio_v2 v1 does not support these rich-input fields: ['messages']. Supply plain text via the 'input' field instead.";
    refused_fields([
        (topic, json!({"model": "higgs_audio_v2", "messages": []}), 400, "body", one),
        (topic, json!({"model": "bosonai/Higgs-Audio-V2-3B", "speakers": 1, "messages": null}), 400, "body", "['messages', 'speakers']"),
        (
            topic,
            json!({"model": "higgsaudiov2", "reference_audio": "a", "voice_prompt": 1, "speaker_audio": 2}),
            400,
            "body",
            "['reference_audio', 'speaker_audio', 'voice_prompt']",
        ),
        (topic, json!({"model": "higgs_audio_v2", "messages_too": []}), 404, "model", "does not exist"),
        (topic, json!({"model": "higgs_audio_v3", "messages": []}), 404, "model", "does not exist"),
    ]);
}

#[test]
fn times_of_words_need_an_aligner() {
    let (topic, aligner, socket) = ("speech: word_timestamps", "--forced-aligner", "WebSocket /v1/audio/speech/stream");
    refused_fields([
        (topic, json!({"word_timestamps": true}), 400, "word_timestamps", aligner),
        (topic, json!({"word_timestamps": "on"}), 400, "word_timestamps", aligner),
        (topic, json!({"word_timestamps": 1}), 400, "word_timestamps", aligner),
        (topic, json!({"word_timestamps": true, "stream": true}), 400, "word_timestamps", socket),
        (topic, json!({"word_timestamps": true, "stream_format": "audio"}), 400, "word_timestamps", socket),
        (topic, json!({"word_timestamps": true, "stream_format": "sse"}), 400, "word_timestamps", socket),
    ]);
}

#[test]
fn the_first_failure_wins_in_one_order() {
    let (unknown, rate) = ("The model `nope` does not exist.", "is not supported by the current TTS model");
    refused_fields([
        (ORDER, json!({"model": "nope", "speed": 9}), 400, "body.speed", "less than or equal to 4"),
        (ORDER, json!({"model": "nope", "sample_rate": 5}), 400, "sample_rate", rate),
        (ORDER, json!({"model": "nope", "word_timestamps": true}), 404, "model", unknown),
        (ORDER, json!({"model": "nope", "ref_audio": "a"}), 404, "model", unknown),
        (ORDER, json!({"model": "nope", "voice": "nobody"}), 404, "model", unknown),
        (ORDER, json!({"model": "nope", "input": ""}), 404, "model", unknown),
        (ORDER, json!({"word_timestamps": true, "voice": "nobody"}), 400, "word_timestamps", "--forced-aligner"),
        (ORDER, json!({"sample_rate": 5, "word_timestamps": true}), 400, "sample_rate", rate),
        (ORDER, json!({"sample_rate": 5, "ref_audio": 5}), 400, "ref_audio", "must be a string or list of strings"),
        (ORDER, json!({"model": "nope", "references": [1]}), 400, "body", "'references[0]' must be an object"),
        (ORDER, json!({"word_timestamps": true, "input": ""}), 400, "word_timestamps", "--forced-aligner"),
        (ORDER, json!({"input": "", "voice": "nobody"}), 400, "input", "Input text cannot be empty"),
        (ORDER, json!({"input": "…", "voice": "nobody", "stream": true}), 400, "input", "nothing to speak"),
    ]);
}
