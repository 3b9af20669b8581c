//! A family and its loaded model.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Blueprint, BlueprintRequest, CheckpointLayout, FamilyInfo, ModelInfo, NamedTensor, PluginError, Prepared, ReferenceAudio, Services,
    SpeechRequest, Stage, Voice,
};

/// A model family: what a plugin library exports, one a library.
pub trait Family: Send + Sync + 'static {
    /// Describes the family. Cheap, without side effects, the same at every call.
    fn describe(&self) -> FamilyInfo;

    /// Loads a model. May take minutes: report bytes and phases through `services`, and give up when it says cancelled.
    fn open(&self, source: &ModelSource, placement: &Placement, services: Services) -> Result<Box<dyn Model>, PluginError>;

    /// The tensors that a checkpoint needs, by its own configuration. Reads descriptions, never weights: `omni-host check` compares them
    /// with what the files hold.
    fn layout(&self, source: &ModelSource) -> Result<CheckpointLayout, PluginError> {
        let _ = source;
        Err(PluginError::unsupported("this family does not list the tensors of its checkpoints"))
    }

    /// A published variant as `omni-host checkpoint` makes it of random numbers. An unknown variant is refused with the known ones.
    fn blueprint(&self, request: &BlueprintRequest) -> Result<Blueprint, PluginError> {
        let _ = request;
        Err(PluginError::unsupported("this family does not make checkpoints"))
    }
}

/// A loaded model. `prepare` is called from several threads at once.
pub trait Model: Send + Sync {
    /// What became known by loading.
    fn info(&self) -> ModelInfo;

    /// Checks what a schema cannot say, reads the text, and makes the prompt. An [`crate::ErrorKind::Invalid`] error is the client's
    /// answer word for word.
    fn prepare(&self, request: &SpeechRequest, voice: &Voice) -> Result<Prepared, PluginError>;

    /// Turns reference audio into named tensors which the host stores, caches and hands back in [`Voice::tensors`].
    fn encode_reference(&self, reference: &ReferenceAudio) -> Result<Vec<NamedTensor>, PluginError> {
        let _ = reference;
        Err(PluginError::unsupported("this model cannot speak with a reference voice"))
    }

    /// Opens a replica of stage `index` of [`FamilyInfo::stages`]. The host gives it a thread of its own.
    fn open_stage(&self, index: usize) -> Result<Box<dyn Stage>, PluginError>;

    /// Opens a replica of stage `index` on another device than [`Placement::device`] names for it: asked for when a deploy file spreads the
    /// replicas of a stage over devices. Weights may be brought there on the first call.
    fn open_stage_on(&self, index: usize, device: Device) -> Result<Box<dyn Stage>, PluginError> {
        Err(PluginError::unsupported(format!(
            "this family runs all replicas of a stage on one device: stage {index} is not for {device:?}"
        )))
    }
}

/// Where a model's weights come from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelSource {
    /// The family carries its weights or has none.
    #[default]
    BuiltIn,
    /// A checkpoint directory.
    Directory(PathBuf),
}

/// Where the stages run, and what an operator asks of them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Placement {
    /// Device of each stage, in order; a stage past the end runs on the last, an empty list means the CPU.
    pub devices: Vec<Device>,
    /// What is asked of each stage, in order; nothing of a stage past the end.
    pub wishes: Vec<StageWish>,
}

impl Placement {
    /// The device of stage `index`.
    pub fn device(&self, index: usize) -> Device {
        self.devices.get(index).or(self.devices.last()).copied().unwrap_or_default()
    }

    /// What is asked of stage `index`.
    pub fn wish(&self, index: usize) -> StageWish {
        self.wishes.get(index).cloned().unwrap_or_default()
    }
}

/// What a deploy file asks of a stage. What is absent is the family's choice; what a family cannot do it refuses when it opens.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StageWish {
    /// The type of weights and activations.
    pub dtype: Option<FloatType>,
    /// Sequences that a replica works on at once, at most: what the stage may size its buffers for.
    pub sequences: Option<usize>,
    /// Tokens of one sequence, at most.
    pub sequence_tokens: Option<u64>,
    /// Bytes of a replica's key-value cache, at most.
    pub kv_bytes: Option<u64>,
    /// Characters of an instruction on how to speak, at most.
    pub instruction_chars: Option<usize>,
    /// Work is launched operation by operation, nothing is recorded: slower, and what a fault is looked for with.
    pub is_eager: bool,
    /// Keys of the deploy file that only a family knows, such as `hf_overrides`, as they stand there. Their types are for the family to check.
    pub settings: Map<String, Value>,
}

/// A type of floating-point numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FloatType {
    /// 32 bits.
    F32,
    /// 16 bits with the range of 32.
    BF16,
    /// 16 bits as IEEE 754 has them.
    F16,
}

/// A compute device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Device {
    /// The host's processor.
    #[default]
    Cpu,
    /// The CUDA device of this index.
    Cuda(u32),
}
