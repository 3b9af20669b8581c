//! Values that become their field's type: numbers in strings, words for booleans, integral floats; text only from text.

use serde_json::{Value, json};

use super::support::{Refused, Same, refused, same};

const INTEGER: &str = "speech: whole numbers";
const NUMBER: &str = "speech: numbers";
const FLAG: &str = "speech: booleans";
const STRING: &str = "speech: text";

/// Words for yes and for no.
const YES: [&str; 12] = ["true", "TRUE", "True", "1", "yes", "Yes", "on", "ON", "t", "T", "y", "Y"];
const NO: [&str; 12] = ["false", "FALSE", "False", "0", "no", "NO", "off", "Off", "f", "F", "n", "N"];

#[test]
fn whole_numbers_come_from_strings_booleans_and_integral_floats() {
    same([
        (INTEGER, "seed", json!("5"), json!(5)),
        (INTEGER, "seed", json!("-5"), json!(-5)),
        (INTEGER, "seed", json!(" 5 "), json!(5)),
        (INTEGER, "seed", json!("5.0"), json!(5)),
        (INTEGER, "seed", json!("1_0"), json!(10)),
        (INTEGER, "sample_rate", json!("8000"), json!(8000)),
        (INTEGER, "sample_rate", json!(8000.0), json!(8000)),
        (INTEGER, "seed", json!(5.0), json!(5)),
        (INTEGER, "seed", json!(-0.0), json!(0)),
        (INTEGER, "seed", json!(1e3), json!(1000)),
        (INTEGER, "seed", json!(true), json!(1)),
        (INTEGER, "seed", json!(false), json!(0)),
        (INTEGER, "seed", json!("9223372036854775807"), json!(i64::MAX)),
        (INTEGER, "seed", json!("-9223372036854775808"), json!(i64::MIN)),
        (INTEGER, "max_new_tokens", json!("10"), Value::Null),
        (INTEGER, "max_new_tokens", json!(10.0), Value::Null),
        (INTEGER, "max_new_tokens", json!(true), Value::Null),
        (INTEGER, "initial_codec_chunk_frames", json!("0"), Value::Null),
        (INTEGER, "initial_codec_chunk_frames", json!(2.0), Value::Null),
        (INTEGER, "initial_codec_chunk_frames", json!(false), Value::Null),
    ]);
}

#[test]
fn what_is_no_whole_number_is_refused() {
    let (any, fraction, unparsed) = ("Input should be a valid integer", "got a number with a fractional part", "unable to parse string");
    refused([
        (INTEGER, "seed", json!(1.5), 400, "body.seed", fraction),
        (INTEGER, "seed", json!("1.5"), 400, "body.seed", unparsed),
        (INTEGER, "seed", json!("1e3"), 400, "body.seed", unparsed),
        (INTEGER, "seed", json!("0x10"), 400, "body.seed", unparsed),
        (INTEGER, "seed", json!("_1"), 400, "body.seed", unparsed),
        (INTEGER, "seed", json!("1_"), 400, "body.seed", unparsed),
        (INTEGER, "seed", json!("1__0"), 400, "body.seed", unparsed),
        (INTEGER, "seed", json!(""), 400, "body.seed", unparsed),
        (INTEGER, "seed", json!("true"), 400, "body.seed", unparsed),
        (INTEGER, "seed", json!([1]), 400, "body.seed", any),
        (INTEGER, "seed", json!({}), 400, "body.seed", any),
        (INTEGER, "sample_rate", json!(24_000.5), 400, "body.sample_rate", fraction),
        (INTEGER, "sample_rate", json!("fast"), 400, "body.sample_rate", unparsed),
        (INTEGER, "sample_rate", json!([8000]), 400, "body.sample_rate", any),
        (INTEGER, "max_new_tokens", json!(1.5), 400, "body.max_new_tokens", fraction),
        (INTEGER, "max_new_tokens", json!("many"), 400, "body.max_new_tokens", unparsed),
        (INTEGER, "max_new_tokens", json!({}), 400, "body.max_new_tokens", any),
        (INTEGER, "initial_codec_chunk_frames", json!(2.5), 400, "body.initial_codec_chunk_frames", fraction),
        (INTEGER, "initial_codec_chunk_frames", json!("x"), 400, "body.initial_codec_chunk_frames", unparsed),
        (INTEGER, "initial_codec_chunk_frames", json!([]), 400, "body.initial_codec_chunk_frames", any),
    ]);
}

#[test]
fn numbers_come_from_strings_and_booleans() {
    same([
        (NUMBER, "speed", json!("2"), json!(2.0)),
        (NUMBER, "speed", json!("2.0"), json!(2.0)),
        (NUMBER, "speed", json!(" 2.0 "), json!(2.0)),
        (NUMBER, "speed", json!("2e0"), json!(2.0)),
        (NUMBER, "speed", json!("0.25"), json!(0.25)),
        (NUMBER, "speed", json!("1.2_5"), json!(1.25)),
        (NUMBER, "speed", json!(2), json!(2.0)),
        (NUMBER, "speed", json!(true), json!(1.0)),
        (NUMBER, "duration_seconds", json!("1.5"), Value::Null),
        (NUMBER, "duration_seconds", json!(true), Value::Null),
        (NUMBER, "duration_seconds", json!(3), Value::Null),
    ]);
}

