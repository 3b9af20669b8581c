//! The one stage: it speaks a quiet tone, or does what it should not.

use std::collections::BTreeMap;
use std::time::Duration;

use omni_plugin_api::{Data, FinishReason, PluginError, Prompt, SeqId, Services, StageEvent, StageLimits, StepPlan, StepStage};

use crate::mischief::{Mischief, hang};

/// Output rate.
pub const SAMPLE_RATE_HZ: u32 = 16_000;
/// Samples of a chunk: a quarter of a second. A good request gets two.
const CHUNK_LEN: usize = 4_000;
const CHUNK: Duration = Duration::from_millis(250);
const SLOTS: usize = 64;
/// Log lines of a flood.
const LOG_LINES: usize = 10_000;
/// Chunks of the flood that ends, all in one step.
const FLOOD: usize = 100_000;
/// Chunks a step of the flood that does not.
const FLOOD_A_STEP: usize = 100;

/// The stage.
#[derive(Debug)]
pub struct HostileStage {
    services: Services,
    sequences: BTreeMap<SeqId, Sequence>,
    /// Sequences that were told to stop short and came to where they may.
    short: usize,
}

#[derive(Debug)]
struct Sequence {
    mischief: Option<Mischief>,
    steps: usize,
}

impl HostileStage {
    /// A stage without sequences.
    pub fn new(services: Services) -> Self {
        Self { services, sequences: BTreeMap::new(), short: 0 }
    }

    /// What a sequence does in its next step.
    fn advance(&mut self, seq: SeqId) -> Result<Vec<StageEvent>, PluginError> {
        let sequence = self.sequences.get_mut(&seq).ok_or_else(|| PluginError::internal("a sequence that was not admitted"))?;
        sequence.steps += 1;
        let (mischief, steps) = (sequence.mischief, sequence.steps);
        if steps == 2 && matches!(mischief, Some(Mischief::FailLate | Mischief::StopShort)) {
            // What was made is heard before it fails: a failure overtakes audio that nobody has taken yet.
            std::thread::sleep(CHUNK);
        }
        match mischief {
            Some(Mischief::PanicInStep) => panic!("told to panic in step"),
            Some(Mischief::StageFails) => return Err(PluginError::internal("told to fail as a stage")),
            Some(Mischief::HangInStep) => hang(),
            Some(Mischief::LogFlood) if steps == 1 => self.flood_the_log(),
            Some(Mischief::StopShort) if steps > 1 => {
                self.short += 1;
                if !self.short.is_multiple_of(2) {
                    return Ok(vec![StageEvent::Failed { seq, error: PluginError::incomplete("told to stop short") }]);
                }
            }
            _ => {}
        }
        Ok(mischief.and_then(|mischief| bad(mischief, seq, steps)).unwrap_or_else(|| good(seq, steps)))
    }

    fn flood_the_log(&self) {
        for line in 0..LOG_LINES {
            self.services.info(&format!("line {line} of a flood"));
        }
    }
}

impl StepStage for HostileStage {
    fn limits(&self) -> StageLimits {
        StageLimits { slots: SLOTS, batch: SLOTS, ..StageLimits::default() }
    }

    fn admit(&mut self, seq: SeqId, prompt: &Prompt) -> Result<(), PluginError> {
        let mischief = prompt.read()?;
        assert!(mischief != Some(Mischief::PanicInAdmit), "told to panic in admit");
        self.sequences.insert(seq, Sequence { mischief, steps: 0 });
        Ok(())
    }

    fn feed(&mut self, _seq: SeqId, _chunk: Option<Data>, _last: bool) -> Result<(), PluginError> {
        Err(PluginError::internal("the only stage was fed"))
    }

    fn step(&mut self, plan: &StepPlan) -> Result<Vec<StageEvent>, PluginError> {
        let mut events = Vec::new();
        for work in &plan.work {
            events.extend(self.advance(work.seq)?);
        }
        Ok(events)
    }

    fn release(&mut self, seq: SeqId) {
        let sequence = self.sequences.remove(&seq);
        let told = sequence.is_some_and(|sequence| sequence.mischief == Some(Mischief::PanicInRelease));
        assert!(!told, "told to panic in release");
    }
}

/// The events of a sequence that misbehaves with its events; none for one that speaks.
fn bad(mischief: Mischief, seq: SeqId, steps: usize) -> Option<Vec<StageEvent>> {
    let finished = || StageEvent::Finished { seq, reason: FinishReason::Stop, generated: steps as u64 };
    let told = |what: &str| StageEvent::Failed { seq, error: PluginError::internal(what) };
    Some(match mischief {
        Mischief::FloodForever => vec![output(seq, tone(1)); FLOOD_A_STEP],
        Mischief::Flood if steps == 1 => vec![output(seq, Vec::new()); FLOOD],
        Mischief::LieAboutTheSequence => vec![output(SeqId::MAX, tone(steps)), finished()],
        Mischief::WrongKind => vec![StageEvent::Output { seq, data: Data::Codes { codes: vec![1, 2], codebooks: 2 } }, finished()],
        Mischief::NotFinite => vec![output(seq, vec![f32::NAN; CHUNK_LEN]), finished()],
        Mischief::Malformed => vec![StageEvent::Output { seq, data: Data::Pcm { samples: vec![0.0; 3], channels: 2 } }, finished()],
        Mischief::Fail => vec![told("told to fail")],
        Mischief::FailLate if steps > 1 => vec![told("told to fail late")],
        Mischief::Nothing => vec![finished()],
        Mischief::IdleForever => Vec::new(),
        _ => return None,
    })
}

/// The events of a sequence that speaks: two chunks, then the end.
fn good(seq: SeqId, steps: usize) -> Vec<StageEvent> {
    let mut events = vec![output(seq, tone(steps))];
    if steps >= 2 {
        events.push(StageEvent::Finished { seq, reason: FinishReason::Stop, generated: steps as u64 });
    }
    events
}

fn output(seq: SeqId, samples: Vec<f32>) -> StageEvent {
    StageEvent::Output { seq, data: Data::Pcm { samples, channels: 1 } }
}

/// The chunk of a step: 200 Hz, quiet. A chunk holds whole turns, so chunks join.
fn tone(steps: usize) -> Vec<f32> {
    let first = (steps - 1) * CHUNK_LEN;
    let sample = |index: usize| 0.05 * (std::f32::consts::TAU * 200.0 * (index % CHUNK_LEN) as f32 / SAMPLE_RATE_HZ as f32).sin();
    (first..first + CHUNK_LEN).map(sample).collect()
}
