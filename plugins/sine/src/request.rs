//! The request fields that only this family knows.

use omni_plugin_api::{PluginError, SpeechRequest};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// Fields beyond `input`, `voice`, `speed` and `seed`. The host checks a request against the schema that comes of this struct, and
/// documents it: comments become descriptions, ranges become limits.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SineRequest {
    /// Pitch to speak around, in Hz, instead of the voice's own.
    #[schemars(range(min = 20.0, max = 4000.0))]
    pub pitch_hz: Option<f32>,
    /// Loudness, from 0 (silent) to 1; 0.5 when absent.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub loudness: Option<f32>,
    /// Most code frames to make, 12.5 a second; longer speech is cut there.
    #[schemars(range(min = 1, max = 45_000))]
    pub max_new_tokens: Option<u32>,
    /// A test aid: makes frames no faster than this many times real time. As fast as possible when absent.
    #[schemars(range(min = 0.01, max = 10_000.0))]
    pub pace: Option<f32>,
}

impl SineRequest {
    /// Reads the fields of a request.
    pub fn of(request: &SpeechRequest) -> Result<Self, PluginError> {
        let fields = Value::Object(request.fields.clone());
        Self::deserialize(fields).map_err(|error| PluginError::invalid("body", format!("a field of this family is wrong: {error}")))
    }
}
