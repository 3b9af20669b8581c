//! One turn of a stage worker: drop, admit, feed, plan, step.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use omni_plugin_api::{ErrorKind, PluginError, SeqId, StageEvent, StepPlan, contain};

use super::schedule::{Ledger, Runnable, Waiting};
use super::slot::{Phase, Slot};
use super::{StageWorker, Submitted, open};
use crate::engine::SpeechError;
use crate::engine::chunks::Moment;
use crate::engine::flow::Fate;
use crate::engine::job::{Due, Job};
use crate::engine::replica::Replica;

const ADMIT: usize = 0;
const FEED: usize = 1;
const STEP: usize = 2;
const RELEASE: usize = 3;
const OPEN: usize = 4;

impl StageWorker {
    /// The first half of a turn, up to a step that is under way. Whatever goes wrong inside the stage as a whole is handled here.
    pub fn begin_turn(&mut self) -> Option<Submitted> {
        match self.try_begin() {
            Ok(submitted) => submitted,
            Err(error) => {
                self.fault(&error);
                None
            }
        }
    }

    /// The second half: what came of the step.
    pub fn end_turn(&mut self, submitted: Submitted) {
        if let Err(error) = self.try_end(&submitted) {
            self.fault(&error);
        }
    }

    fn try_begin(&mut self) -> Result<Option<Submitted>, PluginError> {
        let since = self.pipeline.clock.now();
        self.drop_ended()?;
        let new_tokens = self.admit_waiting()?;
        self.feed_hungry()?;
        self.measure_load();
        let plan = StepPlan { work: self.opened.rules.plan(self.runnable()) };
        if plan.work.is_empty() {
            return Ok(None);
        }
        self.submit(&plan)?;
        Ok(Some(Submitted { plan, new_tokens, since }))
    }

    fn try_end(&mut self, submitted: &Submitted) -> Result<(), PluginError> {
        let (stage, beat) = (&mut self.opened.stage, &self.life.heartbeat);
        let events: Vec<StageEvent> = beat.watch(STEP, || contain("step", || stage.collect()))?;
        if self.is_over() {
            return Ok(());
        }
        let took = self.pipeline.clock.now().saturating_sub(submitted.since);
        self.measures.stepped(took, submitted.plan.work.len());
        self.prefill.note(took, submitted.new_tokens);
        self.deliver(&submitted.plan, events)
    }

    /// Notes how many hold a slot and how many wait for one.
    fn measure_load(&self) {
        let running = self.ledger.slots();
        self.measures.holds(running, self.slots.len().saturating_sub(running));
    }

    /// Whether a turn could do anything without another command.
    pub fn can_step(&self) -> bool {
        let now = self.pipeline.clock.now();
        self.slots.values().any(|slot| match slot.phase {
            _ if slot.job.is_ended() => true,
            Phase::Waiting => false,
            Phase::Hungry => self.meal(slot, now).is_some(),
            Phase::Runnable => self.has_way_out(slot),
        }) || !self.admissible().is_empty()
    }

    /// When, at the latest, a turn could do something without another command: a sequence that waits for a full chunk is fed what there is
    /// before its listener runs dry.
    pub fn alarm(&self) -> Option<Duration> {
        let now = self.pipeline.clock.now();
        let waiting = self.slots.values().filter(|slot| slot.phase == Phase::Hungry && slot.inbox.units() > 0);
        let heard = waiting.map(|slot| (slot, slot.job.due())).filter(|(_, due)| due.is_heard);
        heard.filter_map(|(slot, due)| slot.chunks.urgent_at(&self.opened.chunks, due.at)).filter(|at| *at > now).min()
    }

    /// Whether what a step of this sequence gives could leave.
    fn has_way_out(&self, slot: &Slot) -> bool {
        match (self.next_room, slot.job.links.get(self.index + 1)) {
            (Some(room), Some(link)) => link.has_room(room),
            _ => slot.job.has_room(),
        }
    }

    /// Releases sequences whose job ended, here or elsewhere.
    fn drop_ended(&mut self) -> Result<(), PluginError> {
        let ended: Vec<SeqId> = self.slots.iter().filter(|(_, slot)| slot.job.is_ended()).map(|(seq, _)| *seq).collect();
        for seq in ended {
            self.release(seq)?;
            self.forget(seq);
            self.measures.cancelled();
        }
        Ok(())
    }

    /// Frees a sequence's slot inside the stage, if it has one.
    pub(super) fn release(&mut self, seq: SeqId) -> Result<(), PluginError> {
        self.ledger.give_back(seq);
        if self.slots.get(&seq).is_some_and(Slot::is_admitted) {
            let (stage, beat) = (&mut self.opened.stage, &self.life.heartbeat);
            beat.watch(RELEASE, || {
                contain("release", || {
                    stage.release(seq);
                    Ok(())
                })
            })?;
        }
        Ok(())
    }

