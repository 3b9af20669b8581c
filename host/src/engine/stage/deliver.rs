//! What becomes of a step's events. Nothing a stage says is taken on trust.

use std::sync::Arc;

use omni_plugin_api::{Data, FinishReason, PluginError, SeqId, StageEvent, StageInfo, StepPlan};

use super::StageWorker;
use super::outbox::Parcel;
use super::slot::{Phase, Slot};
use crate::engine::job::Job;

/// Events a sequence may have in one step.
const EVENTS_A_STEP: usize = 256;

impl StageWorker {
    /// Checks the events of a step and hands on what they carry.
    pub(super) fn deliver(&mut self, plan: &StepPlan, events: Vec<StageEvent>) -> Result<(), PluginError> {
        let heard_of = self.check(&events)?;
        let taken = self.take(events);
        self.outbox.send();
        taken?;
        if heard_of < plan.work.len() { self.fail_the_silent(plan) } else { Ok(()) }
    }

    /// Does what each event calls for. One about a sequence that an earlier event of this step ended has no place any more.
    fn take(&mut self, events: Vec<StageEvent>) -> Result<(), PluginError> {
        let mut events = events.into_iter().peekable();
        while let Some(event) = events.next() {
            match event {
                StageEvent::Output { seq, data } => {
                    let ends = events.peek().is_some_and(|next| matches!(next, StageEvent::Finished { seq: of, .. } if *of == seq));
                    self.output(seq, data, ends)?;
                }
                StageEvent::NeedsInput { seq } => self.needs_input(seq)?,
                StageEvent::Finished { seq, reason, generated } => self.finished(seq, reason, generated)?,
                StageEvent::Failed { seq, error } => self.fail(seq, &error)?,
            }
        }
        Ok(())
    }

    /// Refuses events about sequences that are not here or have ended, and floods. Tells how many stepped sequences were heard of.
    fn check(&mut self, events: &[StageEvent]) -> Result<usize, PluginError> {
        self.steps += 1;
        let mut heard_of = 0;
        for event in events {
            let (seq, is_end) = (event.seq(), matches!(event, StageEvent::Finished { .. } | StageEvent::Failed { .. }));
            let slot = self.slots.get_mut(&seq).filter(|slot| slot.is_admitted());
            let unknown = || PluginError::internal(format!("gave an event for sequence {seq}, which it does not hold"));
            let slot = slot.ok_or_else(unknown)?;
            if slot.hear(self.steps, is_end).ok_or_else(unknown)? > EVENTS_A_STEP {
                return Err(PluginError::internal(format!("gave more than {EVENTS_A_STEP} events for one sequence in one step")));
            }
            heard_of += usize::from(slot.silent_since.take().is_some());
        }
        Ok(heard_of)
    }

    /// Hands on what a sequence gave; `ends` when nothing follows it. One that has filled what was reserved for it ends: what it would say
    /// more has no place.
    fn output(&mut self, seq: SeqId, data: Data, ends: bool) -> Result<(), PluginError> {
        let Some(slot) = self.slots.get_mut(&seq) else { return Ok(()) };
        if let Err(reason) = check_data(&self.info, self.pipeline.info.channels, &data) {
            return self.fail(seq, &PluginError::internal(reason));
        }
        slot.units_given += data.units() as u64;
        slot.clock.output(&self.measures);
        let (given, is_full) = (slot.units_given, slot.units_left.is_some_and(|most| slot.units_given >= most));
        match (self.next_room, data) {
            (Some(_), data) => self.pass(seq, data, ends),
            (None, Data::Pcm { samples, .. }) => self.emit(seq, samples)?,
            (None, _) => {}
        }
        if is_full && !ends { self.finished(seq, FinishReason::Length, given) } else { Ok(()) }
    }

    /// Gives a chunk to the stage behind.
    fn pass(&mut self, seq: SeqId, data: Data, ends: bool) {
        let Some(slot) = self.slots.get_mut(&seq) else { return };
        slot.said_last = ends;
        if let Some(link) = slot.job.links.get(self.index + 1) {
            link.put(data.units());
        }
        let job = Arc::clone(&slot.job);
        self.hand_on(job, Some(data), ends);
    }

    /// Puts a chunk, or the end, to what goes to the stage behind after this step.
    fn hand_on(&mut self, job: Arc<Job>, chunk: Option<Data>, last: bool) {
        match self.pipeline.route(&job, self.index + 1) {
            Ok(replica) => self.outbox.put(replica, Parcel { job, chunk, last }),
            Err(error) => job.fail(error),
        }
    }

