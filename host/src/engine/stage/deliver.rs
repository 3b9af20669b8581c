//! What becomes of a step's events. Nothing a stage says is taken on trust.

use std::sync::Arc;

use omni_plugin_api::{Data, FinishReason, PluginError, SeqId, StageEvent, StepPlan};

use super::slot::{Phase, Slot};
use super::{Command, StageWorker};
use crate::engine::job::Job;

/// Events a sequence may have in one step.
const EVENTS_A_STEP: usize = 256;

impl StageWorker {
    /// Checks the events of a step and hands on what they carry.
    pub(super) fn deliver(&mut self, plan: &StepPlan, events: Vec<StageEvent>) -> Result<(), PluginError> {
        self.check(plan, &events)?;
        let mut events = events.into_iter().peekable();
        while let Some(event) = events.next() {
            let seq = event.seq();
            // Gone when an earlier event of this step ended it.
            let Some(slot) = self.slots.get_mut(&seq) else { continue };
            slot.silent_since = None;
            match event {
                StageEvent::Output { data, .. } => {
                    let ends = events.peek().is_some_and(|next| matches!(next, StageEvent::Finished { seq: of, .. } if *of == seq));
                    self.output(seq, data, ends)?;
                }
                StageEvent::NeedsInput { .. } => self.needs_input(seq)?,
                StageEvent::Finished { reason, generated, .. } => self.finished(seq, reason, generated)?,
                StageEvent::Failed { error, .. } => self.fail(seq, &error)?,
            }
        }
        self.fail_the_silent(plan)
    }

    /// Refuses events about sequences that are not here or have ended, and floods.
    fn check(&mut self, plan: &StepPlan, events: &[StageEvent]) -> Result<(), PluginError> {
        let now = self.pipeline.clock.now();
        for work in &plan.work {
            if let Some(slot) = self.slots.get_mut(&work.seq) {
                slot.silent_since.get_or_insert(now);
            }
        }
        self.steps += 1;
        for event in events {
            let (seq, is_end) = (event.seq(), matches!(event, StageEvent::Finished { .. } | StageEvent::Failed { .. }));
            let slot = self.slots.get_mut(&seq).filter(|slot| slot.is_admitted());
            match slot.and_then(|slot| slot.hear(self.steps, is_end)) {
                None => return Err(PluginError::internal(format!("gave an event for sequence {seq}, which it does not hold"))),
                Some(count) if count > EVENTS_A_STEP => {
                    return Err(PluginError::internal(format!("gave more than {EVENTS_A_STEP} events for one sequence in one step")));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    fn output(&mut self, seq: SeqId, data: Data, ends: bool) -> Result<(), PluginError> {
        if let Err(reason) = self.check_data(&data) {
            return self.fail(seq, &PluginError::internal(reason));
        }
        let Some(slot) = self.slots.get_mut(&seq) else { return Ok(()) };
        let units = data.units();
        slot.units_given += units as u64;
        slot.clock.output(&self.measures);
        match (self.next_room, data) {
            (Some(_), data) => {
                slot.said_last = ends;
                let job = Arc::clone(&slot.job);
                if let Some(link) = job.links.get(self.index + 1) {
                    link.put(units);
                }
                self.hand_on(&job, Some(data), ends);
            }
            (None, Data::Pcm { samples, .. }) => self.emit(seq, samples)?,
            (None, _) => {}
        }
        if ends { Ok(()) } else { self.cut_the_long(seq) }
    }

    /// Ends a sequence that has filled what was reserved for it: what it would say more has no place.
    fn cut_the_long(&mut self, seq: SeqId) -> Result<(), PluginError> {
        let Some(slot) = self.slots.get(&seq) else { return Ok(()) };
        match slot.units_left {
            Some(most) if slot.units_given >= most => self.finished(seq, FinishReason::Length, slot.units_given),
            _ => Ok(()),
        }
    }

    /// Gives a chunk, or the end, to the stage behind.
    fn hand_on(&self, job: &Arc<Job>, chunk: Option<Data>, last: bool) {
        match self.pipeline.route(job, self.index + 1) {
            Ok(replica) => replica.send(Command::Feed { job: Arc::clone(job), chunk, last }),
            Err(error) => job.fail(error),
        }
    }

    /// Checks kind, shape, channels and values.
    fn check_data(&self, data: &Data) -> Result<(), String> {
        let stage = &self.info.name;
        if data.kind() != self.info.output {
            return Err(format!("stage '{stage}' gave {:?} where it declares {:?}", data.kind(), self.info.output));
        }
        if !data.is_well_formed() {
            return Err(format!("stage '{stage}' gave a chunk that does not fill its shape"));
        }
        match data {
            Data::Pcm { channels, .. } if *channels != usize::from(self.pipeline.info.channels) => {
                Err(format!("stage '{stage}' gave {channels} channels where it declares {}", self.pipeline.info.channels))
            }
            Data::Pcm { samples, .. } if !samples.iter().all(|sample| sample.is_finite()) => {
                Err(format!("stage '{stage}' gave samples that are not finite"))
            }
            _ => Ok(()),
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
            Some(_) => self.hand_on(&slot.job, None, true),
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
