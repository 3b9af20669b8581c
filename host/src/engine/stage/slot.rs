//! A sequence within a stage.

use std::sync::Arc;
use std::time::Duration;

use super::inbox::Inbox;
use crate::engine::chunks::Chunks;
use crate::engine::job::Job;
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
}

/// What a sequence said in a step.
#[derive(Debug, Default)]
struct Said {
    step: u64,
    events: usize,
    has_ended: bool,
}

/// A sequence in a stage.
pub struct Slot {
    /// Whose.
    pub job: Arc<Job>,
    /// Where it stands.
    pub phase: Phase,
    /// Chunks that arrived and were not fed yet.
    pub inbox: Inbox,
    /// How its stream is cut.
    pub chunks: Chunks,
    /// Units of the next step when it was just fed that many.
    pub fed: Option<usize>,
    /// Chunks, and units in them, that are inside the stage and not used up.
    pub inside: (usize, usize),
    /// Whether it was stepped at all.
    pub is_stepped: bool,
    /// Units it may still give before it has filled what it reserved; none when nothing is reserved.
    pub units_left: Option<u64>,
    /// Units it gave.
    pub units_given: u64,
    /// Samples sent so far; only the last stage counts.
    pub samples: u64,
    /// Whether the last chunk it sent on was marked as such.
    pub said_last: bool,
    /// Since when it has been stepped without any event about it.
    pub silent_since: Option<Duration>,
    /// When what happened to it here, for its measures.
    pub clock: SlotClock,
    said: Said,
}

impl Slot {
    /// A sequence that waits.
    pub fn new(job: Arc<Job>) -> Self {
        let chunks = Chunks::new(job.pacing.is_whole, job.pacing.first_units);
        Self {
            job,
            phase: Phase::Waiting,
            inbox: Inbox::default(),
            chunks,
            fed: None,
            inside: (0, 0),
            is_stepped: false,
            units_left: None,
            units_given: 0,
            samples: 0,
            said_last: false,
            silent_since: None,
            clock: SlotClock::start(),
            said: Said::default(),
        }
    }

    /// Counts an event of step `step`: how many there were by now, none where it has ended before.
    pub fn hear(&mut self, step: u64, is_end: bool) -> Option<usize> {
        if self.said.step != step {
            self.said = Said { step, ..Said::default() };
        }
        if self.said.has_ended {
            return None;
        }
        self.said.events += 1;
        self.said.has_ended = is_end;
        Some(self.said.events)
    }

    /// Whether the stage knows it.
    pub fn is_admitted(&self) -> bool {
        matches!(self.phase, Phase::Hungry | Phase::Runnable)
    }
}
