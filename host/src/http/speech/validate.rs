//! A request against the model that is to speak it. The first failure wins, in the order of the reference.

use std::sync::Arc;

use omni_plugin_api::{SpeechRequest, Voice};
use serde_json::{Map, Value};

use super::cloning::{self, Transcript};
use super::form::{Delivery, SpeechForm};
use super::voice::Choice;
use super::words::Alignment;
use super::{find, text};
use crate::audio::chain::Wanted;
use crate::audio::resample::RATES_HZ;
use crate::engine::{Pacing, Place, Served, SpeechStream};
use crate::http::error::ApiError;
use crate::http::state::App;
use crate::http::validation::Faults;
use crate::reference::Clip;
use crate::schema::RequestSchema;

/// A request that its model takes.
#[derive(Clone)]
pub struct Accepted {
    /// The model.
    pub served: Arc<Served>,
    /// What it is asked.
    pub request: SpeechRequest,
    /// The voice it speaks with.
    pub voice: Choice,
    /// What it tells of its voice's clip.
    pub transcript: Transcript,
    /// The form of the audio: its format, its rate, and its speed where the model has only its own.
    pub wanted: Wanted,
    /// How the audio is delivered.
    pub delivery: Delivery,
    /// What that means for how it is made.
    pub pacing: Pacing,
    /// How the times of its words are found, where they are wanted.
    pub words: Option<Alignment>,
    /// Whether the client left both seed and length to the model.
    is_free: bool,
}

impl Accepted {
    /// Takes a place, makes the voice ready and starts. Dropping the future or the stream gives everything back.
    pub async fn speak(&self, app: &App) -> Result<SpeechStream, ApiError> {
        // A clip may be long in coming: nobody is kept out of the model meanwhile.
        let clip = self.voice.fetched(app).await?;
        let place = self.served.enter()?;
        let voice = self.ready_voice(app, clip).await?;
        Ok(self.served.speak_at(place, self.request.clone(), voice, self.pacing).await?)
    }

    /// The same at a place that was taken.
    pub async fn speak_at(self, app: &App, place: Arc<Place>) -> Result<SpeechStream, ApiError> {
        let clip = self.voice.fetched(app).await?;
        let voice = self.ready_voice(app, clip).await?;
        Ok(self.served.speak_at(place, self.request, voice, self.pacing).await?)
    }

    /// The same with another seed, for where the first one did not lead to the end of the text. A client that chose the seed or the length
    /// gets what comes of its choice.
    pub fn again(&self) -> Option<Self> {
        let request = SpeechRequest { seed: seed(None), ..self.request.clone() };
        self.is_free.then(|| Self { request, is_free: false, ..self.clone() })
    }

    async fn ready_voice(&self, app: &App, clip: Option<Arc<Clip>>) -> Result<Voice, ApiError> {
        self.voice.ready(app, &self.served, &self.transcript, clip).await
    }
}

/// Finds the model of a request and checks the request against it.
pub async fn accept(app: &App, form: SpeechForm) -> Result<Accepted, ApiError> {
    check_rate(form.sample_rate)?;
    let served = app.engine().find(form.model.as_deref())?;
    accept_by(app, served, form).await
}

/// Checks a request against the model that was found for it.
pub async fn accept_by(app: &App, served: Arc<Served>, form: SpeechForm) -> Result<Accepted, ApiError> {
    let sample_rate_hz = check_rate(form.sample_rate)?.filter(|rate| *rate != served.model.sample_rate_hz);
    check_timestamps(&form, served.aligner.is_some())?;
    let brought = cloning::read(&served, &form.fields)?;
    let input = text::prepare(&form.input, served.info.text, form.text_cleanup)?;
    let voice = match brought {
        // A voice that comes along wins over one that is named.
        Some(brought) => Choice::Brought(brought),
        None => find::choose(app, &served, form.voice.as_deref()).await?,
    };
    let transcript = Transcript::read(&form.fields, &served.schema);
    let pacing = Pacing { is_whole: form.delivery == Delivery::Whole, first_units: first_units(&form.fields) };
    let aligner = served.aligner.clone().filter(|_| form.word_timestamps);
    let words = aligner.map(|aligner| Alignment::new(aligner, input.clone(), language(&form.fields)));
    let is_free = form.seed.is_none() && !form.fields.contains_key("max_new_tokens");
    let fields = family_fields(&served.schema, form.fields)?;
    // Where the model cannot speak faster itself, its audio is stretched afterwards.
    let (native, speed) = if served.info.abilities.native_speed { (form.speed, 1.0) } else { (1.0, form.speed) };
    let defaults = served.defaults.clone();
    let seed = seed(form.seed.or_else(|| defaults.get("seed")?.as_i64()));
    let request = SpeechRequest { input, seed, speed: native as f32, fields, defaults };
    let wanted = Wanted { format: form.format, speed, sample_rate_hz };
    Ok(Accepted { served, request, voice, transcript, wanted, delivery: form.delivery, pacing, words, is_free })
}

