//! A prompt as it crosses to the stages, and back.

use omni_blocks::sample::Settings;
use omni_plugin_api::{NamedTensor, PluginError, Prompt, TensorValues};
use serde::{Deserialize, Serialize};

use crate::layout::Script;

/// Name of a speaker's vector, `f32 [width of the talker]`, in voices and prompts.
pub const SPEAKER_EMBEDDING: &str = "speaker_embedding";
/// Name of a reference's codes, `i32 [frames, codebooks]`, in voices and prompts.
pub const REF_CODE: &str = "ref_code";

/// What every stage receives of a speech.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Speech {
    /// Its tokens.
    pub script: Script,
    /// Sampler of the first code of a frame.
    pub first: Settings,
    /// Sampler of the other codes.
    pub rest: Settings,
    /// Seed of all noise.
    pub seed: u64,
    /// Most frames.
    pub max_frames: usize,
    /// Whether to reach it is a failure, not an end: nobody asked for the limit, so the speech is incomplete.
    pub must_end: bool,
    /// Frames at its start that may not be silence.
    pub loud_frames: u32,
}

/// What a voice carries beyond its name.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Conditioning {
    /// The speaker's vector.
    pub embedding: Option<Vec<f32>>,
    /// The reference's codes, frame by frame.
    pub codes: Option<Vec<i32>>,
}

impl Conditioning {
    /// Reads the tensors of a voice or a prompt. Their shapes are checked: they come from storage.
    pub fn of(tensors: &[NamedTensor], codebooks: usize) -> Result<Self, PluginError> {
        let mut conditioning = Self::default();
        for tensor in tensors {
            match (tensor.name.as_str(), &tensor.values) {
                (SPEAKER_EMBEDDING, TensorValues::F32(values)) => conditioning.embedding = Some(values.clone()),
                (REF_CODE, TensorValues::I32(values)) => {
                    if tensor.shape.last() != Some(&codebooks) || !values.len().is_multiple_of(codebooks) {
                        let found = &tensor.shape;
                        return Err(PluginError::invalid("voice", format!("{REF_CODE} is {found:?}, expected [frames, {codebooks}]")));
                    }
                    conditioning.codes = Some(values.clone()).filter(|codes| !codes.is_empty());
                }
                (name, _) => {
                    return Err(PluginError::invalid("voice", format!("the voice carries '{name}', which this model does not know")));
                }
            }
        }
        Ok(conditioning)
    }

    /// The same as tensors.
    pub fn tensors(self, codebooks: usize) -> Vec<NamedTensor> {
        let embedding = self.embedding.map(|values| NamedTensor::f32(SPEAKER_EMBEDDING, vec![values.len()], values));
        let codes = self.codes.map(|values| NamedTensor::i32(REF_CODE, vec![values.len() / codebooks, codebooks], values));
        embedding.into_iter().chain(codes).collect()
    }
}

impl Speech {
    /// The speech as a prompt.
    pub fn prompt(&self, conditioning: Conditioning, codebooks: usize) -> Result<Prompt, PluginError> {
        Ok(Prompt { tensors: conditioning.tensors(codebooks), ..Prompt::of(self)? })
    }
}