#[test]
fn what_is_no_number_is_refused() {
    let (any, unparsed) = ("Input should be a valid number", "unable to parse string as a number");
    refused([
        (NUMBER, "speed", json!("fast"), 400, "body.speed", unparsed),
        (NUMBER, "speed", json!(""), 400, "body.speed", unparsed),
        (NUMBER, "speed", json!("1,5"), 400, "body.speed", unparsed),
        (NUMBER, "speed", json!("_1.5"), 400, "body.speed", unparsed),
        (NUMBER, "speed", json!("1_.5"), 400, "body.speed", unparsed),
        (NUMBER, "speed", json!([1.0]), 400, "body.speed", any),
        (NUMBER, "speed", json!({}), 400, "body.speed", any),
        (NUMBER, "duration_seconds", json!("x"), 400, "body.duration_seconds", unparsed),
        (NUMBER, "duration_seconds", json!([1]), 400, "body.duration_seconds", any),
        (NUMBER, "duration_seconds", json!({}), 400, "body.duration_seconds", any),
    ]);
}

/// The rows of one field and the words for one answer.
fn words(field: &'static str, words: [&'static str; 12], means: bool) -> Vec<Same> {
    words.into_iter().map(|word| (FLAG, field, json!(word), json!(means))).collect()
}

#[test]
fn booleans_come_from_words_in_any_case_and_from_zero_and_one() {
    same(words("stream", YES, true));
    same(words("stream", NO, false));
    same(words("word_timestamps", NO, false));
    same([
        (FLAG, "stream", json!(1), json!(true)),
        (FLAG, "stream", json!(1.0), json!(true)),
        (FLAG, "stream", json!(0), json!(false)),
        (FLAG, "stream", json!(0.0), json!(false)),
        (FLAG, "word_timestamps", json!(0), Value::Null),
        (FLAG, "x_vector_only_mode", json!("yes"), Value::Null),
        (FLAG, "x_vector_only_mode", json!(1), Value::Null),
        (FLAG, "non_streaming_mode", json!("Off"), Value::Null),
        (FLAG, "non_streaming_mode", json!(0), Value::Null),
        (FLAG, "text_cleanup", json!("yes"), json!(true)),
        (FLAG, "text_cleanup", json!("No"), json!(false)),
    ]);
}

/// The rows of one boolean field that is refused.
fn no_flag(field: &'static str, param: &'static str) -> [Refused; 7] {
    let (any, unparsed) = ("Input should be a valid boolean", "unable to interpret input");
    let row = |value: Value, text: &'static str| (FLAG, field, value, 400, param, text);
    let words = [row(json!("maybe"), unparsed), row(json!(""), unparsed), row(json!("2"), unparsed)];
    let numbers = [row(json!(2), unparsed), row(json!(-1), unparsed)];
    let [first, second, third] = words;
    let [fourth, fifth] = numbers;
    [first, second, third, fourth, fifth, row(json!([]), any), row(json!({}), any)]
}

#[test]
fn what_is_no_boolean_is_refused() {
    refused(no_flag("stream", "body.stream"));
    refused(no_flag("word_timestamps", "body.word_timestamps"));
    refused(no_flag("x_vector_only_mode", "body.x_vector_only_mode"));
    refused(no_flag("non_streaming_mode", "body.non_streaming_mode"));
}

#[test]
fn text_comes_from_text_only() {
    let text = "Input should be a valid string";
    refused([
        (STRING, "input", json!(5), 400, "body.input", text),
        (STRING, "input", json!(null), 400, "body.input", text),
        (STRING, "input", json!(["Hi."]), 400, "body.input", text),
        (STRING, "model", json!(5), 400, "body.model", text),
        (STRING, "model", json!(true), 400, "body.model", text),
        (STRING, "voice", json!(1.5), 400, "body.voice", text),
        (STRING, "voice", json!(true), 400, "body.voice", text),
        (STRING, "voice", json!(["heart"]), 400, "body.voice", text),
        (STRING, "speaker", json!(5), 400, "body.speaker", text),
        (STRING, "instructions", json!(5), 400, "body.instructions", text),
        (STRING, "instructions", json!({}), 400, "body.instructions", text),
        (STRING, "language", json!(5), 400, "body.language", text),
        (STRING, "language", json!(["en"]), 400, "body.language", text),
        (STRING, "ref_text", json!(5), 400, "body.ref_text", text),
        (STRING, "ref_audio_2", json!(5), 400, "body.ref_audio_2", text),
        (STRING, "ambient_sound", json!(false), 400, "body.ambient_sound", text),
    ]);
}

#[test]
fn objects_come_from_objects_only() {
    let (topic, text) = ("speech: objects", "Input should be a valid dictionary");
    refused([
        (topic, "extra_params", json!([]), 400, "body.extra_params", text),
        (topic, "extra_params", json!("{}"), 400, "body.extra_params", text),
        (topic, "extra_params", json!(1), 400, "body.extra_params", text),
        (topic, "extra_params", json!(true), 400, "body.extra_params", text),
    ]);
    same([(topic, "extra_params", json!({}), Value::Null), (topic, "extra_params", json!({"who": "knows"}), Value::Null)]);
}
