//! What a deploy file decides about a model's stages.

use std::path::PathBuf;

use omni_plugin_api::{Device, FamilyInfo, Placement, StageLimits};
use serde_json::{Map, Value};

use super::chunks::{ChunkRules, Liking};
use super::stage::Rules;

/// What is decided about one model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Deployment {
    /// Where its stages run.
    pub placement: Placement,
    /// What each stage gets, in order; a stage past the end gets what it likes.
    pub stages: Vec<StageSettings>,
    /// The folder of the voices that were prepared for it.
    pub custom_voice_dir: Option<PathBuf>,
    /// Values for requests that do not say, by their names in a deploy file.
    pub defaults: Map<String, Value>,
}

/// What is decided about one stage. What is absent is left to the stage.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StageSettings {
    /// The device of each replica; empty for one replica where the placement says.
    pub devices: Vec<Device>,
    /// Sequences a replica admits at once, at most.
    pub max_seqs: Option<usize>,
    /// Sequences of a step, at most.
    pub max_batch: Option<usize>,
    /// Streams that progress at once in it, at most; it acts on stages behind the first.
    pub window: Option<usize>,
    /// Prompt tokens and sequences of one step together, at most.
    pub step_tokens: Option<usize>,
    /// Tokens of one sequence, at most.
    pub max_seq_tokens: Option<u64>,
    /// Bytes of a replica's key-value cache, at most.
    pub kv_bytes: Option<u64>,
    /// How the stream that it works on is cut.
    pub chunks: ChunkRules,
    /// It starts on a sequence only when the stage in front has finished it.
    pub waits_for_all: bool,
}

impl StageSettings {
    /// What a stage can hold with these settings laid over it: they narrow, they never widen.
    pub fn rules(&self, index: usize, limits: &StageLimits) -> Rules {
        let window = self.window.filter(|window| *window > 0 && index > 0).unwrap_or(usize::MAX);
        let slots = limits.slots.min(self.max_seqs.unwrap_or(usize::MAX).max(1)).min(window);
        // What a stage does not have, or does not limit, is 0.
        let narrowed = |own: u64, set: Option<u64>| [Some(own), set].into_iter().flatten().filter(|tokens| *tokens > 0).min().unwrap_or(0);
        let kv_tokens = self.kv_bytes.and_then(|bytes| bytes.checked_div(limits.kv_token_bytes));
        let prefill_tokens = narrowed(limits.prefill_tokens as u64, self.step_tokens.map(|tokens| tokens as u64)) as usize;
        Rules {
            slots,
            batch: limits.batch.min(slots).min(self.max_batch.unwrap_or(usize::MAX).max(1)),
            buckets: limits.buckets.clone(),
            // A cache that a stage does not have cannot be limited.
            kv_tokens: if limits.kv_tokens == 0 { 0 } else { narrowed(limits.kv_tokens, kv_tokens) },
            max_seq_tokens: if limits.kv_tokens == 0 { 0 } else { narrowed(limits.max_seq_tokens, self.max_seq_tokens) },
            prefill_tokens,
        }
    }

    /// What the stage likes of its steps.
    pub fn liking(&self, limits: &StageLimits) -> Liking {
        Liking { first: limits.first_units.max(1), steady: limits.step_units.max(1) }
    }
}

/// A model that is to be loaded.
#[derive(Debug, Clone)]
pub struct Prospect {
    /// Its family.
    pub info: FamilyInfo,
    /// The directory of its checkpoint, where it has one.
    pub checkpoint: Option<PathBuf>,
}

/// Decides for all models of a host at once, before any of them loads.
pub trait Deployments: Send + Sync {
    /// One decision a model, in order, or why the host cannot start like this.
    fn decide(&self, models: &[Prospect]) -> Result<Vec<Deployment>, String>;
}

/// Decides nothing: every stage gets what it likes, on the CPU.
pub struct Undecided;

impl Deployments for Undecided {
    fn decide(&self, models: &[Prospect]) -> Result<Vec<Deployment>, String> {
        Ok(vec![Deployment::default(); models.len()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_narrow_what_a_stage_can_and_never_widen_it() {
        let limits = StageLimits { slots: 8, batch: 4, kv_tokens: 1_000, kv_token_bytes: 10, ..StageLimits::default() };
        let rules = |settings: &StageSettings| settings.rules(1, &limits);
        let with = |max_seqs| StageSettings { max_seqs, ..StageSettings::default() };
        let own = rules(&with(None));
        assert_eq!((own.slots, own.batch, own.kv_tokens, own.max_seq_tokens), (8, 4, 1_000, 0));
        assert_eq!((rules(&with(Some(2))).slots, rules(&with(Some(2))).batch), (2, 2));
        assert_eq!((rules(&with(Some(0))).slots, rules(&with(Some(99))).slots), (1, 8));
        let bytes = |kv_bytes| StageSettings { kv_bytes: Some(kv_bytes), max_seq_tokens: Some(300), ..StageSettings::default() };
        let tokens = |kv_bytes| (rules(&bytes(kv_bytes)).kv_tokens, rules(&bytes(kv_bytes)).max_seq_tokens);
        assert_eq!((tokens(5_000), tokens(50_000)), ((500, 300), (1_000, 300)));
    }

    #[test]
    fn a_window_holds_back_streams_behind_the_first_stage_only() {
        let limits = StageLimits { slots: 8, batch: 8, ..StageLimits::default() };
        let settings = StageSettings { window: Some(3), ..StageSettings::default() };
        assert_eq!((settings.rules(0, &limits).slots, settings.rules(1, &limits).slots), (8, 3));
        let off = StageSettings { window: Some(0), ..StageSettings::default() };
        assert_eq!(off.rules(1, &limits).slots, 8);
    }
}
