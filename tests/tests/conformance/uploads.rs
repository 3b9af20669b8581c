//! Uploading, listing and deleting voices: one row a rule of the reference.

use std::sync::OnceLock;

use omni_tests::http::{self, Answer};
use omni_tests::server::Server;
use omni_tests::upload::{Form, VOICES, delete, listing, tone};
use serde_json::{Value, json};
use ureq::http::Method;

use super::support::{not_refused, report};

/// A server of its own: the listings of the shared one are looked at by others.
fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(Server::start)
}

fn clip() -> Vec<u8> {
    tone(220.0, 1.5, 16_000)
}

/// The rule, the upload, the `param`, and a part of the message.
type Row = (&'static str, Form, &'static str, &'static str);

fn refused(rows: impl IntoIterator<Item = Row>) {
    report(rows.into_iter().map(|(rule, form, param, text)| {
        let problem = not_refused(&form.send(server()), 400, param, text)?;
        Some(format!("{rule}: {problem}"))
    }));
}

fn good(form: Form) -> Value {
    let answer = form.send(server());
    assert_eq!(answer.status, 200, "{}", answer.start());
    answer.json()
}

fn vector(text: &str) -> Form {
    Form::of("vector").text("speaker_embedding", text)
}

#[test]
fn missing_parts_are_named() {
    let just = |name: &str, value: &str| Form::default().text(name, value);
    refused([
        ("no name", just("consent", "c").clip(&clip()), "body.name", "Field required"),
        ("an empty name is none", just("consent", "c").text("name", "").clip(&clip()), "body.name", "Field required"),
        ("no consent", just("name", "a").clip(&clip()), "body.consent", "Field required"),
        ("an empty consent is none", just("name", "a").text("consent", "").clip(&clip()), "body.consent", "Field required"),
        ("neither", Form::default().clip(&clip()), "body.name", "2 validation errors:"),
        ("OpenAI's form of a prompt", just("name", "a").text("type", "prompt").text("prompt", "calm"), "body.consent", "Field required"),
        ("a text for a file", Form::of("a").text("audio_sample", "RIFF"), "body.audio_sample", "Expected UploadFile"),
        ("a file for a text", Form::default().file("name", "a", None, b"a").text("consent", "c"), "body.name", "valid string"),
    ]);
}

#[test]
fn one_payload_is_needed_and_no_more() {
    let both = Form::of("a").clip(&clip()).text("speaker_embedding", "[1]");
    refused([
        ("both", both, "audio_sample", "'audio_sample' and 'speaker_embedding' are mutually exclusive"),
        ("neither", Form::of("a"), "audio_sample", "Either 'audio_sample' or 'speaker_embedding' must be provided"),
        ("no file chosen", Form::of("a").file("audio_sample", "", None, b""), "audio_sample", "Either 'audio_sample' or"),
        ("an empty vector part", Form::of("a").text("speaker_embedding", ""), "audio_sample", "Either 'audio_sample' or"),
    ]);
}

#[test]
fn names_are_checked_before_the_payload() {
    let rows = [
        (" ", "Invalid voice name ' ': must be non-empty, no path separators or NUL"),
        (".", "Invalid voice name '.': must be non-empty, no path separators or NUL"),
        ("..", "Invalid voice name '..': must be non-empty, no path separators or NUL"),
        ("a/b", "Invalid voice name 'a/b': must be non-empty, no path separators or NUL"),
        ("a\\b", "Invalid voice name 'a\\\\b': must be non-empty, no path separators or NUL"),
        ("a\0b", "Invalid voice name 'a\\x00b': must be non-empty, no path separators or NUL"),
        ("it's/", "Invalid voice name \"it's/\": must be"),
    ];
    refused(rows.map(|(name, text)| ("name", Form::of(name).file("audio_sample", "a", Some("text/plain"), b""), "name", text)));
}

#[test]
fn files_are_checked_by_size_kind_and_content() {
    let file = |kind: Option<&str>, bytes: &[u8]| Form::of("a").file("audio_sample", "a.wav", kind, bytes);
    refused([
        (
            "size",
            file(Some("text/plain"), &vec![0; 10_485_761]),
            "audio_sample",
            "File size exceeds maximum limit of 10MB. Got 10485761 bytes.",
        ),
        ("kind", file(Some("text/plain"), &clip()), "audio_sample", "Unsupported MIME type: text/plain. Allowed: "),
        ("kind", file(Some("audio/midi"), &clip()), "audio_sample", "Unsupported MIME type: audio/midi. Allowed: "),
        ("content", file(Some("audio/wav"), b"no sound"), "audio_sample", "Could not decode audio file: "),
        ("the limit is allowed", file(Some("audio/wav"), &vec![1; 10_485_760]), "audio_sample", "Could not decode audio file: "),
        ("short", Form::of("a").clip(&tone(220.0, 0.5, 16_000)), "audio_sample", "Reference audio too short (0.5s). At least 1s of clear"),
        (
            "long",
            Form::of("a").clip(&tone(220.0, 30.5, 8000)),
            "audio_sample",
            "Reference audio too long (30.5s). Maximum 30s supported — use",
        ),
    ]);
}

#[test]
fn vectors_are_checked() {
    let long = format!("[{}0]", "0,".repeat(4096));
    refused([
        ("JSON", vector("[1"), "speaker_embedding", "'speaker_embedding' must be valid JSON: "),
        ("a list", vector("{\"a\": 1}"), "speaker_embedding", "'speaker_embedding' must be a non-empty list of numbers"),
        ("not empty", vector("[]"), "speaker_embedding", "'speaker_embedding' must be a non-empty list of numbers"),
        ("length", vector(&long), "speaker_embedding", "'speaker_embedding' exceeds maximum length (4096 elements)"),
        ("numbers", vector("[1, \"a\"]"), "speaker_embedding", "'speaker_embedding' must contain only numeric values"),
        ("finite", vector("[NaN]"), "speaker_embedding", "'speaker_embedding' values must be finite (no NaN or Inf)"),
    ]);
    assert_eq!(good(Form::of("flags").text("speaker_embedding", "[true, 2]"))["voice"]["embedding_dim"], 2);
}

#[test]
fn names_of_the_model_are_reserved() {
    let text = "is reserved by a built-in speaker of this model; choose a different name.";
    let rows = ["heart", "HEART", " Heart ", "һeаrt"];
    refused(rows.map(|name| ("reserved", Form::of(name).clip(&clip()), "name", text)));
    refused([(
        "exact",
        Form::of("heart").clip(&clip()),
        "name",
        "Voice name 'heart' is reserved by a built-in speaker of this model; choose a",
    )]);
}

#[test]
fn a_clip_is_answered_and_listed_with_all_that_was_said_of_it() {
    let bytes = clip();
    let form = Form::of("  My Voice ").text("ref_text", " Good day. ").text("speaker_description", " calm ").text("unknown", "part");
    let answer = good(form.clip(&bytes));
    let created_at = &answer["created_at"];
    assert!(created_at.is_u64(), "{answer}");
    let voice = json!({"name": "My Voice", "consent": "consent-1", "created_at": created_at, "mime_type": "audio/wav", "file_size": bytes.len(),
                       "ref_text": "Good day.", "speaker_description": "calm"});
    let wanted = json!({"success": true, "voice": voice, "id": "My Voice", "object": "audio.voice", "name": "My Voice",
                        "created_at": created_at, "type": "audio_sample"});
    assert_eq!(answer, wanted);
    let mut wanted = voice;
    wanted["embedding_source"] = json!("audio");
    wanted["embedding_dim"] = Value::Null;
    assert_eq!(listed("My Voice"), wanted);
    assert!(listing(server())["voices"].as_array().is_some_and(|voices| voices.contains(&json!("my voice"))));
}

fn listed(name: &str) -> Value {
    let listing = listing(server());
    let voices = listing["uploaded_voices"].as_array().expect("a list");
    voices.iter().find(|voice| voice["name"] == name).cloned().unwrap_or_else(|| panic!("{name} is not listed: {listing}"))
}

#[test]
fn a_vector_is_answered_and_listed_as_one_and_the_texts_of_clips_are_ignored() {
    let answer =
        good(Form::of("A Vector").text("speaker_embedding", "[0.5, 1, -2]").text("ref_text", "no").text("speaker_description", "no"));
    let created_at = &answer["created_at"];
    let voice =
        json!({"name": "A Vector", "consent": "consent-1", "created_at": created_at, "embedding_source": "direct", "embedding_dim": 3});
    assert_eq!(answer["voice"], voice);
    let listed = listed("A Vector");
    assert_eq!((&listed["embedding_source"], &listed["embedding_dim"]), (&json!("direct"), &json!(3)), "{listed}");
    assert_eq!(listed["mime_type"], "application/x-safetensors");
    assert!(listed.get("ref_text").is_none() && listed["file_size"].as_u64() > Some(0), "{listed}");
}

#[test]
fn a_vector_may_come_urlencoded() {
    let body = b"name=Coded&consent=c&speaker_embedding=%5B1%2C+2%5D";
    let answer = http::send(Method::POST, &server().url(VOICES), &[("content-type", "application/x-www-form-urlencoded")], body);
    assert_eq!((answer.status, &answer.json()["voice"]["embedding_dim"]), (200, &json!(2)), "{}", answer.start());
}

#[test]
fn the_kind_of_a_file_is_what_is_said_or_what_its_name_says() {
    for (declared, file, kind) in [
        (Some("audio/x-wav"), "a.mp3", "audio/x-wav"),
        (Some("application/octet-stream"), "a.wav", "audio/wav"),
        (Some("application/octet-stream"), "a.mp3", "audio/mpeg"),
        (Some("application/octet-stream"), "a.mpeg", "audio/mpeg"),
        (Some("application/octet-stream"), "a.FLAC", "audio/flac"),
        (Some("application/octet-stream"), "a.ogg", "audio/ogg"),
        (Some("application/octet-stream"), "a.aac", "audio/aac"),
        (Some("application/octet-stream"), "a.webm", "audio/webm"),
        (Some("application/octet-stream"), "a.mp4", "audio/mp4"),
        (Some("application/octet-stream"), "a", "audio/wav"),
        (None, "a", "audio/wav"),
        (Some("audio/wave"), "a", "audio/wav"),
    ] {
        let answer = good(Form::of("kind").file("audio_sample", file, declared, &clip()));
        assert_eq!(answer["voice"]["mime_type"], kind, "{declared:?} {file}");
    }
}

#[test]
fn times_grow_with_every_upload() {
    let times: Vec<u64> = (0..4).filter_map(|_| good(Form::of("again").text("speaker_embedding", "[1]"))["created_at"].as_u64()).collect();
    assert!(times.len() == 4 && times.is_sorted_by(|one, other| one < other), "{times:?}");
}

#[test]
fn a_voice_is_deleted_by_its_name_in_any_case() {
    good(Form::of("To Go").text("speaker_embedding", "[1]"));
    let answer = delete(server(), "TO%20GO");
    let wanted = json!({"success": true, "message": "Voice 'TO GO' deleted successfully", "id": "TO GO", "deleted": true,
                        "object": "audio.voice.deleted"});
    assert_eq!((answer.status, answer.json()), (200, wanted));
    report(["TO%20GO", "nobody", "heart", "default", "alloy"].into_iter().map(|name| {
        let answer: Answer = delete(server(), name);
        let problem = not_refused(&answer, 404, "", &format!("Voice '{}' not found", name.replace("%20", " ")))?;
        Some(format!("{name}: {problem}"))
    }));
}
