//! A request after its schema: every field has its type, nothing is checked against a model yet.

use serde_json::{Map, Value};

use super::fields::{COMMON, coerce as coerce_common};
use super::{references, rich_input};
use crate::audio::Format;
use crate::http::error::ApiError;
use crate::http::validation::Faults;
use crate::schema::{Fault, coerce};

/// How the audio is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// A complete body.
    Whole,
    /// Audio bytes as they are made.
    Raw,
    /// Server-sent events.
    Events,
}

impl Delivery {
    /// A word for it in the log.
    pub fn name(self) -> &'static str {
        match self {
            Delivery::Whole => "whole",
            Delivery::Raw => "raw",
            Delivery::Events => "events",
        }
    }
}

/// A request whose fields have their types.
#[derive(Debug, Clone, PartialEq)]
pub struct SpeechForm {
    /// The text.
    pub input: String,
    /// The model, if one was named.
    pub model: Option<String>,
    /// The voice, if one was named.
    pub voice: Option<String>,
    /// The format of the audio.
    pub format: Format,
    /// The rate asked for.
    pub sample_rate: Option<i64>,
    /// The speaking rate, 0.25 to 4.
    pub speed: f64,
    /// How the audio is delivered.
    pub delivery: Delivery,
    /// The seed, if one was given.
    pub seed: Option<i64>,
    /// Whether the times of words are wanted.
    pub word_timestamps: bool,
    /// Whether markup is to be cleaned away; none leaves it to the family.
    pub text_cleanup: Option<bool>,
    /// Every other field that was given.
    pub fields: Map<String, Value>,
}

impl SpeechForm {
    /// Reads a body, or tells all that is wrong with it.
    pub fn read(body: Map<String, Value>) -> Result<Self, ApiError> {
        references::check_clip(&body)?;
        let mut faults = Faults::default();
        match Self::check(body, &mut faults) {
            Some(form) if faults.is_empty() => Ok(form),
            _ => Err(faults.into_error()),
        }
    }

    /// Reads a body that may be part of a larger one: what is wrong with it is added to the faults of that one.
    pub fn check(mut body: Map<String, Value>, faults: &mut Faults) -> Option<Self> {
        let members = body.len();
        if let Err(fault) = rich_input::check(&body).and_then(|()| references::rewrite(&mut body)) {
            faults.add_to_object(None, &fault, members);
            return None;
        }
        Some(Reader { body, faults }.form())
    }
}

/// Takes fields out of a body and keeps what is wrong with them.
struct Reader<'a> {
    body: Map<String, Value>,
    faults: &'a mut Faults,
}

impl Reader<'_> {
    /// The fields, with defaults in place of faulty ones.
    fn form(&mut self) -> SpeechForm {
        let input = self.input();
        let model = self.optional("model", coerce::text);
        let voice = self.voice();
        let format = self.plain("response_format", Format::default(), format);
        let sample_rate = self.optional("sample_rate", coerce::positive);
        let speed = self.optional("speed", |value| coerce::float(value, 0.25, 4.0)).unwrap_or(1.0);
        let delivery = self.delivery();
        let seed = self.optional("seed", |value| coerce::integer(value, i64::MIN));
        let word_timestamps = self.plain("word_timestamps", false, coerce::flag);
        let text_cleanup = self.optional("text_cleanup", coerce::flag);
        let fields = self.rest();
        SpeechForm { input, model, voice, format, sample_rate, speed, delivery, seed, word_timestamps, text_cleanup, fields }
    }

    fn input(&mut self) -> String {
        match self.body.remove("input") {
            Some(Value::String(text)) => text,
            Some(value) => self.checked("input", &value, coerce::text).unwrap_or_default(),
            None => {
                self.faults.add_to_object(Some("input"), &Fault::new("missing", "Field required"), self.body.len());
                String::new()
            }
        }
    }

    /// `voice`, or its other name `speaker`; `voice` wins, even as null.
    fn voice(&mut self) -> Option<String> {
        let alias = self.body.remove("speaker");
        let field = if self.body.contains_key("voice") { "voice" } else { "speaker" };
        let value = self.body.remove("voice").or(alias).filter(|value| !value.is_null())?;
        self.checked(field, &value, voice)
    }

    fn delivery(&mut self) -> Delivery {
        let events = self.plain("stream", false, coerce::flag);
        match self.optional("stream_format", |value| coerce::choice(value, &["sse", "audio"])).as_deref() {
            Some("audio") => Delivery::Raw,
            Some(_) => Delivery::Events,
            None if events => Delivery::Events,
            None => Delivery::Whole,
        }
    }

    /// Every field that was not taken yet: the common ones with their types, others as they came, nulls as absent.
    fn rest(&mut self) -> Map<String, Value> {
        let mut fields = Map::new();
        for (field, rule) in COMMON {
            if let Some(value) = self.optional(field, |value| coerce_common(rule, value)) {
                fields.insert(field.to_owned(), value);
            }
        }
        if fields.contains_key("speaker_embedding") && fields.get("ref_audio").is_some_and(Value::is_string) {
            let fault = Fault::rule("'speaker_embedding' and 'ref_audio' are mutually exclusive");
            self.faults.add_to_object(None, &fault, fields.len());
        }
        fields.extend(std::mem::take(&mut self.body).into_iter().filter(|(_, value)| !value.is_null()));
        fields
    }

    /// A field that may be absent or null.
    fn optional<T>(&mut self, field: &str, coerce: impl FnOnce(&Value) -> Result<T, Fault>) -> Option<T> {
        let value = self.body.remove(field).filter(|value| !value.is_null())?;
        self.checked(field, &value, coerce)
    }

    /// A field that may be absent but not null.
    fn plain<T>(&mut self, field: &str, default: T, coerce: impl FnOnce(&Value) -> Result<T, Fault>) -> T {
        let Some(value) = self.body.remove(field) else { return default };
        self.checked(field, &value, coerce).unwrap_or(default)
    }

    fn checked<T>(&mut self, field: &str, value: &Value, coerce: impl FnOnce(&Value) -> Result<T, Fault>) -> Option<T> {
        let coerced = coerce(value);
        coerced.map_err(|fault| self.faults.add(Some(field), &fault, value)).ok()
    }
}

