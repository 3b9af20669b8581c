//! A sequence within a stage.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use omni_plugin_api::{Data, StageLimits};

use crate::engine::StageSettings;
use crate::engine::job::{Job, Piece};
use crate::engine::measures::SlotClock;

/// Where a sequence stands in a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// It waits for a slot.
    Waiting,
    /// It has a slot and nothing to work on.
    Hungry,
    /// It can be stepped.
    Runnable,
    /// The stage has finished it; only its last output is still on the way out.
    Finished,
}

/// A sequence in a stage.
pub struct Slot {
    /// Whose.
    pub job: Arc<Job>,
    /// Where it stands.
    pub phase: Phase,
    /// Chunks that arrived and were not fed yet.
    pub inbox: VecDeque<(Option<Data>, bool)>,
    /// Audio that found the ring full.
    pub outbox: VecDeque<Piece>,
    /// Whether a chunk that holds a credit is inside the stage.
    pub holds_credit: bool,
    /// Steps so far.
    pub steps: u32,
    /// Samples sent so far; only the last stage counts.
    pub samples: u64,
    /// Whether the last chunk it sent on was marked as such.
    pub said_last: bool,
    /// Since when it has been stepped without any event about it.
    pub silent_since: Option<Instant>,
    /// When what happened to it here.
    pub clock: SlotClock,
}

impl Slot {
    /// A sequence that waits.
    pub fn new(job: Arc<Job>) -> Self {
        Self {
            job,
            phase: Phase::Waiting,
            inbox: VecDeque::new(),
            outbox: VecDeque::new(),
            holds_credit: false,
            steps: 0,
            samples: 0,
            said_last: false,
            silent_since: None,
            clock: SlotClock::start(),
        }
    }

    /// Whether the stage knows it.
    pub fn is_admitted(&self) -> bool {
        matches!(self.phase, Phase::Hungry | Phase::Runnable)
    }

    /// How many units its next step may take: what is set for the first steps, or as few as the stage likes, so that the first chunk
    /// leaves early; then twice as much each time, up to the steady size.
    pub fn units(&self, limits: &StageLimits, settings: &StageSettings) -> usize {
        let steps = self.steps as usize;
        if let Some(units) = settings.first_steps.get(steps) {
            return (*units).clamp(1, limits.step_units);
        }
        let (first, doublings) = match settings.first_steps.last() {
            Some(last) => (*last, steps + 1 - settings.first_steps.len()),
            None => (limits.first_units, steps),
        };
        first.clamp(1, limits.step_units).saturating_mul(1 << doublings.min(30)).min(limits.step_units)
    }
}

#[cfg(test)]
mod tests {
    use omni_plugin_api::{Prompt, Usage};

    use super::*;
    use crate::engine::measures::{Arrival, ModelMeasures};

    #[test]
    fn steps_grow_from_the_first_to_the_steady_size() {
        let measures = ModelMeasures::new("m", 2, 24_000, 1).begin(Arrival::now(), Usage::default(), 0);
        let (job, _ends) = Job::new(1, Prompt::default(), 2, 60, measures);
        let mut slot = Slot::new(job);
        let limits = StageLimits { first_units: 3, step_units: 20, ..StageLimits::default() };
        let mut sizes = |limits: &StageLimits, first_steps: &[usize]| -> Vec<usize> {
            let settings = StageSettings { first_steps: first_steps.to_vec(), ..StageSettings::default() };
            let mut at = |steps| {
                slot.steps = steps;
                slot.units(limits, &settings)
            };
            (0..5).chain([4_000]).map(&mut at).collect()
        };
        assert_eq!(sizes(&limits, &[]), [3, 6, 12, 20, 20, 20]);
        assert_eq!(sizes(&limits, &[1]), [1, 2, 4, 8, 16, 20]);
        assert_eq!(sizes(&limits, &[1, 1, 9]), [1, 1, 9, 18, 20, 20]);
        assert_eq!(sizes(&limits, &[0, 500]), [1, 20, 20, 20, 20, 20]);
        assert_eq!(sizes(&StageLimits { first_units: 0, step_units: usize::MAX, ..limits }, &[])[5], 1 << 30);
    }
}
