//! A speech request as a plugin sees it: already parsed, coerced and checked against the family's schema.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::NamedTensor;

/// The request after the host's own checks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpeechRequest {
    /// The text to speak: not blank, without control characters, cleaned of markup if the family wants that.
    pub input: String,
    /// The seed of every random choice. The host draws one when the client gave none, so a plugin never needs its own.
    pub seed: u64,
    /// Speaking rate, 0.25 to 4; always 1 for a family without native speed.
    pub speed: f32,
    /// The fields that only this family knows, as sent.
    pub fields: Map<String, Value>,
    /// What the operator set for requests that do not say, by the names of deploy files: `default_sampling_params` of the first stage, and its
    /// `subtalker_sampling_params` with `subtalker_` before each name. A family takes what it knows of them, below the request's own
    /// fields and above its checkpoint's. A default seed has already become [`SpeechRequest::seed`].
    #[serde(default)]
    pub defaults: Map<String, Value>,
}

impl SpeechRequest {
    /// A request for `input` with seed 0 and every other field at its default.
    pub fn new(input: impl Into<String>) -> Self {
        Self { input: input.into(), seed: 0, speed: 1.0, fields: Map::new(), defaults: Map::new() }
    }

    /// The same with another seed.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }
}

/// The voice to speak with.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Voice {
    /// A built-in voice by its listed name; `None` asks for the family's default.
    pub name: Option<String>,
    /// What `encode_reference` made of a stored or inline reference; empty for a built-in voice.
    pub tensors: Vec<NamedTensor>,
    /// Transcript of the reference, if the client gave one.
    pub transcript: Option<String>,
}

impl Voice {
    /// A built-in voice.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..Self::default() }
    }
}

/// Reference audio, decoded, mixed to mono and resampled by the host to the rate the family states.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceAudio {
    /// Mono samples, full scale 1.0.
    pub samples: Vec<f32>,
    /// Their rate.
    pub sample_rate_hz: u32,
    /// What is said in it, if known.
    pub transcript: Option<String>,
}

/// What `prepare` gives back: the prompt, what it will be billed as, and what the client should know.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Prepared {
    /// The prompt; every stage receives it at admission, the first starts from it.
    pub prompt: Prompt,
    /// Token counts for the usage headers.
    pub usage: Usage,
    /// What could not be spoken, one short ASCII sentence each: shown in a header, the log and a metric.
    pub warnings: Vec<String>,
    /// What the sequence takes of a key-value cache.
    pub extent: Extent,
}

/// What a sequence takes of a stage's key-value cache. The engine reserves all of it before the sequence starts, so that none is ever put
/// out again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Extent {
    /// Tokens of the prompt; 0 when the family does not say.
    pub prompt_tokens: u64,
    /// Most tokens that are generated after it; 0 reserves as much as any sequence may take.
    pub max_new_tokens: u64,
}

/// What a sequence starts from. Its content is the family's own business.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Prompt {
    /// Settings and text as JSON; see [`Prompt::of`] and [`Prompt::read`].
    pub params: Value,
    /// Larger arrays.
    pub tensors: Vec<NamedTensor>,
}

impl Prompt {
    /// A prompt that carries `params`, an author's own serialisable struct.
    pub fn of<T: Serialize>(params: &T) -> Result<Self, crate::PluginError> {
        let params = serde_json::to_value(params)
            .map_err(|error| crate::PluginError::internal(format!("the prompt cannot be written as JSON: {error}")))?;
        Ok(Self { params, tensors: Vec::new() })
    }

    /// The params as the author's struct again.
    pub fn read<T: for<'de> Deserialize<'de>>(&self) -> Result<T, crate::PluginError> {
        T::deserialize(&self.params).map_err(|error| crate::PluginError::internal(format!("the prompt cannot be read back: {error}")))
    }
}

/// What the input costs, in the family's own tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the text.
    pub text_tokens: u64,
    /// Codec frames of a reference that is part of the prompt.
    pub audio_tokens: u64,
}
