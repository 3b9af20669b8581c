//! One turn of a stage thread: drop, admit, feed, plan, step.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use omni_plugin_api::{ErrorKind, PluginError, SeqId, SeqWork, StageEvent, StepPlan, contain};

use super::slot::{Phase, Slot};
use super::{StageThread, open};
use crate::engine::SpeechError;
use crate::engine::job::{Job, LINK_RING};

const ADMIT: usize = 0;
const FEED: usize = 1;
const STEP: usize = 2;
const RELEASE: usize = 3;
const OPEN: usize = 4;

impl StageThread {
    /// One turn. Whatever goes wrong inside the stage as a whole is handled here.
    pub(super) fn turn(&mut self) {
        if let Err(error) = self.try_turn() {
            self.fault(&error);
        }
    }

    fn try_turn(&mut self) -> Result<(), PluginError> {
        self.drop_ended()?;
        self.flush_outboxes();
        self.admit_waiting()?;
        self.feed_hungry()?;
        self.measure_load();
        let plan = self.plan();
        if plan.work.is_empty() {
            return Ok(());
        }
        let events = self.step(&plan)?;
        self.deliver(&plan, events)
    }

    /// Notes how many hold a slot and how many wait for one.
    fn measure_load(&self) {
        let count = |test: fn(&Slot) -> bool| self.slots.values().filter(|slot| test(slot)).count();
        self.measures.holds(count(Slot::is_admitted), count(|slot| slot.phase == Phase::Waiting));
    }

    /// Whether a turn could do anything without another command.
    pub(super) fn can_step(&self) -> bool {
        let admitted = self.slots.values().filter(|slot| slot.is_admitted()).count();
        let has_free_slot = admitted < self.limits.slots;
        self.slots.values().any(|slot| match slot.phase {
            _ if slot.job.is_ended() => true,
            Phase::Waiting => has_free_slot && self.may_enter(slot),
            Phase::Hungry => !slot.inbox.is_empty(),
            Phase::Runnable => self.has_way_out(slot),
            Phase::Finished => false,
        })
    }

    /// Whether what a step of this sequence gives could leave.
    fn has_way_out(&self, slot: &Slot) -> bool {
        if self.is_last() {
            return has_ring_room(slot);
        }
        if self.next_waits_for_all {
            return true;
        }
        let link = &slot.job.links[self.index + 1];
        let has_room = || link.pending.load(Ordering::Acquire) < LINK_RING;
        if has_room() {
            return true;
        }
        // Say that we wait, then look again: the other side frees first and reads the mark afterwards.
        link.paused.store(true, Ordering::Release);
        has_room()
    }

    /// Releases sequences whose job ended, here or elsewhere.
    fn drop_ended(&mut self) -> Result<(), PluginError> {
        let ended: Vec<SeqId> = self.slots.iter().filter(|(_, slot)| slot.job.is_ended()).map(|(seq, _)| *seq).collect();
        for seq in ended {
            self.release(seq)?;
            self.slots.remove(&seq);
            self.measures.cancelled();
        }
        Ok(())
    }

    /// Frees a sequence's slot inside the stage, if it has one.
    pub(super) fn release(&mut self, seq: SeqId) -> Result<(), PluginError> {
        if self.slots.get(&seq).is_some_and(Slot::is_admitted) {
            let (stage, beat) = (&mut self.stage, &self.heartbeat);
            beat.watch(RELEASE, || {
                contain("release", || {
                    stage.release(seq);
                    Ok(())
                })
            })?;
        }
        Ok(())
    }

    /// Whether a sequence that waits may have a slot: where the whole is wanted, only once all of it is there.
    fn may_enter(&self, slot: &Slot) -> bool {
        !self.settings.waits_for_all || self.index == 0 || slot.inbox.back().is_some_and(|(_, last)| *last)
    }

    /// Gives free slots to those who wait, in order of arrival.
    fn admit_waiting(&mut self) -> Result<(), PluginError> {
        let admitted = self.slots.values().filter(|slot| slot.is_admitted()).count();
        let free = self.limits.slots.saturating_sub(admitted);
        let waiting = self.slots.iter().filter(|(_, slot)| slot.phase == Phase::Waiting && self.may_enter(slot));
        let chosen: Vec<SeqId> = waiting.take(free).map(|(seq, _)| *seq).collect();
        for seq in chosen {
            let Some(slot) = self.slots.get_mut(&seq) else { continue };
            let (stage, beat, job) = (&mut self.stage, &self.heartbeat, &slot.job);
            let admitted = beat.watch(ADMIT, || contain("admit", || stage.admit(seq, &job.prompt)));
            slot.phase = if self.index == 0 { Phase::Runnable } else { Phase::Hungry };
            slot.clock.admitted(&self.measures, &slot.job.measures);
            if self.index == 0 {
                slot.job.measures.admitted();
            }
            self.settle(seq, admitted)?;
        }
        Ok(())
    }

