//! The numbers of the sampler: the checkpoint's, and what a request changes.

use std::path::Path;

use omni_blocks::sample::{Chain, Op, Settings};
use omni_plugin_api::PluginError;
use serde::Deserialize;

use crate::request::Sampling;

/// Draws before the end may be drawn; without it speech is sometimes empty.
const MIN_TOKENS: u32 = 2;

/// `generation_config.json`; a key that is absent has the value that every published checkpoint gives it.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(default)]
pub struct Generation {
    do_sample: bool,
    temperature: f32,
    top_k: i64,
    top_p: f32,
    repetition_penalty: f32,
    subtalker_dosample: bool,
    subtalker_temperature: f32,
    subtalker_top_k: i64,
    subtalker_top_p: f32,
}

impl Default for Generation {
    fn default() -> Self {
        Self {
            do_sample: true,
            temperature: 0.9,
            top_k: 50,
            top_p: 1.0,
            repetition_penalty: 1.05,
            subtalker_dosample: true,
            subtalker_temperature: 0.9,
            subtalker_top_k: 50,
            subtalker_top_p: 1.0,
        }
    }
}

impl Generation {
    /// Reads the file of a checkpoint directory; defaults without one.
    pub fn open(directory: &Path) -> Result<Self, PluginError> {
        let path = directory.join("generation_config.json");
        if !path.is_file() {
            return Ok(Self::default());
        }
        let wrong = |reason: String| PluginError::checkpoint(format!("'{}' cannot be used: {reason}", path.display()));
        let text = std::fs::read_to_string(&path).map_err(|error| wrong(error.to_string()))?;
        serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))
    }

    /// Settings of the first code of a frame, of which there are `min_tokens` at least, or as few as the model needs.
    pub fn first(&self, asked: &Sampling, min_tokens: Option<u32>) -> Settings {
        let draws = asked.do_sample.unwrap_or(self.do_sample);
        Settings {
            temperature: if draws { asked.temperature.unwrap_or(self.temperature) } else { 0.0 },
            top_k: candidates(asked.top_k.unwrap_or(self.top_k)),
            top_p: asked.top_p.unwrap_or(self.top_p),
            penalty: asked.repetition_penalty.unwrap_or(self.repetition_penalty),
            min_tokens: min_tokens.unwrap_or(MIN_TOKENS),
        }
    }

    /// Settings of the other codes.
    pub fn rest(&self, asked: &Sampling) -> Settings {
        let draws = asked.subtalker_dosample.unwrap_or(self.subtalker_dosample);
        Settings {
            temperature: if draws { asked.subtalker_temperature.unwrap_or(self.subtalker_temperature) } else { 0.0 },
            top_k: candidates(asked.subtalker_top_k.unwrap_or(self.subtalker_top_k)),
            top_p: asked.subtalker_top_p.unwrap_or(self.subtalker_top_p),
            penalty: 1.0,
            min_tokens: 0,
        }
    }
}

/// The reference writes "all" as -1 or 0.
fn candidates(top_k: i64) -> u32 {
    u32::try_from(top_k.max(0)).unwrap_or(0)
}

/// Operations on the first code's logits; `stop` is the end's place among them.
pub fn first_chain(stop: u32) -> Chain {
    Chain(vec![Op::Penalty, Op::MinTokens(stop), Op::Temperature, Op::TopK, Op::TopP])
}

/// Operations on the other codes' logits.
pub fn rest_chain() -> Chain {
    Chain(vec![Op::Temperature, Op::TopK, Op::TopP])
}