fn check_timestamps(form: &SpeechForm, has_aligner: bool) -> Result<(), ApiError> {
    if !form.word_timestamps {
        return Ok(());
    }
    let message = match form.delivery {
        Delivery::Whole if has_aligner => return Ok(()),
        Delivery::Whole => "word_timestamps=true requires the server to be launched with --forced-aligner.",
        Delivery::Raw | Delivery::Events => {
            "word_timestamps=true is currently supported by the WebSocket /v1/audio/speech/stream path. Use session.config with \
             stream_audio=true and response_format='pcm'."
        }
    };
    Err(ApiError::invalid("word_timestamps", message))
}

/// Refuses a rate to which no audio is brought.
fn check_rate(rate: Option<i64>) -> Result<Option<u32>, ApiError> {
    let Some(rate) = rate else { return Ok(None) };
    match RATES_HZ.into_iter().find(|known| i64::from(*known) == rate) {
        Some(known) => Ok(Some(known)),
        None => {
            let rates: Vec<String> = RATES_HZ.iter().map(u32::to_string).collect();
            let supported = rates.join(", ");
            let message = format!("sample_rate={rate} is not supported by the current TTS model; supported rates: {supported}");
            Err(ApiError::invalid("sample_rate", message))
        }
    }
}

/// The first chunk that a request wants, in units of its family; a number past all sense asks for as many as there can be.
fn first_units(fields: &Map<String, Value>) -> Option<usize> {
    let units = fields.get("initial_codec_chunk_frames")?.as_u64()?;
    Some(usize::try_from(units).unwrap_or(usize::MAX))
}

/// The language that a request names.
pub fn language(fields: &Map<String, Value>) -> Option<String> {
    fields.get("language").and_then(Value::as_str).map(str::to_owned)
}

/// The fields that the family's schema knows, checked against it.
pub(crate) fn family_fields(schema: &RequestSchema, fields: Map<String, Value>) -> Result<Map<String, Value>, ApiError> {
    let known = schema.known(fields);
    let mut faults = Faults::default();
    for problem in schema.problems(&known) {
        let place = Some(problem.place.as_str()).filter(|place| !place.is_empty());
        faults.add(place, &problem.fault, &problem.value);
    }
    faults.into_result().map(|()| known)
}

/// The seed that was given or is the default, its bits unchanged, or one that a client could give again.
fn seed(given: Option<i64>) -> u64 {
    given.map_or_else(|| u64::from(fastrand::u32(..)), i64::cast_unsigned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_the_schema_names_reaches_the_family_and_only_if_it_is_right() {
        let schema = json!({"type": "object", "properties": {"language": {}, "warmth": {"type": "number", "maximum": 1}}});
        let schema = RequestSchema::compile(&schema).expect("the schema is one");
        let fields = |fields: Value| family_fields(&schema, fields.as_object().cloned().unwrap_or_default());
        let known = fields(json!({"language": "en", "warmth": "0.5", "who": "knows"})).expect("they are right");
        assert_eq!(Value::Object(known), json!({"language": "en", "warmth": 0.5}));
        let body = fields(json!({"warmth": 7})).expect_err("seven is too warm").body();
        assert_eq!(body["error"]["param"], "body.warmth");
    }

    #[test]
    fn every_seed_is_another() {
        assert_ne!(seed(Some(i64::MIN)), seed(Some(i64::MAX)));
        assert_eq!(seed(Some(-1)), u64::MAX);
    }
}
