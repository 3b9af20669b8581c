//! `session.config`: how all that follows is to be spoken.

use serde_json::{Map, Value};

use crate::audio::Format;
use crate::engine::{Engine, FindError};
use crate::http::error::ApiError;
use crate::http::speech::validate::language;
use crate::http::speech::{Delivery, SpeechForm};
use crate::http::validation::Faults;
use crate::schema::{Fault, coerce};
use crate::text::segment::Granularity;

/// What is said where word times are wanted and nothing can find them.
const NO_ALIGNER: &str = "word_timestamps=true but the server was launched without --forced-aligner; either restart the server with that \
                          flag or set word_timestamps=false in session.config.";

/// What is said where word times are wanted and have no place.
const NO_CHUNKS: &str = "word_timestamps=true requires stream_audio=true and response_format='pcm' (timestamps ride the per-sentence PCM \
                         audio.chunk stream).";

/// How to speak.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    form: SpeechForm,
    /// Whether the times of words are wanted, for which this endpoint has its own way.
    pub word_timestamps: bool,
    /// How finely the text is split.
    pub granularity: Granularity,
}

impl Config {
    /// Reads the members of a `session.config`, or tells what is wrong with them.
    pub fn read(mut members: Map<String, Value>, engine: &Engine) -> Result<Self, ApiError> {
        let mut faults = Faults::default();
        let streams = take(&mut members, "stream_audio", coerce::flag, &mut faults).unwrap_or_default();
        let names = Granularity::ALL.map(Granularity::name);
        let granularity = take(&mut members, "split_granularity", |value| coerce::choice(value, &names), &mut faults);
        faults.into_result()?;
        // The input comes later, and how the audio is delivered is for this endpoint to say.
        members.retain(|name, _| !matches!(name.as_str(), "stream" | "stream_format"));
        members.insert("input".to_owned(), Value::from(""));
        let delivery = if streams { Delivery::Raw } else { Delivery::Whole };
        let form = SpeechForm::read(members)?;
        let word_timestamps = form.word_timestamps;
        let form = SpeechForm { delivery, word_timestamps: false, ..form };
        check(&form, engine)?;
        Ok(Self { form, word_timestamps, granularity: granularity.and_then(|name| name.parse().ok()).unwrap_or_default() })
    }

    /// The request for a unit.
    pub fn request(&self, text: &str) -> SpeechForm {
        SpeechForm { input: text.to_owned(), ..self.form.clone() }
    }

    /// The format of the audio.
    pub fn format(&self) -> Format {
        self.form.format
    }

    /// Why no unit can be spoken this way, if none can.
    pub fn obstacle(&self, engine: &Engine) -> Option<&'static str> {
        match (self.word_timestamps, self.form.delivery) {
            (false, _) => None,
            (true, _) if engine.aligner().is_none() => Some(NO_ALIGNER),
            (true, Delivery::Raw) => None,
            (true, _) => Some(NO_CHUNKS),
        }
    }

    /// The language that was named.
    pub fn language(&self) -> Option<String> {
        language(&self.form.fields)
    }

    /// The rate that a unit which was not spoken would have had.
    pub fn sample_rate_hz(&self, engine: &Engine) -> Option<u32> {
        let wanted = self.form.sample_rate.and_then(|rate| u32::try_from(rate).ok());
        wanted.or_else(|| engine.find(self.form.model.as_deref()).ok().map(|served| served.model.sample_rate_hz))
    }
}

/// A field that may be absent but not null.
fn take<T>(
    members: &mut Map<String, Value>,
    field: &str,
    coerce: impl FnOnce(&Value) -> Result<T, Fault>,
    faults: &mut Faults,
) -> Option<T> {
    let value = members.remove(field)?;
    coerce(&value).map_err(|fault| faults.add(Some(field), &fault, &value)).ok()
}

fn check(form: &SpeechForm, engine: &Engine) -> Result<(), ApiError> {
    if form.delivery == Delivery::Raw && form.format != Format::Pcm {
        let format = form.format.name();
        let message =
            format!("WebSocket streaming audio (stream_audio=true) requires response_format='pcm'. Got response_format='{format}'.");
        return Err(ApiError::invalid("response_format", message));
    }
    match engine.find(form.model.as_deref()) {
        Err(unknown @ FindError::UnknownModel(_)) => Err(unknown.into()),
        // What is not ready yet may be when the first text is there.
        Err(FindError::NotReady(_)) | Ok(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::stream::testing::engine;
    use serde_json::json;

    fn read(members: Value) -> Result<Config, ApiError> {
        Config::read(members.as_object().cloned().unwrap_or_default(), &engine())
    }

    #[test]
    fn every_field_of_a_request_is_taken_and_holds_for_every_unit() {
        let config = read(json!({"voice": {"id": "a"}, "response_format": "pcm", "speed": 2, "seed": 5, "extra_params": {"a": 1},
            "stream": true, "stream_format": 7, "stream_audio": "yes", "split_granularity": "clause", "who": "knows", "input": 5}));
        let config = config.expect("it is a config");
        let request = config.request("Hello.");
        assert_eq!((request.input.as_str(), request.voice.as_deref(), request.seed), ("Hello.", Some("a"), Some(5)));
        assert_eq!((request.speed, request.delivery, config.format()), (2.0, Delivery::Raw, Format::Pcm));
        assert_eq!(Value::Object(request.fields), json!({"extra_params": {"a": 1}, "who": "knows"}));
        assert_eq!(config.granularity, Granularity::Clause);
    }

    #[test]
    fn defaults() {
        let config = read(json!({})).expect("it is a config");
        assert_eq!((config.granularity, config.format(), config.obstacle(&engine())), (Granularity::None, Format::Wav, None));
        assert_eq!(config.request("a").delivery, Delivery::Whole);
    }

    #[test]
    fn what_is_wrong_is_told_in_the_words_of_the_reference() {
        for (members, wanted) in [
            (json!({"stream_audio": null}), "valid boolean"),
            (json!({"split_granularity": "word"}), "Input should be 'none', 'sentence' or 'clause'"),
            (json!({"split_granularity": null}), "'none', 'sentence' or 'clause'"),
            (json!({"response_format": "ogg"}), "Input should be"),
            (json!({"speed": 9}), "less than or equal to 4"),
            (json!({"voice": 5}), "valid string"),
            (json!({"stream_audio": true}), "requires response_format='pcm'. Got response_format='wav'."),
        ] {
            let error = read(members.clone()).expect_err("it is refused");
            assert!(error.message().contains(wanted), "{members}: {error}");
        }
    }

    #[test]
    fn word_times_are_an_obstacle_for_every_unit() {
        let config = read(json!({"word_timestamps": true})).expect("it is a config");
        assert!(config.obstacle(&engine()).is_some_and(|text| text.contains("--forced-aligner")));
    }
}
