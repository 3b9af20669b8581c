//! The request fields of the family.

use omni_plugin_api::{PluginError, SpeechRequest};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::task::Task;

/// Fields beyond `input`, `voice`, `speed` and `seed`. Ranges that the reference tells in its own words are checked by `prepare`.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Qwen3Request {
    /// Which task; it must be the one the checkpoint was trained for.
    pub task_type: Option<Task>,
    /// Language of the text, or `Auto`. The model's own list is in the error of a wrong one.
    pub language: Option<String>,
    /// How to speak; for VoiceDesign, the voice itself.
    pub instructions: Option<String>,
    /// Reference audio: a URL, a data URL or a file URL. Base only.
    pub ref_audio: Option<Value>,
    /// What is said in the reference audio. Base only.
    pub ref_text: Option<String>,
    /// Takes only the speaker's vector of the reference, not its speech. Base only.
    pub x_vector_only_mode: Option<bool>,
    /// The speaker's vector itself, as long as the model is wide. Base only.
    pub speaker_embedding: Option<Vec<f32>>,
    /// Most frames to make, 12.5 a second, at most 4096.
    #[schemars(range(min = 1))]
    pub max_new_tokens: Option<u64>,
    /// Frames of the first chunk of a stream; 0 for no special first chunk.
    pub initial_codec_chunk_frames: Option<u64>,
    /// Whether the model reads the whole text before it speaks.
    pub non_streaming_mode: Option<bool>,
    /// Numbers of the sampler: `temperature`, `top_k`, `top_p`, `repetition_penalty`, and the same for the codes inside a frame with
    /// `subtalker_` before them.
    pub extra_params: Option<Sampling>,
}

/// Numbers of the sampler that a request may set; what is absent is the checkpoint's own.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Sampling {
    /// Whether to draw at all; false takes the most likely code.
    pub do_sample: Option<bool>,
    /// Spread of the first code of a frame.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub temperature: Option<f32>,
    /// Candidates of the first code; 0 or -1 for all.
    pub top_k: Option<i64>,
    /// Mass of the candidates of the first code.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub top_p: Option<f32>,
    /// Penalty on first codes that were drawn before.
    #[schemars(range(min = 0.1, max = 10.0))]
    pub repetition_penalty: Option<f32>,
    /// Whether to draw the other codes of a frame.
    #[serde(alias = "subtalker_do_sample")]
    pub subtalker_dosample: Option<bool>,
    /// Spread of the other codes.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub subtalker_temperature: Option<f32>,
    /// Candidates of the other codes; 0 or -1 for all.
    pub subtalker_top_k: Option<i64>,
    /// Mass of the candidates of the other codes.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub subtalker_top_p: Option<f32>,
}

/// What an operator set for requests that do not say.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct Defaults {
    /// Numbers of the sampler.
    #[serde(flatten)]
    pub sampling: Sampling,
    /// Fewest frames.
    pub min_tokens: Option<u32>,
    /// Most frames.
    pub max_tokens: Option<u64>,
}

impl Defaults {
    /// Reads the defaults that come with a request.
    pub fn of(request: &SpeechRequest) -> Result<Self, PluginError> {
        let defaults = Value::Object(request.defaults.clone());
        Self::deserialize(defaults).map_err(|error| PluginError::internal(format!("a default sampling value is wrong: {error}")))
    }
}

impl Sampling {
    /// These numbers, and others where they say nothing.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self {
            do_sample: self.do_sample.or(others.do_sample),
            temperature: self.temperature.or(others.temperature),
            top_k: self.top_k.or(others.top_k),
            top_p: self.top_p.or(others.top_p),
            repetition_penalty: self.repetition_penalty.or(others.repetition_penalty),
            subtalker_dosample: self.subtalker_dosample.or(others.subtalker_dosample),
            subtalker_temperature: self.subtalker_temperature.or(others.subtalker_temperature),
            subtalker_top_k: self.subtalker_top_k.or(others.subtalker_top_k),
            subtalker_top_p: self.subtalker_top_p.or(others.subtalker_top_p),
        }
    }
}

impl Qwen3Request {
    /// Reads the fields of a request.
    pub fn of(request: &SpeechRequest) -> Result<Self, PluginError> {
        let fields = Value::Object(request.fields.clone());
        Self::deserialize(fields).map_err(|error| PluginError::invalid("body", format!("a field of this family is wrong: {error}")))
    }
}
