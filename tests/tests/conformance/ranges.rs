//! Nulls, ranges at their bounds and just beyond, choices in their exact case, and keys that nobody knows.

use omni_tests::http;
use omni_tests::raw;
use omni_tests::speech::PATH;
use serde_json::{Value, json};

use super::support::{Same, not_refused, refused, refused_fields, report, same, same_fields, server};

const NULL: &str = "speech: null";
const RANGE: &str = "speech: ranges";
const CHOICE: &str = "speech: choices";

/// Fields in which null is the same as nothing.
const NULLABLE: [&str; 23] = [
    "model",
    "voice",
    "speaker",
    "instructions",
    "sample_rate",
    "speed",
    "stream_format",
    "task_type",
    "language",
    "ref_audio",
    "ref_text",
    "ref_audio_2",
    "ambient_sound",
    "duration_seconds",
    "x_vector_only_mode",
    "speaker_embedding",
    "max_new_tokens",
    "initial_codec_chunk_frames",
    "non_streaming_mode",
    "extra_params",
    "references",
    "text_cleanup",
    "nobody_knows_this",
];

#[test]
fn null_is_nothing_where_it_may_stand() {
    same(NULLABLE.map(|field| -> Same { (NULL, field, Value::Null, Value::Null) }));
    assert!(super::support::asked(&json!({"seed": null})).status == 200, "a null seed is no seed");
}

#[test]
fn null_is_refused_where_it_may_not_stand() {
    refused([
        (NULL, "input", Value::Null, 400, "body.input", "Input should be a valid string"),
        (NULL, "response_format", Value::Null, 400, "body.response_format", "Input should be 'wav', 'pcm', 'flac'"),
        (NULL, "stream", Value::Null, 400, "body.stream", "Input should be a valid boolean"),
        (NULL, "word_timestamps", Value::Null, 400, "body.word_timestamps", "Input should be a valid boolean"),
    ]);
}

#[test]
fn bounds_are_within() {
    same([
        (RANGE, "speed", json!(0.25), json!("0.25")),
        (RANGE, "speed", json!(4), json!("4.0")),
        (RANGE, "seed", json!(i64::MIN), json!("-9223372036854775808")),
        (RANGE, "seed", json!(i64::MAX), json!("9223372036854775807")),
        (RANGE, "max_new_tokens", json!(1), Value::Null),
        (RANGE, "max_new_tokens", json!(i64::MAX), Value::Null),
        (RANGE, "initial_codec_chunk_frames", json!(0), Value::Null),
        (RANGE, "initial_codec_chunk_frames", json!(i64::MAX), Value::Null),
        (RANGE, "duration_seconds", json!(0), Value::Null),
    ]);
}

#[test]
fn just_beyond_a_bound_is_refused() {
    let most = "Input should be less than or equal to";
    let least = "Input should be greater than or equal to";
    let beyond = 9_223_372_036_854_775_808_u64;
    refused([
        (RANGE, "speed", json!(0.2499), 400, "body.speed", "Input should be greater than or equal to 0.25"),
        (RANGE, "speed", json!(4.0001), 400, "body.speed", "Input should be less than or equal to 4"),
        (RANGE, "speed", json!("4.0001"), 400, "body.speed", "Input should be less than or equal to 4"),
        (RANGE, "speed", json!(false), 400, "body.speed", least),
        (RANGE, "speed", json!(-1), 400, "body.speed", least),
        (RANGE, "speed", json!("inf"), 400, "body.speed", most),
        (RANGE, "speed", json!("-inf"), 400, "body.speed", least),
        (RANGE, "seed", json!(beyond), 400, "body.seed", most),
        (RANGE, "seed", json!("9223372036854775808"), 400, "body.seed", most),
        (RANGE, "seed", json!("-9223372036854775809"), 400, "body.seed", least),
        (RANGE, "max_new_tokens", json!(0), 400, "body.max_new_tokens", "Input should be greater than or equal to 1"),
        (RANGE, "max_new_tokens", json!(false), 400, "body.max_new_tokens", "Input should be greater than or equal to 1"),
        (RANGE, "max_new_tokens", json!(-1), 400, "body.max_new_tokens", least),
        (RANGE, "max_new_tokens", json!(beyond), 400, "body.max_new_tokens", most),
        (RANGE, "initial_codec_chunk_frames", json!(-1), 400, "body.initial_codec_chunk_frames", least),
        (RANGE, "initial_codec_chunk_frames", json!(beyond), 400, "body.initial_codec_chunk_frames", most),
        (RANGE, "duration_seconds", json!(-0.1), 400, "body.duration_seconds", "Input should be greater than or equal to 0"),
        (RANGE, "duration_seconds", json!("-1"), 400, "body.duration_seconds", least),
        (RANGE, "sample_rate", json!(0), 400, "body.sample_rate", "Input should be greater than 0"),
        (RANGE, "sample_rate", json!(false), 400, "body.sample_rate", "Input should be greater than 0"),
        (RANGE, "sample_rate", json!(-8000), 400, "body.sample_rate", "Input should be greater than 0"),
        (RANGE, "sample_rate", json!(1), 400, "sample_rate", "is not supported by the current TTS model"),
        (RANGE, "sample_rate", json!("11025"), 400, "sample_rate", "is not supported by the current TTS model"),
        (RANGE, "sample_rate", json!(96_000), 400, "sample_rate", "is not supported by the current TTS model"),
    ]);
}