fn format(value: &Value) -> Result<Format, Fault> {
    let names: Vec<&'static str> = Format::ALL.iter().map(|format| format.name()).collect();
    coerce::choice(value, &names).map(|name| Format::of_name(&name).unwrap_or_default())
}

fn voice(value: &Value) -> Result<String, Fault> {
    match value {
        Value::Object(members) => match members.get("id") {
            Some(id) => coerce::text(id),
            None => Err(Fault::rule("voice dict must contain 'id'")),
        },
        _ => coerce::text(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(body: Value) -> Result<SpeechForm, ApiError> {
        match body {
            Value::Object(body) => SpeechForm::read(body),
            other => Err(ApiError::failed(other.to_string())),
        }
    }

    fn form(body: Value) -> SpeechForm {
        read(body).expect("it is a request")
    }

    #[test]
    fn defaults() {
        let wanted = SpeechForm {
            input: "a".to_owned(),
            model: None,
            voice: None,
            format: Format::Wav,
            sample_rate: None,
            speed: 1.0,
            delivery: Delivery::Whole,
            seed: None,
            word_timestamps: false,
            text_cleanup: None,
            fields: Map::new(),
        };
        assert_eq!(form(json!({"input": "a"})), wanted);
        let nulls = json!({"input": "a", "model": null, "voice": null, "speed": null, "stream_format": null, "seed": null, "language": null,
                           "sample_rate": null, "extra_params": null, "who": null, "text_cleanup": null, "references": null});
        assert_eq!(form(nulls), wanted);
    }

    #[test]
    fn faults_name_their_field_and_keep_the_words_of_the_reference() {
        for (field, wrong, text) in [
            ("input", json!(null), "valid string"),
            ("input", json!(5), "valid string"),
            ("response_format", json!(null), "'wav', 'pcm', 'flac'"),
            ("response_format", json!("WAV"), "'wav', 'pcm', 'flac'"),
            ("response_format", json!("ogg"), "'wav', 'pcm', 'flac'"),
            ("stream", json!(null), "valid boolean"),
            ("stream", json!("maybe"), "unable to interpret input"),
            ("word_timestamps", json!(null), "valid boolean"),
            ("stream_format", json!("foo"), "'sse' or 'audio'"),
            ("voice", json!({"name": "a"}), "voice dict must contain 'id'"),
            ("voice", json!(5), "valid string"),
            ("speaker", json!(5), "valid string"),
            ("speed", json!(0), "greater than or equal to 0.25"),
            ("seed", json!("lucky"), "valid integer"),
            ("sample_rate", json!(0), "greater than 0"),
            ("extra_params", json!([]), "valid dictionary"),
            ("max_new_tokens", json!(0), "greater than or equal to 1"),
        ] {
            let error = read(json!({"input": "a", field: wrong})).expect_err("it is refused");
            let body = error.body();
            assert_eq!(body["error"]["param"], format!("body.{field}"), "{error}");
            assert!(error.message().contains(text), "{error}");
        }
        let error = read(json!({"speed": 9, "seed": "x"})).expect_err("it is refused");
        assert!(error.message().starts_with("3 validation errors:"), "{error}");
        assert_eq!(error.body()["error"]["param"], "body.input");
    }

    #[test]
    fn the_voice_has_two_names_and_two_forms() {
        for (body, wanted) in [
            (json!({"input": "a", "voice": "x"}), Some("x")),
            (json!({"input": "a", "voice": {"id": "x", "more": 1}}), Some("x")),
            (json!({"input": "a", "speaker": "x"}), Some("x")),
            (json!({"input": "a", "speaker": {"id": "x"}}), Some("x")),
            (json!({"input": "a", "voice": "x", "speaker": 5}), Some("x")),
            (json!({"input": "a", "voice": null, "speaker": "y"}), None),
        ] {
            assert_eq!(form(body).voice.as_deref(), wanted);
        }
    }

    #[test]
    fn the_delivery_is_chosen_by_two_fields() {
        for (stream, stream_format, wanted) in [
            (json!(false), json!(null), Delivery::Whole),
            (json!("true"), json!(null), Delivery::Events),
            (json!(false), json!("sse"), Delivery::Events),
            (json!(true), json!("audio"), Delivery::Raw),
        ] {
            assert_eq!(form(json!({"input": "a", "stream": stream, "stream_format": stream_format})).delivery, wanted);
        }
    }

    #[test]
    fn other_fields_are_kept_and_the_common_ones_get_their_types() {
        let fields = form(json!({"input": "a", "max_new_tokens": "7", "warmth": "0.5", "non_streaming_mode": 1})).fields;
        assert_eq!(Value::Object(fields), json!({"max_new_tokens": 7, "warmth": "0.5", "non_streaming_mode": true}));
        let error = read(json!({"input": "a", "speaker_embedding": [1], "ref_audio": "x"})).expect_err("it is refused");
        assert_eq!(error.body()["error"]["param"], "body");
        let error = read(json!({"input": "a", "ref_audio": 5})).expect_err("it is refused");
        assert_eq!(error.body()["error"]["type"], "BadRequestError");
    }
}
