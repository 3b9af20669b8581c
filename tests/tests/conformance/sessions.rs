//! Sessions on the WebSocket: every field of a configuration, and the examples of how text is split, each as its client sees it.

use omni_tests::websocket::{Frames, Report, close, config, done, text};
use serde_json::{Value, json};

use super::support::{TEXT, asked, report, server};

/// Sends a configuration in a session that has one and gives the error that comes of it; none where there is none.
fn told(session: &mut Frames, fields: &Value) -> Option<Value> {
    session.send(&config(fields));
    session.send(&done());
    let answer = session.read();
    if answer["type"] == "session.done" {
        return None;
    }
    assert_eq!(session.read()["type"], "session.done");
    Some(answer)
}

#[test]
fn a_field_that_is_wrong_is_named_and_the_last_configuration_holds() {
    let mut session = Frames::open_with(server(), &json!({"response_format": "pcm", "seed": 7}));
    let (whole, flag, string) = ("Input should be a valid integer", "Input should be a valid boolean", "Input should be a valid string");
    let rows = [
        ("model", json!(5), string),
        ("model", json!("nope"), "The model `nope` does not exist."),
        ("voice", json!(5), string),
        ("voice", json!({}), "voice dict must contain 'id'"),
        ("speaker", json!([]), string),
        ("instructions", json!(5), string),
        ("language", json!({}), string),
        ("task_type", json!("base"), "Input should be 'CustomVoice', 'VoiceDesign' or 'Base'"),
        ("response_format", json!("ogg"), "Input should be 'wav', 'pcm', 'flac', 'mp3', 'opus'"),
        ("response_format", json!(null), "Input should be 'wav', 'pcm', 'flac', 'mp3', 'opus'"),
        ("speed", json!(0.24), "Input should be greater than or equal to 0.25"),
        ("speed", json!(4.1), "Input should be less than or equal to 4"),
        ("speed", json!("fast"), "unable to parse string as a number"),
        ("sample_rate", json!(0), "Input should be greater than 0"),
        ("sample_rate", json!(1.5), whole),
        ("max_new_tokens", json!(0), "Input should be greater than or equal to 1"),
        ("initial_codec_chunk_frames", json!(-1), "Input should be greater than or equal to 0"),
        ("non_streaming_mode", json!("maybe"), flag),
        ("seed", json!("lucky"), whole),
        ("ref_audio", json!([]), "'ref_audio' list cannot be empty"),
        ("ref_audio", json!(5), "'ref_audio' must be a string or list of strings"),
        ("ref_text", json!(5), string),
        ("references", json!([]), "'references' must be a non-empty array"),
        ("x_vector_only_mode", json!(7), flag),
        ("speaker_embedding", json!("a"), "Input should be a valid list"),
        ("speaker_embedding", json!(["inf"]), "values must be finite (no NaN or Inf)"),
        ("extra_params", json!([]), "Input should be a valid dictionary"),
        ("stream_audio", json!("maybe"), flag),
        ("stream_audio", json!(null), flag),
        (
            "stream_audio",
            json!(true),
            "WebSocket streaming audio (stream_audio=true) requires response_format='pcm'. Got response_format='wav'.",
        ),
        ("word_timestamps", json!("maybe"), flag),
        ("word_timestamps", json!(null), flag),
        ("split_granularity", json!("word"), "Input should be 'none', 'sentence' or 'clause'"),
        ("split_granularity", json!(null), "Input should be 'none', 'sentence' or 'clause'"),
        ("split_granularity", json!("Sentence"), "Input should be 'none', 'sentence' or 'clause'"),
    ];
    report(rows.into_iter().map(|(field, value, said)| {
        let error = told(&mut session, &json!({field: value})).unwrap_or_default();
        let message = error["message"].as_str().unwrap_or_default();
        let is_told = error["type"] == "error" && message.starts_with("Invalid session config: ") && message.contains(said);
        (!is_told).then(|| format!("session.config: {field} {value}: expected {said:?}, got {error}"))
    }));
    let both = told(&mut session, &json!({"speaker_embedding": [1.0], "ref_audio": "a"})).unwrap_or_default();
    assert!(
        both["message"].as_str().is_some_and(|text| text.contains("'speaker_embedding' and 'ref_audio' are mutually exclusive")),
        "{both}"
    );
    assert!(sound(session) == asked(&json!({"response_format": "pcm"})).body, "the first configuration does not hold any more");
}

/// The sound of a short text, said as the last one of a session.
fn sound(mut session: Frames) -> Vec<u8> {
    [text(TEXT), done(), close()].iter().for_each(|message| session.send(message));
    let units = session.read_out().units();
    units.last().expect("a unit").frames.concat()
}

#[test]
fn values_are_coerced_as_in_a_request_and_unknown_fields_are_passed_over() {
    let rows = [
        (json!({"speed": "2.0"}), json!({"speed": 2})),
        (json!({"speed": null}), json!({})),
        (json!({"sample_rate": "8000"}), json!({"sample_rate": 8000})),
        (json!({"seed": "7", "voice": {"id": "Heart"}}), json!({"voice": "heart"})),
        (json!({"speaker": "heart", "model": ""}), json!({"voice": "heart"})),
        (json!({"voice": "default", "language": null, "ref_text": null}), json!({})),
        (json!({"stream_audio": "yes"}), json!({})),
        (json!({"stream_audio": 1, "speed": 0.5}), json!({"speed": 0.5})),
        (json!({"stream_audio": "off", "split_granularity": "clause"}), json!({})),
        (json!({"stream": "perhaps", "stream_format": 5, "input": 7}), json!({})),
        (json!({"who": "knows", "extra_params": {"who": "knows"}}), json!({})),
    ];
    report(rows.into_iter().map(|(fields, means)| {
        let with = |fields: &Value| {
            let mut all = json!({"response_format": "pcm", "seed": 7});
            fields.as_object().expect("fields").iter().for_each(|(name, value)| all[name] = value.clone());
            all
        };
        let found = sound(Frames::open_with(server(), &with(&fields)));
        (found != asked(&with(&means)).body).then(|| format!("session.config: {fields} is not read as {means}"))
    }));
}