#[test]
fn choices_are_exact() {
    let (format, stream, task) = (
        "Input should be 'wav', 'pcm', 'flac', 'mp3', 'opus'",
        "'sse' or 'audio'",
        "Input should be 'CustomVoice', 'VoiceDesign' or 'Base'",
    );
    refused([
        (CHOICE, "response_format", json!("WAV"), 400, "body.response_format", format),
        (CHOICE, "response_format", json!("Mp3"), 400, "body.response_format", format),
        (CHOICE, "response_format", json!(" wav"), 400, "body.response_format", format),
        (CHOICE, "response_format", json!(""), 400, "body.response_format", format),
        (CHOICE, "response_format", json!("ogg"), 400, "body.response_format", format),
        (CHOICE, "response_format", json!("audio/wav"), 400, "body.response_format", format),
        (CHOICE, "response_format", json!({"type": "wav"}), 400, "body.response_format", format),
        (CHOICE, "stream_format", json!("SSE"), 400, "body.stream_format", stream),
        (CHOICE, "stream_format", json!("Audio"), 400, "body.stream_format", stream),
        (CHOICE, "stream_format", json!(""), 400, "body.stream_format", stream),
        (CHOICE, "stream_format", json!(true), 400, "body.stream_format", stream),
        (CHOICE, "task_type", json!("base"), 400, "body.task_type", task),
        (CHOICE, "task_type", json!("CUSTOMVOICE"), 400, "body.task_type", task),
        (CHOICE, "task_type", json!(""), 400, "body.task_type", task),
        (CHOICE, "task_type", json!(5), 400, "body.task_type", task),
    ]);
    same([(CHOICE, "task_type", json!("CustomVoice"), Value::Null), (CHOICE, "language", json!("English"), Value::Null)]);
}

#[test]
fn keys_nobody_knows_are_passed_over() {
    let topic = "speech: unknown keys";
    same_fields([
        (topic, json!({"user": "me", "metadata": {"deep": [1]}}), json!({})),
        (topic, json!({"Speed": 9, "VOICE": "nobody", "responseFormat": "x"}), json!({})),
        (topic, json!({"": 1, "ünïcode": null}), json!({})),
        (topic, json!({"messages": [], "speakers": 1, "reference_audio": "x"}), json!({})),
        (topic, json!({"temperature": "hot", "top_p": -1, "n": 2}), json!({})),
    ]);
    let answer = http::post_json(&server().url(PATH), &json!({"Input": "Hi."}));
    report([not_refused(&answer, 400, "body.input", "Field required")].into_iter());
}

#[test]
fn all_faults_are_told_and_the_first_names_the_param() {
    refused_fields([
        ("errors: count", json!({"speed": 9, "seed": "x"}), 400, "body.speed", "2 validation errors:"),
        ("errors: count", json!({"speed": 9}), 400, "body.speed", "1 validation error:"),
        ("errors: order", json!({"input": 5, "speed": 9, "stream": null}), 400, "body.input", "3 validation errors:"),
        ("errors: words", json!({"speed": 9}), 400, "body.speed", "'loc': ('body', 'speed')"),
        ("errors: input", json!({"extra_params": [1, 2]}), 400, "body.extra_params", "<list of 2 items>"),
    ]);
}

#[test]
fn a_body_in_two_writes_is_one_body() {
    let bytes = raw::post(PATH, super::support::with(&json!({})).to_string().as_bytes());
    let (first, second) = bytes.split_at(bytes.len() - 5);
    let mut connection = server().connect();
    connection.send(first);
    connection.send(second);
    assert!(connection.read_answer().body == super::support::asked(&json!({})).body, "another answer");
}
