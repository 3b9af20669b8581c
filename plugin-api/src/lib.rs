//! What omni-host and a model family plugin share.
//!
//! A family is a dynamic library that implements three traits: [`Family`] says what it is, [`Model`] is what it becomes once loaded,
//! and a [`Stage`] does the work, step by step, for many sequences at once. [`export_family!`] makes a library of it. The host owns
//! requests, scheduling and audio formats; a plugin owns weights and state, and nothing of its tensor library crosses over.

pub mod abi;
mod checkpoint;
mod data;
mod error;
mod export;
mod family;
mod info;
mod request;
mod services;
mod stage;
pub mod testing;
pub mod version;

pub use checkpoint::{Blueprint, BlueprintRequest, CheckpointLayout, Fill, TensorLayout, TextFile, WeightFile};
pub use data::{Data, DataKind, NamedTensor, TensorValues};
pub use error::{ErrorKind, PluginError, contain};
pub use family::{Device, Family, FloatType, Model, ModelSource, Placement, StageWish};
pub use info::{Abilities, Checkpoint, FamilyInfo, ModelInfo, StageInfo, TextRules, VoiceInfo, schema_of};
pub use request::{Extent, Prepared, Prompt, ReferenceAudio, SpeechRequest, Usage, Voice};
pub use services::{HostServices, Level, Metric, Services};
pub use stage::{FinishReason, SeqId, SeqWork, Stage, StageEvent, StageLimits, StepPlan, StepStage, Stepwise};
pub use version::INTERFACE_VERSION;