    /// Drops what is known of a sequence that has no slot any more.
    pub(super) fn forget(&mut self, seq: SeqId) -> Option<Slot> {
        self.replica.leave(seq);
        let slot = self.slots.remove(&seq)?;
        slot.job.passed.get(self.index).map(Fate::end);
        Some(slot)
    }

    /// The sequences that could be stepped, with what their step would be.
    fn runnable(&self) -> Vec<Runnable> {
        let now = self.pipeline.clock.now();
        let could = self.slots.iter().filter(|(_, slot)| slot.phase == Phase::Runnable && self.has_way_out(slot));
        could
            .map(|(seq, slot)| {
                let Due { at: due, is_heard } = slot.job.due();
                let units = slot.fed.unwrap_or_else(|| slot.chunks.size(&self.opened.chunks, self.opened.liking, self.moment(slot, now)));
                Runnable { seq: *seq, due, units, is_heard }
            })
            .collect()
    }

    pub(super) fn moment(&self, slot: &Slot, now: Duration) -> Moment {
        Moment { now, slack_ms: slot.job.due().slack_ms(now), load: self.load() }
    }

    /// Share of the slots that are taken.
    fn load(&self) -> f64 {
        self.ledger.slots() as f64 / self.opened.rules.slots.max(1) as f64
    }

    /// Those of the waiting that get a slot now: where the whole is wanted, only once all of it is there.
    fn admissible(&self) -> Vec<SeqId> {
        if !self.somebody_waits() {
            return Vec::new();
        }
        let may_enter = |slot: &Slot| !self.opened.waits_for_all || slot.inbox.has_last();
        let waiting = self.slots.iter().filter(|(_, slot)| slot.phase == Phase::Waiting && may_enter(slot));
        let waiting: Vec<Waiting> = waiting.map(|(seq, slot)| self.waiting(*seq, slot)).collect();
        if waiting.is_empty() {
            return Vec::new();
        }
        // Behind the first stage a sequence is no newcomer: others wait for it as they wait for any.
        let running = if self.index == 0 { self.runnable() } else { Vec::new() };
        self.opened.rules.admissions(&waiting, &running, &self.ledger, &self.prefill, self.pipeline.clock.now())
    }

    fn waiting(&self, seq: SeqId, slot: &Slot) -> Waiting {
        let prompt_tokens = slot.job.extent.prompt_tokens;
        Waiting { seq, due: slot.job.due().at, prompt_tokens, kv_tokens: self.kv_of(slot) }
    }

    /// Tokens of the cache that a sequence reserves. One that can never fit was refused before it came here.
    fn kv_of(&self, slot: &Slot) -> u64 {
        self.opened.rules.kv_of(slot.job.extent).unwrap_or_else(|never| never.limit)
    }

    /// Gives slots to those who wait. Tells how many prompt tokens are new, at least one for each sequence; behind the first stage none are.
    fn admit_waiting(&mut self) -> Result<u64, PluginError> {
        let mut new_tokens = 0;
        for seq in self.admissible() {
            let Some(slot) = self.slots.get_mut(&seq) else { continue };
            let extent = slot.job.extent;
            let kv_tokens = self.opened.rules.kv_of(extent).unwrap_or_else(|never| never.limit);
            slot.units_left = (kv_tokens > 0 && self.index == 0).then(|| kv_tokens.saturating_sub(extent.prompt_tokens));
            self.ledger.take(seq, kv_tokens);
            let (stage, beat, job) = (&mut self.opened.stage, &self.life.heartbeat, &slot.job);
            let admitted = beat.watch(ADMIT, || contain("admit", || stage.admit(seq, &job.prompt)));
            slot.phase = if self.index == 0 { Phase::Runnable } else { Phase::Hungry };
            slot.clock.admitted(&self.measures, &slot.job.measures);
            if self.index == 0 {
                slot.job.measures.admitted();
            }
            new_tokens += if self.index == 0 { extent.prompt_tokens.max(1) } else { 0 };
            self.settle(seq, admitted)?;
        }
        Ok(new_tokens)
    }

    /// What a hungry sequence is to be fed, as the units that its next step should have; none while too little has arrived.
    fn meal(&self, slot: &Slot, now: Duration) -> Option<usize> {
        if slot.inbox.is_empty() {
            return None;
        }
        let moment = self.moment(slot, now);
        let target = slot.chunks.size(&self.opened.chunks, self.opened.liking, moment);
        let is_urgent = || slot.inbox.units() > 0 && slot.chunks.is_urgent(&self.opened.chunks, moment);
        let is_enough = slot.inbox.units() >= target || slot.inbox.has_last() || is_urgent();
        is_enough.then_some(target)
    }