    fn emit(&mut self, seq: SeqId, samples: Vec<f32>) -> Result<(), PluginError> {
        let a_second = self.pipeline.samples_a_second;
        let Some(slot) = self.slots.get_mut(&seq) else { return Ok(()) };
        if samples.is_empty() {
            return Ok(());
        }
        slot.samples += samples.len() as u64;
        let longest_s = slot.job.longest_s;
        if slot.samples > longest_s.saturating_mul(a_second) {
            let reason = format!("gave more than {longest_s} s of audio, more than its text can take");
            return self.fail(seq, &PluginError::internal(reason));
        }
        let micros = (samples.len() as u64).saturating_mul(1_000_000) / a_second.max(1);
        slot.job.measures.emitted(self.replica.index, samples.len());
        self.measures.chunk(samples.len() as f64 / a_second.max(1) as f64);
        slot.job.emit(samples, micros);
        Ok(())
    }

    /// What was fed is used up: its credit goes back to the stage in front.
    fn needs_input(&mut self, seq: SeqId) -> Result<(), PluginError> {
        if self.index == 0 {
            let reason = format!("stage '{}' is the first and asks for input, so it makes no progress", self.info.name);
            return self.fail(seq, &PluginError::internal(reason));
        }
        let Some(slot) = self.slots.get_mut(&seq) else { return Ok(()) };
        slot.phase = Phase::Hungry;
        self.return_credit(seq);
        Ok(())
    }

    fn return_credit(&mut self, seq: SeqId) {
        let Some(slot) = self.slots.get_mut(&seq) else { return };
        let (chunks, units) = std::mem::take(&mut slot.inside);
        let Some(link) = slot.job.links.get(self.index).filter(|_| chunks > 0) else { return };
        if link.take(chunks, units) {
            self.pipeline.wake(&slot.job, self.index - 1);
        }
    }

    fn finished(&mut self, seq: SeqId, reason: FinishReason, generated: u64) -> Result<(), PluginError> {
        self.return_credit(seq);
        self.release(seq)?;
        let Some(mut slot) = self.forget(seq) else { return Ok(()) };
        slot.job.note_ended(reason, generated);
        slot.clock.finished(&self.measures, reason, generated);
        match self.next_room {
            Some(_) if slot.said_last => {}
            Some(_) => self.hand_on(slot.job, None, true),
            None => {
                slot.job.done();
                self.pipeline.note_success(&slot.job);
            }
        }
        Ok(())
    }

    /// Fails sequences that are stepped again and again and never heard of.
    fn fail_the_silent(&mut self, plan: &StepPlan) -> Result<(), PluginError> {
        let (now, patience) = (self.pipeline.clock.now(), self.pipeline.patience.call);
        let is_silent = |slot: &Slot| slot.silent_since.is_some_and(|since| now.saturating_sub(since) >= patience);
        let silent = plan.work.iter().map(|work| work.seq).filter(|seq| self.slots.get(seq).is_some_and(is_silent));
        for seq in silent.collect::<Vec<SeqId>>() {
            let reason = format!("stage '{}' made no progress for {} s", self.info.name, patience.as_secs_f32());
            self.fail(seq, &PluginError::internal(reason))?;
        }
        Ok(())
    }
}

/// Checks kind, shape, channels and values of what a stage gave.
fn check_data(stage: &StageInfo, channels: u16, data: &Data) -> Result<(), String> {
    let name = &stage.name;
    if data.kind() != stage.output {
        return Err(format!("stage '{name}' gave {:?} where it declares {:?}", data.kind(), stage.output));
    }
    if !data.is_well_formed() {
        return Err(format!("stage '{name}' gave a chunk that does not fill its shape"));
    }
    match data {
        Data::Pcm { channels: given, .. } if *given != usize::from(channels) => {
            Err(format!("stage '{name}' gave {given} channels where it declares {channels}"))
        }
        Data::Pcm { samples, .. } if has_non_finite(samples) => Err(format!("stage '{name}' gave samples that are not finite")),
        _ => Ok(()),
    }
}

/// Whether a sample is not finite. Each is looked at whatever was found before: so the compiler takes several at a time.
fn has_non_finite(samples: &[f32]) -> bool {
    samples.iter().fold(false, |found, sample| found | !sample.is_finite())
}
