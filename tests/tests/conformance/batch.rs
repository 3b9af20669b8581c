//! The batch endpoint's envelope: what refuses a whole batch, what fails one item, and what an answer holds.

use omni_tests::base64;
use omni_tests::http::{self, Answer};
use omni_tests::speech::check_good;
use serde_json::{Value, json};

use super::support::{TEXT, not_refused, report, server};

const PATH: &str = "/v1/audio/speech/batch";

fn batch(body: &Value) -> Answer {
    http::post_json(&server().url(PATH), body)
}

/// A batch of one good item with more fields beside it.
fn beside(field: &str, value: Value) -> Value {
    json!({"items": [{"input": TEXT}], field: value})
}

/// A batch of one item with more fields in it.
fn within(field: &str, value: Value) -> Value {
    json!({"items": [{"input": TEXT, field: value}]})
}

fn refused(rows: impl IntoIterator<Item = (Value, u16, &'static str, &'static str)>) {
    report(rows.into_iter().map(|(body, status, param, text)| {
        let problem = not_refused(&batch(&body), status, param, text)?;
        Some(format!("batch {body:.200}: {problem}"))
    }));
}

#[test]
fn faults_beside_the_items_are_named() {
    refused([
        (beside("speed", json!(4.01)), 400, "body.speed", "less than or equal to 4"),
        (beside("speed", json!("slow")), 400, "body.speed", "unable to parse string"),
        (beside("response_format", json!("ogg")), 400, "body.response_format", "Input should be 'wav'"),
        (beside("response_format", json!(null)), 400, "body.response_format", "Input should be 'wav'"),
        (beside("task_type", json!("base")), 400, "body.task_type", "'VoiceDesign' or 'Base'"),
        (beside("sample_rate", json!(0)), 400, "body.sample_rate", "greater than 0"),
        (beside("max_new_tokens", json!(0)), 400, "body.max_new_tokens", "greater than or equal to 1"),
        (beside("initial_codec_chunk_frames", json!(-1)), 400, "body.initial_codec_chunk_frames", "greater than or equal to 0"),
        (beside("x_vector_only_mode", json!("maybe")), 400, "body.x_vector_only_mode", "valid boolean"),
        (beside("instructions", json!(5)), 400, "body.instructions", "valid string"),
        (beside("language", json!([])), 400, "body.language", "valid string"),
        (beside("model", json!(5)), 400, "body.model", "valid string"),
        (beside("model", json!("nope")), 404, "model", "The model `nope` does not exist."),
        (json!({"items": vec![json!({"input": TEXT}); 33], "model": "nope"}), 400, "body.items", "Batch contains 33 items"),
        (json!({"items": {"input": TEXT}}), 400, "body.items", "valid list"),
        (json!({"input": TEXT}), 400, "body.items", "Field required"),
        (json!({"items": []}), 400, "body.items", "List should have at least 1 item after validation, not 0"),
        (json!({"items": null}), 400, "body.items", "valid list"),
        (json!({"items": "Hi."}), 400, "body.items", "valid list"),
        (beside("references", json!([1])), 400, "body", "must be an object"),
        (beside("ref_audio", json!(5)), 400, "body.ref_audio", "'ref_audio' must be a string or list of strings"),
        (beside("speaker_embedding", json!([[]])), 400, "body.speaker_embedding", "nested vectors must be non-empty"),
        (beside("word_timestamps", json!("maybe")), 400, "body.word_timestamps", "valid boolean"),
        (beside("voice", json!({})), 400, "body.voice", "voice dict must contain 'id'"),
        (beside("seed", json!(1.5)), 400, "body.seed", "valid integer"),
    ]);
}

#[test]
fn faults_within_an_item_are_named_with_its_place() {
    refused([
        (within("speed", json!(0.2)), 400, "body.items.0.speed", "greater than or equal to 0.25"),
        (within("response_format", json!("Wav")), 400, "body.items.0.response_format", "Input should be 'wav'"),
        (within("task_type", json!("base")), 400, "body.items.0.task_type", "'VoiceDesign' or 'Base'"),
        (within("sample_rate", json!(-1)), 400, "body.items.0.sample_rate", "greater than 0"),
        (within("max_new_tokens", json!("x")), 400, "body.items.0.max_new_tokens", "valid integer"),
        (within("initial_codec_chunk_frames", json!(1.5)), 400, "body.items.0.initial_codec_chunk_frames", "valid integer"),
        (within("non_streaming_mode", json!(2)), 400, "body.items.0.non_streaming_mode", "valid boolean"),
        (within("language", json!(5)), 400, "body.items.0.language", "valid string"),
        (within("voice", json!(5)), 400, "body.items.0.voice", "valid string"),
        (within("seed", json!("x")), 400, "body.items.0.seed", "valid integer"),
        (within("extra_params", json!([])), 400, "body.items.0.extra_params", "valid dictionary"),
        (json!({"items": [{"input": TEXT}, 5]}), 400, "body.items.1", "valid dictionary"),
        (json!({"items": [{"input": TEXT}, {"voice": "heart"}]}), 400, "body.items.1.input", "Field required"),
        (json!({"items": [{"input": null}]}), 400, "body.items.0.input", "valid string"),
        (within("references", json!([])), 400, "body.items.0", "must be a non-empty array"),
        (within("ref_audio", json!([5])), 400, "body.items.0.ref_audio", "'ref_audio' list entries must be strings"),
        (within("duration_seconds", json!(-1)), 400, "body.items.0.duration_seconds", "greater than or equal to 0"),
        (within("speaker_embedding", json!(["inf"])), 400, "body.items.0.speaker_embedding", "values must be finite"),
        (json!({"items": [{"input": 5}], "speed": 9}), 400, "body.items.0.input", "2 validation errors:"),
    ]);
}