    /// Feeds each sequence that has nothing to work on, once enough has arrived for it.
    fn feed_hungry(&mut self) -> Result<(), PluginError> {
        if self.index == 0 {
            return Ok(());
        }
        let now = self.pipeline.clock.now();
        let hungry = self.slots.iter().filter(|(_, slot)| slot.phase == Phase::Hungry);
        let hungry: Vec<(SeqId, usize)> = hungry.filter_map(|(seq, slot)| Some((*seq, self.meal(slot, now)?))).collect();
        for (seq, target) in hungry {
            let Some(slot) = self.slots.get_mut(&seq) else { continue };
            // The first chunk is kept small; later ones take along what waits.
            let most = if slot.is_stepped { self.opened.liking.steady.max(target) } else { target };
            let meal = slot.inbox.take(target, most);
            slot.inside = (meal.chunks, meal.units);
            slot.fed = Some(if meal.chunks > 1 { meal.units } else { meal.units.min(target) }.max(1));
            slot.phase = Phase::Runnable;
            let (stage, beat) = (&mut self.opened.stage, &self.life.heartbeat);
            let fed = beat.watch(FEED, || contain("feed", || stage.feed(seq, meal.data, meal.last)));
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
        if let Some(slot) = self.forget(seq) {
            let message = error.to_string();
            slot.job.fail(match error.kind {
                ErrorKind::Invalid | ErrorKind::Unsupported => {
                    SpeechError::Invalid { field: error.field.clone(), message: error.message.clone() }
                }
                ErrorKind::Incomplete => SpeechError::Incomplete { message },
                ErrorKind::Exhausted => SpeechError::Unavailable { message, retry_after_s: 1 },
                _ => SpeechError::failed(message).in_stage(self.replica.stage),
            });
        }
        Ok(())
    }

    /// Submits a step, and notes what went into it.
    fn submit(&mut self, plan: &StepPlan) -> Result<(), PluginError> {
        let (stage, beat) = (&mut self.opened.stage, &self.life.heartbeat);
        beat.watch(STEP, || contain("step", || stage.submit(plan)))?;
        let (now, load, is_last) = (self.pipeline.clock.now(), self.load(), self.next_room.is_none());
        for work in &plan.work {
            let Some(slot) = self.slots.get_mut(&work.seq) else { continue };
            let slack_ms = slot.job.due().slack_ms(now);
            if let Some(slack_ms) = slack_ms.filter(|_| is_last) {
                self.measures.slack(slack_ms);
            }
            let moment = Moment { now, slack_ms, load };
            slot.chunks.went(work.max_units, work.max_units, &self.opened.chunks, self.opened.liking, moment);
            (slot.is_stepped, slot.fed) = (true, None);
            slot.silent_since.get_or_insert(now);
        }
        Ok(())
    }

    /// The stage as a whole failed: every sequence in it fails, and it is opened anew unless that happened too often.
    fn fault(&mut self, error: &PluginError) {
        if self.is_over() {
            return;
        }
        let (inside, waiting): (BTreeMap<SeqId, Slot>, _) =
            std::mem::take(&mut self.slots).into_iter().partition(|(_, slot)| slot.is_admitted());
        (self.slots, self.ledger) = (waiting, Ledger::default());
        let jobs: Vec<Arc<Job>> = inside.into_values().map(|slot| slot.job).collect();
        let stage = self.info.name.as_str();
        self.measures.fault();
        tracing::error!(model = self.pipeline.id, stage, error = %error, sequences = jobs.len(), "a stage failed");
        let detail = format!("{} (stage '{stage}')", error.message);
        jobs.iter().for_each(|job| self.replica.leave(job.seq));
        let (pipeline, replica) = (Arc::clone(&self.pipeline), Arc::clone(&self.replica));
        // Counted before anybody hears of it: a client that asks again at once must meet the model as it is now.
        let is_given_up = replica.count_fault();
        if is_given_up {
            self.give_up(&format!("too many faults in a row, the last: {detail}"));
        }
        Replica::fail(jobs, &pipeline.failed(&detail).in_stage(replica.stage));
        if is_given_up {
            return;
        }
        let open = || {
            // Nobody's work is in it: without this the call would not be watched.
            pipeline.bell.ring();
            open(&pipeline, &replica)
        };
        match self.life.heartbeat.watch(OPEN, open) {
            Ok(opened) => self.opened = opened,
            Err(error) => self.give_up(&format!("could not open stage '{}' again: {error}", self.info.name)),
        }
    }

    /// Closes the replica, unless somebody else did.
    fn give_up(&mut self, reason: &str) {
        if !self.life.is_over.swap(true, Ordering::AcqRel) {
            self.pipeline.close(&self.replica, reason);
        }
    }
}
