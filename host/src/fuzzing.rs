//! What fuzz targets call: one function for each kind of bytes that strangers send, with what has to hold whatever the bytes are.
//!
//! Compiled with the feature `fuzzing`, and for tests, which replay the corpora below `fuzz/corpus`. A broken rule is a panic.

use std::sync::OnceLock;

use futures_util::FutureExt;
use http::{HeaderValue, header};
use omni_plugin_api::TextRules;
use serde_json::{Map, Value, json};

use crate::engine::{Engine, EngineSettings};
use crate::http::speech::batch::merge::merge;
use crate::http::speech::batch::request::Batch;
use crate::http::speech::{SpeechForm, body, text, validate};
use crate::http::stream::end::End;
use crate::http::stream::event::Event;
use crate::http::stream::inbox::{Inbox, Step};
use crate::http::voices::form::UploadForm;
use crate::http::voices::upload::Upload;
use crate::http::{ApiError, App};
use crate::reference::{self, DecodeLimits};
use crate::schema::RequestSchema;
use crate::text::clean::clean;
use crate::text::segment::{Granularity, Segmenter};
use crate::voices::{self, Sample};

/// A function that takes any bytes.
pub type Target = fn(&[u8]);

/// Every target by its name, which is also that of its corpus.
pub const TARGETS: [(&str, Target); 8] = [
    ("speech_body", speech_body),
    ("batch_body", batch_body),
    ("websocket", websocket),
    ("upload_form", upload_form),
    ("splitter", splitter),
    ("clean_up", clean_up),
    ("reference_audio", reference_audio),
    ("voice_file", voice_file),
];

/// Bytes of an error answer that no request may reach.
const ERROR_BYTES: usize = 4096;

/// The body of `POST /v1/audio/speech`: a request whose text and fields are good, or one client error that is short and has words.
pub fn speech_body(bytes: &[u8]) {
    if let Err(error) = body::parse(bytes).and_then(SpeechForm::read).and_then(prepared) {
        check_refusal(&error);
    }
}

/// The body of `POST /v1/audio/speech/batch`: the same for the whole and, once it is read, for each item with what the batch says for all.
pub fn batch_body(bytes: &[u8]) {
    let batch = match body::parse(bytes).and_then(|fields| Batch::read(fields, 32)) {
        Ok(batch) => batch,
        Err(error) => return check_refusal(&error),
    };
    assert!(!batch.items.is_empty(), "a batch of nothing");
    for item in batch.items {
        if let Err(error) = SpeechForm::read(merge(&batch.defaults, item)).and_then(prepared) {
            check_refusal(&error);
        }
    }
}

/// The text frames of a WebSocket session, one a line, until one of them ends it.
pub fn websocket(bytes: &[u8]) {
    let mut inbox = Inbox::default();
    let frames = bytes.split(|byte| *byte == b'\n').filter_map(|frame| std::str::from_utf8(frame).ok());
    for frame in frames {
        while !inbox.has_room() {
            inbox.pop().iter().for_each(check_step);
        }
        if let Err(end) = inbox.take(frame, app().engine()) {
            return check_end(&end);
        }
    }
    while let Some(step) = inbox.pop() {
        check_step(&step);
    }
}

/// The form of `POST /v1/audio/voices`, behind a line with its content type: an upload whose parts are right, or a client error with words.
pub fn upload_form(bytes: &[u8]) {
    let line = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let (kind, body) = (&bytes[..line], bytes.get(line + 1..).unwrap_or_default());
    let Ok(kind) = HeaderValue::from_bytes(kind) else { return };
    let (mut head, ()) = http::Request::new(()).into_parts();
    head.headers.insert(header::CONTENT_TYPE, kind);
    let form = UploadForm::read(&head, body.to_vec()).now_or_never().unwrap_or_else(|| panic!("a body that is there is waited for"));
    let form = form.inspect(|form| check_form(form, body.len()));
    if let Err(error) = form.and_then(|form| Upload::check(form, app(), &[])) {
        check_refusal(&error);
    }
}

/// A text in pieces: the first byte chooses how finely it is split, the second where it is cut.
pub fn splitter(bytes: &[u8]) {
    let [granularity, cut, text @ ..] = bytes else { return };
    let granularity = Granularity::ALL[usize::from(*granularity) % Granularity::ALL.len()];
    let text = String::from_utf8_lossy(text);
    let (start, end) = text.split_at(text.ceil_char_boundary(usize::from(*cut).min(text.len())));
    let whole = split(granularity, [&*text]);
    assert_eq!(split(granularity, [start, end]), whole, "the cut is seen");
    assert_eq!(split(granularity, text.split_inclusive(|_| true)), whole, "cuts between all characters are seen");
    let rest = whole.iter().fold(&*text, |rest, unit| {
        assert!(!unit.is_empty(), "an empty unit");
        rest.trim_start().strip_prefix(unit.as_str()).unwrap_or_else(|| panic!("{unit:?} is not what comes next"))
    });
    assert_eq!(rest.trim(), "", "text is lost");
}

/// A text that is cleaned of its markup: cleaning it once more changes nothing.
pub fn clean_up(bytes: &[u8]) {
    let once = clean(&String::from_utf8_lossy(bytes));
    assert_eq!(clean(&once), once, "clean text is cleaned again");
}

