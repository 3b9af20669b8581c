//! The worker of one stage replica.
//!
//! Each turn: take commands (asleep when nothing can be stepped), drop what ended, admit and feed, plan the sequences whose way out
//! is free, submit the step, take commands while the device works, collect, and hand the results on. What is decided on the way is in
//! `schedule`, from plain numbers; a thread (`spawn`) or a simulation drives the turns.

mod deliver;
mod inbox;
mod open;
mod outbox;
mod prefill;
mod schedule;
mod slot;
mod turn;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};

use omni_plugin_api::{PluginError, SeqId, StageInfo, StepPlan, contain};

pub use self::open::{Opened, open, open_within};
use self::outbox::Outbox;
pub use self::outbox::Parcel;
use self::prefill::Prefill;
use self::schedule::Ledger;
pub use self::schedule::Rules;
use self::slot::Slot;
use super::flow::{Fate, Room};
use super::job::Job;
use super::measures::StageMeasures;
use super::pipeline::Pipeline;
use super::replica::{Life, Replica};
use super::watchdog::Heartbeat;

/// What a stage worker is told.
pub enum Command {
    /// A new job for the first stage.
    Start(Arc<Job>),
    /// What a step of the stage before has made for it.
    Feed(Vec<Parcel>),
    /// Something changed: room on the way out, or a job that ended.
    Wake,
    /// End the thread.
    Stop,
}

/// The worker of a stage replica, with the stage.
pub struct StageWorker {
    pipeline: Arc<Pipeline>,
    replica: Arc<Replica>,
    life: Life,
    index: usize,
    info: StageInfo,
    opened: Opened,
    /// How much of a sequence may be on the way into the stage behind; none for the last stage.
    next_room: Option<Room>,
    slots: BTreeMap<SeqId, Slot>,
    ledger: Ledger,
    prefill: Prefill,
    outbox: Outbox,
    /// Steps so far.
    steps: u64,
    commands: Receiver<Command>,
    measures: StageMeasures,
}

/// A step that was submitted.
pub struct Submitted {
    plan: StepPlan,
    /// Prompt tokens that are new in it.
    new_tokens: u64,
    since: std::time::Duration,
}

impl StageWorker {
    /// A worker for a replica, which it brings to life.
    pub fn new(pipeline: &Arc<Pipeline>, replica: &Arc<Replica>, opened: Opened) -> Self {
        let (sender, commands) = channel();
        let life = Life { commands: sender, heartbeat: Arc::new(Heartbeat::new()), is_over: Arc::new(AtomicBool::new(false)) };
        replica.come_up(life.clone());
        let index = replica.stage;
        let is_last = index + 1 == pipeline.info.stages.len();
        Self {
            pipeline: Arc::clone(pipeline),
            replica: Arc::clone(replica),
            life,
            index,
            info: pipeline.info.stages[index].clone(),
            opened,
            next_room: (!is_last).then(|| pipeline.room(index + 1)),
            slots: BTreeMap::new(),
            ledger: Ledger::default(),
            prefill: Prefill::default(),
            outbox: Outbox::default(),
            steps: 0,
            commands,
            measures: StageMeasures::new(&pipeline.id, index, &pipeline.info.stages[index].name, replica.index),
        }
    }

    /// Gives the worker the thread on which its stage was opened.
    pub fn spawn(mut self) -> Result<(), PluginError> {
        let gone = || PluginError::internal("the stage's thread is gone");
        let seat = self.opened.seat.take().ok_or_else(gone)?;
        seat.send(self).map_err(|_| gone())
    }

    /// The loop; a panic of our own closes the replica and not the process.
    fn run_contained(mut self) {
        let (pipeline, replica, life) = (Arc::clone(&self.pipeline), Arc::clone(&self.replica), self.life.clone());
        let run = contain("the engine", || {
            while self.receive() {
                if let Some(submitted) = self.begin_turn() {
                    self.take_waiting();
                    self.end_turn(submitted);
                }
            }
            Ok(())
        });
        if let Err(error) = run
            && !life.is_over.swap(true, Ordering::AcqRel)
        {
            pipeline.close(&replica, &error.message);
        }
    }

    /// Takes every waiting command, asleep until there is one when nothing can be stepped. `false` ends the thread.
    fn receive(&mut self) -> bool {
        if !self.is_over() && !self.can_step() {
            match self.sleep() {
                Ok(command) => self.obey(command),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
        self.take_waiting();
        !self.is_over()
    }

    /// Waits for a command, or for the moment in which something is to be done without one.
    fn sleep(&self) -> Result<Command, RecvTimeoutError> {
        match self.alarm() {
            Some(at) => self.commands.recv_timeout(at.saturating_sub(self.pipeline.clock.now())),
            None => self.commands.recv().map_err(|_| RecvTimeoutError::Disconnected),
        }
    }

    /// Whether the replica has given this worker up.
    pub fn is_over(&self) -> bool {
        self.life.is_over.load(Ordering::Acquire)
    }

    /// Takes the commands that are there, without waiting.
    pub fn take_waiting(&mut self) {
        loop {
            match self.commands.try_recv() {
                Ok(command) => self.obey(command),
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => return self.life.is_over.store(true, Ordering::Release),
            }
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Start(job) => drop(self.slot_for(job)),
            Command::Feed(parcels) => {
                for Parcel { job, chunk, last } in parcels {
                    if let Some(slot) = self.slot_for(job) {
                        slot.inbox.push(chunk, last);
                    }
                }
            }
            Command::Wake => {}
            Command::Stop => self.life.is_over.store(true, Ordering::Release),
        }
    }

    /// The slot of a job; what comes for a sequence that the stage is done with has no place any more.
    fn slot_for(&mut self, job: Arc<Job>) -> Option<&mut Slot> {
        let is_done = job.passed.get(self.index).is_none_or(Fate::is_ended);
        (!is_done).then(|| self.slots.entry(job.seq).or_insert_with(|| Slot::new(job)))
    }

    /// Whether anybody waits for a slot.
    fn somebody_waits(&self) -> bool {
        self.slots.len() > self.ledger.slots()
    }

    /// Number of its stage, and of its replica within the stage.
    pub fn place(&self) -> (usize, usize) {
        (self.replica.stage, self.replica.index)
    }

    /// What the stage can hold.
    pub fn rules(&self) -> &Rules {
        &self.opened.rules
    }

    /// Whether a sequence that nobody wants any more still has a slot.
    pub fn holds_ended(&self) -> bool {
        self.slots.values().any(|slot| slot.is_admitted() && slot.job.is_ended())
    }

    /// Slots and tokens of the cache that are taken.
    pub fn taken(&self) -> (usize, u64) {
        (self.ledger.slots(), self.ledger.kv_tokens())
    }
}

impl Drop for StageWorker {
    fn drop(&mut self) {
        for seq in self.slots.keys() {
            self.replica.leave(*seq);
        }
    }
}
