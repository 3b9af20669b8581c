//! A stage: the seam between the engine and a model.

use serde::{Deserialize, Serialize};

use crate::{Data, PluginError, Prompt};

/// Identifies a sequence (one utterance of one request) within a host. Never 0, never used twice.
pub type SeqId = u64;

/// One replica of a stage, owned by one thread of the engine.
///
/// The engine admits sequences into slots, feeds them, and steps a batch of them at a time. A step is split: [`Stage::submit`] starts
/// the work and returns, [`Stage::collect`] waits for its result, so the engine does its own work while a device computes. One
/// submitted step is outstanding at most. A stage that computes at once implements [`StepStage`] instead.
///
/// An `Err` of `submit` or `collect` is the stage's own failure and ends every sequence in it; a single sequence fails by
/// [`StageEvent::Failed`].
pub trait Stage: Send {
    /// What the stage can hold. Read once, after it was opened.
    fn limits(&self) -> StageLimits;

    /// Gives a sequence a slot. Every stage receives the whole prompt; a first stage starts from it.
    fn admit(&mut self, seq: SeqId, prompt: &Prompt) -> Result<(), PluginError>;

    /// Hands a chunk from the stage before to a sequence that said [`StageEvent::NeedsInput`] (or was just admitted). `last` says that
    /// nothing follows; such a chunk may be absent, when the stage before ended without more data.
    fn feed(&mut self, seq: SeqId, chunk: Option<Data>, last: bool) -> Result<(), PluginError>;

    /// Starts a step for the sequences of the plan.
    fn submit(&mut self, plan: &StepPlan) -> Result<(), PluginError>;

    /// Waits for the step that was submitted and gives what came of it, in order.
    fn collect(&mut self) -> Result<Vec<StageEvent>, PluginError>;

    /// Frees the slot of a sequence, whether it ended or was cancelled. Never called while a step is outstanding.
    fn release(&mut self, seq: SeqId);
}

/// A stage whose step is one blocking call; [`Stepwise`] makes a [`Stage`] of it.
pub trait StepStage: Send {
    /// See [`Stage::limits`].
    fn limits(&self) -> StageLimits;
    /// See [`Stage::admit`].
    fn admit(&mut self, seq: SeqId, prompt: &Prompt) -> Result<(), PluginError>;
    /// See [`Stage::feed`]. A first stage is never fed.
    fn feed(&mut self, seq: SeqId, chunk: Option<Data>, last: bool) -> Result<(), PluginError>;
    /// Computes a step for the sequences of the plan.
    fn step(&mut self, plan: &StepPlan) -> Result<Vec<StageEvent>, PluginError>;
    /// See [`Stage::release`].
    fn release(&mut self, seq: SeqId);
}

/// Runs a [`StepStage`] as a [`Stage`]: `submit` keeps the plan, `collect` computes.
pub struct Stepwise<S> {
    stage: S,
    plan: StepPlan,
}

impl<S: StepStage + 'static> Stepwise<S> {
    /// Wraps and boxes a stage, ready to be returned from [`crate::Model::open_stage`].
    pub fn boxed(stage: S) -> Box<dyn Stage> {
        Box::new(Self { stage, plan: StepPlan::default() })
    }
}

impl<S: StepStage> Stage for Stepwise<S> {
    fn limits(&self) -> StageLimits {
        self.stage.limits()
    }

    fn admit(&mut self, seq: SeqId, prompt: &Prompt) -> Result<(), PluginError> {
        self.stage.admit(seq, prompt)
    }

    fn feed(&mut self, seq: SeqId, chunk: Option<Data>, last: bool) -> Result<(), PluginError> {
        self.stage.feed(seq, chunk, last)
    }

    fn submit(&mut self, plan: &StepPlan) -> Result<(), PluginError> {
        self.plan.clone_from(plan);
        Ok(())
    }

    fn collect(&mut self) -> Result<Vec<StageEvent>, PluginError> {
        self.stage.step(&self.plan)
    }

    fn release(&mut self, seq: SeqId) {
        self.stage.release(seq);
    }
}

/// What a stage can hold and how it likes to be stepped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StageLimits {
    /// Sequences that may be admitted at once, at least 1.
    pub slots: usize,
    /// Sequences that may be in one step, at least 1.
    pub batch: usize,
    /// Batch sizes that have a prepared path, ascending; empty when any size up to `batch` is alike.
    pub buckets: Vec<usize>,
    /// Key-value cache in tokens, shared by all slots; 0 for a stage without one.
    pub kv_tokens: u64,
    /// Device bytes one admitted sequence takes.
    pub bytes_per_sequence: u64,
    /// Fewest units worth a first step: how small the first chunk of a stream may be.
    pub first_units: usize,
    /// Units of a steady step.
    pub step_units: usize,
    /// Tokens that one sequence may take of the cache, prompt and generated together; 0 when only `kv_tokens` limits it.
    pub max_seq_tokens: u64,
    /// Device bytes of one token of the cache; 0 when not known.
    pub kv_token_bytes: u64,
    /// Prompt tokens that may be new in a step beside sequences that are being spoken, so that none of those waits for long; 0 leaves it to
    /// the engine, which measures what newcomers cost.
    pub prefill_tokens: usize,
}

impl Default for StageLimits {
    fn default() -> Self {
        Self {
            slots: 1,
            batch: 1,
            buckets: Vec::new(),
            kv_tokens: 0,
            bytes_per_sequence: 0,
            first_units: 1,
            step_units: 1,
            max_seq_tokens: 0,
            kv_token_bytes: 0,
            prefill_tokens: 0,
        }
    }
}

/// The sequences of one step.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StepPlan {
    /// At most [`StageLimits::batch`] sequences, each once.
    pub work: Vec<SeqWork>,
}

/// One sequence's share of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeqWork {
    /// Which sequence.
    pub seq: SeqId,
    /// How many units (codes, latents, frames of the codec) it may work through in this step. A stage whose unit cannot be cut, such as
    /// a whole sentence, does one such unit.
    pub max_units: usize,
}

/// Why a sequence ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// All of it was said.
    Stop,
    /// The length cap was reached first.
    Length,
}

/// What came of a step for one sequence.
#[derive(Debug, Clone, PartialEq)]
pub enum StageEvent {
    /// New data, of the kind the stage declares.
    Output {
        /// Whose.
        seq: SeqId,
        /// The data.
        data: Data,
    },
    /// All that was fed is used up: the engine feeds the next chunk before it plans the sequence again.
    NeedsInput {
        /// Whose.
        seq: SeqId,
    },
    /// The sequence is done; nothing follows.
    Finished {
        /// Whose.
        seq: SeqId,
        /// Why.
        reason: FinishReason,
        /// Tokens or frames it generated, for usage.
        generated: u64,
    },
    /// This sequence failed; others go on.
    Failed {
        /// Whose.
        seq: SeqId,
        /// Why.
        error: PluginError,
    },
}

impl StageEvent {
    /// Whose event it is.
    pub fn seq(&self) -> SeqId {
        match self {
            StageEvent::Output { seq, .. }
            | StageEvent::NeedsInput { seq }
            | StageEvent::Finished { seq, .. }
            | StageEvent::Failed { seq, .. } => *seq,
        }
    }
}
