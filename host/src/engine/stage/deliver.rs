//! What becomes of a step's events. Nothing a stage says is taken on trust.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::Instant;

use omni_plugin_api::{Data, FinishReason, PluginError, SeqId, StageEvent, StepPlan};
use tokio::sync::mpsc::error::TrySendError;

use super::slot::{Phase, Slot};
use super::{Command, StageThread};
use crate::engine::job::Piece;

/// Events a sequence may have in one step.
const EVENTS_A_STEP: usize = 256;

impl StageThread {
    /// Checks the events of a step and hands on what they carry.
    pub(super) fn deliver(&mut self, plan: &StepPlan, events: Vec<StageEvent>) -> Result<(), PluginError> {
        self.check(plan, &events)?;
        let mut events = events.into_iter().peekable();
        while let Some(event) = events.next() {
            let seq = event.seq();
            // Gone when an earlier event of this step failed it.
            let Some(slot) = self.slots.get_mut(&seq) else { continue };
            slot.silent_since = None;
            match event {
                StageEvent::Output { data, .. } => {
                    let ends = events.peek().is_some_and(|next| matches!(next, StageEvent::Finished { seq: of, .. } if *of == seq));
                    self.output(seq, data, ends)?;
                }
                StageEvent::NeedsInput { .. } => self.needs_input(seq),
                StageEvent::Finished { reason, generated, .. } => self.finished(seq, reason, generated)?,
                StageEvent::Failed { error, .. } => self.fail(seq, &error)?,
            }
        }
        self.fail_the_silent(plan)
    }

    /// Refuses events about sequences that are not here or have ended, and floods.
    fn check(&mut self, plan: &StepPlan, events: &[StageEvent]) -> Result<(), PluginError> {
        for work in &plan.work {
            if let Some(slot) = self.slots.get_mut(&work.seq) {
                slot.silent_since.get_or_insert_with(Instant::now);
            }
        }
        let mut counts: BTreeMap<SeqId, usize> = BTreeMap::new();
        let mut ended: BTreeSet<SeqId> = BTreeSet::new();
        for event in events {
            let seq = event.seq();
            if ended.contains(&seq) || !self.slots.get(&seq).is_some_and(Slot::is_admitted) {
                return Err(PluginError::internal(format!("gave an event for sequence {seq}, which it does not hold")));
            }
            let count = counts.entry(seq).or_default();
            *count += 1;
            if *count > EVENTS_A_STEP {
                return Err(PluginError::internal(format!("gave more than {EVENTS_A_STEP} events for one sequence in one step")));
            }
            if matches!(event, StageEvent::Finished { .. } | StageEvent::Failed { .. }) {
                ended.insert(seq);
            }
        }
        Ok(())
    }