/// How finely is split, the text in its pieces, the units that come of it at once, and what the flush brings.
type Split = (&'static str, &'static [&'static str], &'static [&'static str], &'static [&'static str]);

#[rustfmt::skip]
const SPLITS: [Split; 20] = [
    ("sentence", &["Hello world. How are you?"], &["Hello world."], &["How are you?"]),
    ("sentence", &["Wait... what?! No"], &["Wait...", "what?!"], &["No"]),
    ("sentence", &["He said \"Hello.\" Then left."], &["He said \"Hello.\""], &["Then left."]),
    ("sentence", &["Pi is 3.14 and 1,000 items. Ok"], &["Pi is 3.14 and 1,000 items."], &["Ok"]),
    ("sentence", &["Dr. Smith met J. R. Tolkien at 5 p.m. today. Bye."], &["Dr. Smith met J. R. Tolkien at 5 p.m. today."], &["Bye."]),
    ("sentence", &["Version 2.", "0 is out. Yes"], &["Version 2.0 is out."], &["Yes"]),
    ("sentence", &["It is etc. And more."], &[], &["It is etc. And more."]),
    ("sentence", &["no. this"], &[], &["no. this"]),
    ("sentence", &["Hello.World. Hi"], &["Hello.World."], &["Hi"]),
    ("sentence", &["你好。世界！再见"], &["你好。", "世界！"], &["再见"]),
    ("sentence", &["你好。"], &[], &["你好。"]),
    ("sentence", &["Is it…really? Yes"], &["Is it…", "really?"], &["Yes"]),
    ("sentence", &["Hel", "lo", ". ", "Bye", ".", ""], &["Hello."], &["Bye."]),
    ("sentence", &["One line\nand: another"], &[], &["One line\nand: another"]),
    ("sentence", &["... 。。。", "x"], &["...", "。。。"], &["x"]),
    ("clause", &["Hello, world; how are you? Fine, thanks."], &["Hello,", "world;", "how are you?", "Fine,"], &["thanks."]),
    ("clause", &["1,000 people, 3.5 apples; ok"], &["1,000 people,", "3.5 apples;"], &["ok"]),
    ("clause", &["a,b, c"], &["a,b,"], &["c"]),
    ("none", &[" a. ", "b "], &[], &["a. b"]),
    ("none", &["One. Two. ", "  "], &[], &["One. Two."]),
];

/// Whether a unit can be spoken or not, its text is told. An answer to a message that is none marks where the text had been worked off.
#[test]
fn text_is_split_as_the_examples_are() {
    report(SPLITS.into_iter().map(|(granularity, pieces, at_once, flushed)| {
        let mut session = Frames::open_with(server(), &json!({"split_granularity": granularity, "seed": 7}));
        pieces.iter().for_each(|piece| session.send(&text(piece)));
        [json!({"type": "mark"}), done(), close()].iter().for_each(|message| session.send(message));
        let report = session.read_out();
        let mark = report.events.iter().position(|event| event["message"] == "Unknown message type: mark").expect("an answer to the mark");
        let units =
            |events: &[Value]| events.iter().filter_map(|event| event["sentence_text"].as_str().map(str::to_owned)).collect::<Vec<_>>();
        let (first, rest) = (units(&report.events[..mark]), units(&report.events[mark..]));
        (first != at_once || rest != flushed).then(|| format!("splitting by {granularity}: {pieces:?}: {first:?}, {rest:?}"))
    }));
}

/// The messages that end a session, and how it ends.
#[test]
fn every_session_ends_with_a_code_and_a_reason() {
    let rows = [
        (vec![config(&json!({})), close()], 1000, "session.close", 0),
        (vec![config(&json!({})), text("Never said. "), close()], 1000, "session.close", 0),
        (vec![close()], 1008, "Expected session.config, got: session.close", 1),
        (vec![text("Hi.")], 1008, "Expected session.config, got: input.text", 1),
        (vec![json!({"type": "hello"})], 1008, "Expected session.config, got: hello", 1),
        (vec![json!({"type": 5})], 1008, "Expected session.config, got: 5", 1),
        (vec![json!({})], 1008, "Expected session.config, got: None", 1),
        (vec![json!([])], 1008, "WebSocket messages must be JSON objects", 1),
        (vec![json!("text")], 1008, "WebSocket messages must be JSON objects", 1),
        (vec![config(&json!({"speed": 9}))], 1008, "Invalid session config: 1 validation error:", 1),
        (vec![config(&json!({"model": "nope"}))], 1008, "Invalid session config: The model `nope` does not exist.", 1),
    ];
    report(rows.into_iter().map(|(messages, code, reason, errors)| {
        let mut session = Frames::open(server());
        messages.iter().for_each(|message| session.send(message));
        let Report { events, code: found, reason: told } = session.read_out();
        let is_right = found == Some(code) && told.as_deref().is_some_and(|told| told.starts_with(reason)) && events.len() == errors;
        (!is_right).then(|| format!("{messages:?}: {found:?} {told:?} {events:?}"))
    }));
}
