//! Phonemes to latents: one sentence, or one pause, a step.

use std::sync::Arc;

use omni_plugin_api::{Data, FinishReason, PluginError, Prompt, SeqId, StageEvent, StageLimits, StepPlan, StepStage};

use super::latents;
use super::slots::{SLOTS, Slots};
use crate::Acoustic;
use crate::model::{Part, Script};

/// The stage.
pub struct AcousticStage {
    acoustic: Arc<Acoustic>,
    slots: Slots<Speaking>,
}

/// How far a sequence has come.
struct Speaking {
    script: Script,
    /// The part to encode next.
    next: usize,
    /// Half frames made.
    made: u64,
}

impl AcousticStage {
    /// A stage with all slots free.
    pub fn new(acoustic: Arc<Acoustic>) -> Self {
        Self { acoustic, slots: Slots::new() }
    }

    fn advance(&mut self, seq: SeqId, events: &mut Vec<StageEvent>) -> Result<(), PluginError> {
        let speaking = self.slots.get_mut(seq)?;
        if let Some(part) = speaking.script.parts.get(speaking.next) {
            let values = rows(&self.acoustic, part, speaking.script.speed)?;
            speaking.next += 1;
            speaking.made += (values.len() / latents::WIDTH) as u64;
            events.push(StageEvent::Output { seq, data: Data::Latents { values, patch: 1, width: latents::WIDTH } });
        }
        if speaking.next >= speaking.script.parts.len() {
            events.push(StageEvent::Finished { seq, reason: FinishReason::Stop, generated: speaking.made });
        }
        Ok(())
    }
}

/// The latents of one part.
fn rows(acoustic: &Acoustic, part: &Part, speed: f32) -> Result<Vec<f32>, PluginError> {
    match part {
        Part::Pause(half_frames) => Ok(latents::of_pause(*half_frames)),
        Part::Speech(phonemes) => {
            let utterance = acoustic.encode(&acoustic.vocab().ids(phonemes), speed);
            utterance.map(|utterance| latents::of_utterance(&utterance)).map_err(|error| PluginError::internal(error.to_string()))
        }
    }
}

impl StepStage for AcousticStage {
    /// One sequence a step: another's sentence would only make it wait, the products of one sentence fill the processor.
    fn limits(&self) -> StageLimits {
        StageLimits { slots: SLOTS, batch: 1, first_units: 1, step_units: 1, ..StageLimits::default() }
    }

    fn admit(&mut self, seq: SeqId, prompt: &Prompt) -> Result<(), PluginError> {
        self.slots.admit(seq, Speaking { script: prompt.read()?, next: 0, made: 0 })
    }

    fn feed(&mut self, seq: SeqId, _chunk: Option<Data>, _last: bool) -> Result<(), PluginError> {
        Err(PluginError::internal(format!("the acoustic stage is the first, yet sequence {seq} was fed")))
    }

    fn step(&mut self, plan: &StepPlan) -> Result<Vec<StageEvent>, PluginError> {
        let mut events = Vec::new();
        for work in &plan.work {
            if let Err(error) = self.advance(work.seq, &mut events) {
                events.push(StageEvent::Failed { seq: work.seq, error });
            }
        }
        Ok(events)
    }

    fn release(&mut self, seq: SeqId) {
        self.slots.release(seq);
    }
}