#[test]
fn a_value_is_coerced_in_a_batch_as_alone() {
    let plain = audio(&json!({"items": [{"input": TEXT, "seed": 7, "speed": 2, "response_format": "pcm"}]}));
    for body in [
        json!({"items": [{"input": TEXT, "seed": "7", "speed": "2.0", "response_format": "pcm"}]}),
        json!({"items": [{"input": TEXT}], "seed": 7.0, "speed": "2", "response_format": "pcm"}),
        json!({"items": [{"input": TEXT, "speed": null}], "seed": " 7 ", "speed": 2, "response_format": "pcm", "voice": "Heart"}),
        json!({"items": [{"input": TEXT, "who": "knows"}], "seed": 7, "speed": 2, "response_format": "pcm", "stream": "perhaps"}),
    ] {
        assert!(audio(&body) == plain, "{body}");
    }
}

/// The sound of the only item of a batch.
fn audio(body: &Value) -> Vec<u8> {
    let answer = batch(body);
    check_good(&answer, "application/json");
    base64::decode(answer.json()["results"][0]["audio_data"].as_str().unwrap_or_else(|| panic!("no audio: {}", answer.start())))
}

#[test]
fn an_item_names_the_type_of_its_file() {
    let formats = [
        ("wav", "audio/wav"),
        ("pcm", "audio/pcm"),
        ("flac", "audio/flac"),
        ("mp3", "audio/mpeg"),
        ("opus", "audio/ogg"),
        ("aac", "audio/aac"),
    ];
    let items = formats.map(|(format, _)| json!({"input": TEXT, "seed": 7, "response_format": format}));
    let results = batch(&json!({"items": items})).json()["results"].take();
    for (index, (format, media_type)) in formats.into_iter().enumerate() {
        assert_eq!(results[index]["media_type"], media_type, "{format}");
        let alone = super::support::asked(&json!({"response_format": format})).body;
        assert!(base64::decode(results[index]["audio_data"].as_str().expect("audio")) == alone, "{format}: another file than alone");
    }
}

#[test]
fn an_answer_has_its_id_its_counts_and_no_nulls() {
    let body =
        json!({"items": [{"input": TEXT}, {"input": TEXT, "voice": "nobody"}, {"input": " "}, {"input": TEXT, "response_format": "mp3"}]});
    let document = batch(&body).json();
    let id = document["id"].as_str().and_then(|id| id.strip_prefix("speech-batch-")).expect("an id");
    assert!(id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
    assert_eq!((&document["total"], &document["succeeded"], &document["failed"]), (&json!(4), &json!(2), &json!(2)));
    let results = document["results"].as_array().expect("a list");
    assert!(results.iter().enumerate().all(|(index, result)| result["index"] == index), "the order of the items is lost");
    for result in results {
        assert!(result.as_object().is_some_and(|members| members.values().all(|value| !value.is_null())), "a null in a result");
    }
    check_items(results);
}

fn check_items(results: &[Value]) {
    for (result, media_type) in [(&results[0], "audio/wav"), (&results[3], "audio/mpeg")] {
        assert_eq!((&result["status"], &result["media_type"]), (&json!("success"), &json!(media_type)));
        assert!(result.get("error").is_none(), "an error beside audio");
        let count = |name: &str| result["usage"][name].as_u64().expect("a count");
        assert_eq!(count("total_tokens"), count("input_tokens") + count("output_tokens"));
    }
    for (result, text) in [(&results[1], "Invalid voice 'nobody'"), (&results[2], "empty")] {
        assert_eq!(result["status"], "error");
        assert!(result["error"].as_str().is_some_and(|error| error.contains(text)), "{result}");
        assert!(["audio_data", "media_type", "usage"].iter().all(|member| result.get(member).is_none()), "{result}");
    }
}