    fn output(&mut self, seq: SeqId, data: Data, ends: bool) -> Result<(), PluginError> {
        if let Err(reason) = self.check_data(&data) {
            return self.fail(seq, &PluginError::internal(reason));
        }
        let Some(slot) = self.slots.get_mut(&seq) else { return Ok(()) };
        slot.clock.output(&self.measures);
        match (&self.next, data) {
            (Some(next), data) => {
                let link = &slot.job.links[self.index + 1];
                link.pending.fetch_add(1, Ordering::AcqRel);
                slot.said_last = ends;
                let feed = Command::Feed { job: slot.job.clone(), chunk: Some(data), last: ends };
                if next.send(feed).is_err() {
                    return Err(PluginError::internal("the stage behind has ended"));
                }
                Ok(())
            }
            (None, Data::Pcm { samples, .. }) => self.emit(seq, samples),
            (None, _) => Ok(()),
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
        slot.job.note_emitted(samples.len() as u64 * 1000 / a_second.max(1));
        slot.job.measures.emitted(0, samples.len());
        self.measures.chunk(samples.len() as f64 / a_second.max(1) as f64);
        let longest_s = slot.job.longest_s;
        if slot.samples > longest_s * a_second {
            let reason = format!("gave more than {longest_s} s of audio, more than its text can take");
            return self.fail(seq, &PluginError::internal(reason));
        }
        slot.outbox.push_back(Piece::Audio(samples));
        flush(slot);
        Ok(())
    }

    /// The chunk inside is used up: its credit goes back to the stage in front.
    fn needs_input(&mut self, seq: SeqId) {
        let Some(slot) = self.slots.get_mut(&seq) else { return };
        slot.phase = Phase::Hungry;
        self.return_credit(seq);
    }

    fn return_credit(&mut self, seq: SeqId) {
        let Some(slot) = self.slots.get_mut(&seq) else { return };
        if !std::mem::take(&mut slot.holds_credit) {
            return;
        }
        let link = &slot.job.links[self.index];
        link.pending.fetch_sub(1, Ordering::AcqRel);
        if link.paused.swap(false, Ordering::AcqRel) {
            self.pipeline.wake(self.index - 1);
        }
    }

    fn finished(&mut self, seq: SeqId, reason: FinishReason, generated: u64) -> Result<(), PluginError> {
        self.return_credit(seq);
        self.release(seq)?;
        let Some(slot) = self.slots.get_mut(&seq) else { return Ok(()) };
        slot.phase = Phase::Finished;
        slot.job.note_ended(reason, generated);
        slot.clock.finished(&self.measures, reason, generated);
        if let Some(next) = &self.next {
            let (said_last, job) = (slot.said_last, slot.job.clone());
            self.slots.remove(&seq);
            let feed = Command::Feed { job, chunk: None, last: true };
            let is_heard = said_last || next.send(feed).is_ok();
            return if is_heard { Ok(()) } else { Err(PluginError::internal("the stage behind has ended")) };
        }
        slot.outbox.push_back(Piece::Done(slot.job.finish()));
        flush(slot);
        self.pipeline.note_success();
        self.forget_sent(seq);
        Ok(())
    }

    /// Sends what found the ring full, now that there may be room.
    pub(super) fn flush_outboxes(&mut self) {
        let waiting: Vec<SeqId> = self.slots.iter().filter(|(_, slot)| !slot.outbox.is_empty()).map(|(seq, _)| *seq).collect();
        for seq in waiting {
            if let Some(slot) = self.slots.get_mut(&seq) {
                flush(slot);
            }
            self.forget_sent(seq);
        }
    }

    /// Forgets a finished sequence whose last parcel has left.
    fn forget_sent(&mut self, seq: SeqId) {
        if self.slots.get(&seq).is_some_and(|slot| slot.phase == Phase::Finished && slot.outbox.is_empty()) {
            self.slots.remove(&seq);
        }
    }

    /// Fails sequences that are stepped again and again and never heard of.
    fn fail_the_silent(&mut self, plan: &StepPlan) -> Result<(), PluginError> {
        let patience = self.pipeline.patience;
        let is_silent = |slot: &Slot| slot.silent_since.is_some_and(|since| since.elapsed() >= patience);
        let silent = plan.work.iter().map(|work| work.seq).filter(|seq| self.slots.get(seq).is_some_and(is_silent));
        for seq in silent.collect::<Vec<SeqId>>() {
            let reason = format!("stage '{}' made no progress for {} s", self.info.name, patience.as_secs_f32());
            self.fail(seq, &PluginError::internal(reason))?;
        }
        Ok(())
    }
}

/// Moves pieces into the ring until it is full. The caller is asked to wake us before the last look, so that no wake-up is missed.
fn flush(slot: &mut Slot) {
    while let Some(piece) = slot.outbox.pop_front() {
        match slot.job.output.try_send(piece) {
            Ok(()) => {}
            Err(TrySendError::Closed(_)) => return slot.job.cancel(),
            Err(TrySendError::Full(piece)) => {
                slot.outbox.push_front(piece);
                slot.job.output_paused.store(true, Ordering::Release);
                if slot.job.output.capacity() == 0 {
                    return;
                }
            }
        }
    }
}