/// A clip of whatever kind: a voice of sensible length in numbers, or an error with words.
pub fn reference_audio(bytes: &[u8]) {
    let limits = DecodeLimits::default();
    match reference::decode(bytes.to_vec(), &limits) {
        Ok(clip) => {
            assert!((limits.min_seconds..=limits.max_seconds).contains(&clip.seconds()), "{} s", clip.seconds());
            assert!(clip.samples.iter().all(|sample| sample.is_finite()), "a sample is no number");
        }
        Err(error) => assert!(error.is_client() && !error.to_string().is_empty(), "{error} for a fault of the file"),
    }
}

/// The file of a stored voice: a voice in numbers, or an error with words.
pub fn voice_file(bytes: &[u8]) {
    match voices::read(bytes) {
        Ok((record, Sample::Audio(clip))) => {
            assert!(!record.name.is_empty() && clip.sample_rate_hz > 0, "{record:?} has no name or no rate");
            assert!(clip.samples.len() <= bytes.len(), "{} samples of {} bytes", clip.samples.len(), bytes.len());
        }
        Ok((record, Sample::Embedding(vector))) => assert!(!vector.is_empty(), "{record:?} has no vector"),
        Err(error) => assert!(!error.to_string().is_empty(), "no words"),
    }
}

fn split<'a>(granularity: Granularity, pieces: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut segmenter = Segmenter::new(granularity);
    let mut units: Vec<String> = pieces.into_iter().flat_map(|piece| segmenter.push(piece)).collect();
    units.extend(segmenter.flush());
    units
}

/// What a request goes through before its family sees it.
fn prepared(form: SpeechForm) -> Result<(), ApiError> {
    let rules = TextRules { clean_up: true, max_chars: 100_000 };
    let text = text::prepare(&form.input, rules, form.text_cleanup)?;
    assert!(!text.trim().is_empty(), "nothing to speak is left");
    let known: Map<String, Value> = validate::family_fields(schema(), form.fields)?;
    assert!(schema().problems(&known).is_empty(), "a field that is wrong is let through");
    Ok(())
}

fn check_refusal(error: &ApiError) {
    assert!(error.status().is_client_error(), "{} for a fault of the client", error.status());
    assert!(!error.message().trim().is_empty(), "no words");
    let body = error.body().to_string();
    assert!(body.len() < ERROR_BYTES, "{} bytes: {body}", body.len());
}

/// A form has what it must have, nothing empty, and no more than was sent: where bytes are no text, three stand for one.
fn check_form(form: &UploadForm, body_len: usize) {
    assert!(form.name.is_some() && form.consent.is_some(), "{form:?}");
    let texts = [&form.name, &form.consent, &form.speaker_embedding, &form.mix, &form.ref_text, &form.speaker_description];
    let texts = texts.into_iter().flatten();
    let sizes = texts.map(String::len).inspect(|len| assert!(*len > 0, "{form:?}"));
    let size: usize = sizes.chain(form.audio_sample.iter().map(|file| file.bytes.len())).sum();
    assert!(size <= 3 * body_len, "{size} bytes of {body_len}");
}

fn check_end(end: &End) {
    let frame = end.close_frame();
    assert!((1..=123).contains(&frame.reason.len()), "{frame:?}");
}

fn check_step(step: &Step) {
    match step {
        Step::Speak(unit) => assert!(!unit.text().trim().is_empty(), "a unit without text"),
        Step::Complain(failure) => {
            let json = Event::Error(failure.clone()).json();
            assert!(json.len() < ERROR_BYTES && json.contains("\"type\":\"error\""), "{json}");
        }
        Step::EndUtterance { .. } | Step::Close => (),
    }
}

/// A server without a model.
fn app() -> &'static App {
    static APP: OnceLock<App> = OnceLock::new();
    APP.get_or_init(|| App::new(Engine::new(EngineSettings::default())))
}

/// A family's schema with a field of each kind.
fn schema() -> &'static RequestSchema {
    static SCHEMA: OnceLock<RequestSchema> = OnceLock::new();
    let schema = json!({
        "type": "object",
        "properties": {
            "language": {"type": ["string", "null"], "maxLength": 20, "pattern": "^[A-Za-z]*$"},
            "max_new_tokens": {"type": "integer", "minimum": 1, "maximum": 4096},
            "warmth": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
            "loud": {"type": "boolean"},
            "mood": {"enum": ["glad", "sad"]},
            "tags": {"type": "array", "items": {"type": "string", "minLength": 2}, "maxItems": 3},
            "extra_params": {"type": "object", "additionalProperties": {"type": "number"}}
        }
    });
    SCHEMA.get_or_init(|| RequestSchema::compile(&schema).unwrap_or_else(|reason| panic!("the schema {reason}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    #[test]
    fn every_corpus_is_replayed() {
        for (name, target) in TARGETS {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(name);
            let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
            let paths: Vec<_> = files.map(|file| file.expect("a file of the corpus").path()).collect();
            assert!(!paths.is_empty(), "{name} has no corpus");
            paths.iter().for_each(|path| target(&fs::read(path).expect("a file of the corpus")));
        }
    }

    #[test]
    #[should_panic(expected = "bytes: ")]
    fn a_target_tells_what_it_finds() {
        // A message of this length with as many characters that JSON escapes is longer than any error may be.
        check_refusal(&ApiError::invalid("input", "\u{1}".repeat(2000)));
    }
}