    /// Feeds one chunk to each sequence that has nothing to work on.
    fn feed_hungry(&mut self) -> Result<(), PluginError> {
        let is_hungry = |slot: &Slot| slot.phase == Phase::Hungry && !slot.inbox.is_empty();
        let hungry: Vec<SeqId> = self.slots.iter().filter(|(_, slot)| is_hungry(slot)).map(|(seq, _)| *seq).collect();
        for seq in hungry {
            let Some(slot) = self.slots.get_mut(&seq) else { continue };
            let Some((chunk, last)) = slot.inbox.pop_front() else { continue };
            slot.holds_credit = chunk.is_some();
            slot.phase = Phase::Runnable;
            let (stage, beat) = (&mut self.stage, &self.heartbeat);
            let fed = beat.watch(FEED, || contain("feed", || stage.feed(seq, chunk, last)));
            self.settle(seq, fed)?;
        }
        Ok(())
    }

    /// An error about one sequence fails that sequence; a panic is the stage's fault.
    fn settle(&mut self, seq: SeqId, outcome: Result<(), PluginError>) -> Result<(), PluginError> {
        match outcome {
            Ok(()) => Ok(()),
            Err(error) if error.kind == ErrorKind::Panicked => Err(error),
            Err(error) => self.fail(seq, &error),
        }
    }

    /// Fails one sequence and frees its slot.
    pub(super) fn fail(&mut self, seq: SeqId, error: &PluginError) -> Result<(), PluginError> {
        self.release(seq)?;
        if let Some(slot) = self.slots.remove(&seq) {
            let message = error.to_string();
            slot.job.fail(match error.kind {
                ErrorKind::Invalid | ErrorKind::Unsupported => {
                    SpeechError::Invalid { field: error.field.clone(), message: error.message.clone() }
                }
                ErrorKind::Exhausted => SpeechError::Unavailable { message, retry_after_s: 1 },
                _ => SpeechError::Failed { message },
            });
        }
        Ok(())
    }

    /// Chooses the sequences of the next step: those that run dry first, as many as a batch holds.
    fn plan(&self) -> StepPlan {
        let runnable = self.slots.iter().filter(|(_, slot)| slot.phase == Phase::Runnable && self.has_way_out(slot));
        let mut chosen: Vec<(i64, SeqWork)> = runnable
            .map(|(seq, slot)| (slot.job.slack_ms(), SeqWork { seq: *seq, max_units: slot.units(&self.limits, &self.settings) }))
            .collect();
        chosen.sort_by_key(|(slack, work)| (*slack, work.seq));
        chosen.truncate(self.limits.batch);
        chosen.iter().filter(|_| self.is_last()).for_each(|(slack, work)| {
            if self.slots.get(&work.seq).is_some_and(|slot| slot.samples > 0) {
                self.measures.slack(*slack);
            }
        });
        StepPlan { work: chosen.into_iter().map(|(_, work)| work).collect() }
    }

    /// Submits a step, takes commands while it runs, and collects it.
    fn step(&mut self, plan: &StepPlan) -> Result<Vec<StageEvent>, PluginError> {
        let begun = Instant::now();
        let (stage, beat) = (&mut self.stage, &self.heartbeat);
        beat.watch(STEP, || contain("step", || stage.submit(plan)))?;
        for work in &plan.work {
            if let Some(slot) = self.slots.get_mut(&work.seq) {
                slot.steps = slot.steps.saturating_add(1);
            }
        }
        self.stopping |= !self.take_waiting();
        let (stage, beat) = (&mut self.stage, &self.heartbeat);
        let events = beat.watch(STEP, || contain("step", || stage.collect()));
        self.measures.stepped(begun.elapsed(), plan.work.len());
        events
    }

    /// The stage as a whole failed: every sequence in it fails, and it is opened anew unless that happened too often.
    fn fault(&mut self, error: &PluginError) {
        let stage = self.info.name.as_str();
        self.measures.fault();
        tracing::error!(model = self.pipeline.id, stage, error = %error, sequences = self.slots.len(), "a stage failed");
        let detail = format!("{} (stage '{stage}')", error.message);
        // Counted before anybody hears of it: a client that asks again at once must meet the model as it is now.
        let is_given_up = self.pipeline.count_fault();
        if is_given_up {
            self.pipeline.give_up(&format!("too many faults in a row, the last: {detail}"));
        }
        let jobs: Vec<Arc<Job>> = std::mem::take(&mut self.slots).into_values().map(|slot| slot.job).collect();
        for job in jobs {
            job.fail(self.pipeline.failed(&detail));
        }
        if is_given_up {
            return;
        }
        let (pipeline, index) = (Arc::clone(&self.pipeline), self.index);
        match self.heartbeat.watch(OPEN, || open(&pipeline, index)) {
            Ok((stage, limits)) => (self.stage, self.limits) = (stage, limits),
            Err(error) => pipeline.give_up(&format!("could not open stage '{}' again: {error}", self.info.name)),
        }
    }
}

/// Whether the ring towards the caller has room; if not, the caller is asked to wake us.
pub(super) fn has_ring_room(slot: &Slot) -> bool {
    let has_room = || slot.outbox.is_empty() && slot.job.output.capacity() > 0;
    if has_room() {
        return true;
    }
    slot.job.output_paused.store(true, Ordering::Release);
    slot.job.output.capacity() > 0 && slot.outbox.is_empty()
}
