//! One thread that owns one stage replica.
//!
//! Each turn: take commands (asleep when nothing can be stepped), drop what ended, admit and feed, plan the sequences whose way out
//! is free, submit the step, take commands while the device works, collect, and hand the results on.

mod deliver;
mod slot;
mod turn;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

use omni_plugin_api::{Data, PluginError, SeqId, Stage, StageInfo, StageLimits, contain};

use self::slot::Slot;
use super::job::Job;
use super::measures::StageMeasures;
use super::pipeline::Pipeline;
use super::watchdog::Heartbeat;
use crate::engine::StageSettings;

/// What a stage thread is told.
pub enum Command {
    /// A new job for the first stage.
    Start(Arc<Job>),
    /// A chunk from the stage before; `last` when nothing follows.
    Feed {
        /// Whose.
        job: Arc<Job>,
        /// The chunk, absent when the stage before ended without more.
        chunk: Option<Data>,
        /// Whether it is the last.
        last: bool,
    },
    /// Something changed: room on the way out, or a job that ended.
    Wake,
    /// End the thread.
    Stop,
}

/// What is known of a stage thread once it runs.
pub struct Started {
    /// Its queue.
    pub commands: Sender<Command>,
    /// Its sign of life.
    pub heartbeat: Arc<Heartbeat>,
    /// Sequences it holds at once.
    pub slots: usize,
}

/// A stage thread's own state.
pub struct StageThread {
    pipeline: Arc<Pipeline>,
    index: usize,
    info: StageInfo,
    stage: Box<dyn Stage>,
    limits: StageLimits,
    settings: StageSettings,
    /// Whether the stage behind takes a sequence only as a whole.
    next_waits_for_all: bool,
    slots: BTreeMap<SeqId, Slot>,
    commands: Receiver<Command>,
    next: Option<Sender<Command>>,
    heartbeat: Arc<Heartbeat>,
    measures: StageMeasures,
    /// Set when the thread was told to end while a step was under way.
    stopping: bool,
}

impl StageThread {
    /// Opens stage `index` and starts its thread; `next` is the queue of the stage behind it.
    pub fn start(pipeline: &Arc<Pipeline>, index: usize, next: Option<Sender<Command>>) -> Result<Started, PluginError> {
        let (stage, limits) = open(pipeline, index)?;
        let (sender, commands) = channel();
        let heartbeat = Arc::new(Heartbeat::new());
        let slots = limits.slots;
        let info = pipeline.info.stages[index].clone();
        let name = format!("{}/{}", pipeline.id, info.name);
        let (pipeline, beat) = (Arc::clone(pipeline), Arc::clone(&heartbeat));
        let measures = StageMeasures::new(&pipeline.id, index, &info.name, 0);
        let (settings, next_waits_for_all) = (pipeline.settings(index), pipeline.settings(index + 1).waits_for_all);
        let thread = Self {
            pipeline,
            index,
            info,
            stage,
            limits,
            settings,
            next_waits_for_all,
            slots: BTreeMap::new(),
            commands,
            next,
            heartbeat: beat,
            measures,
            stopping: false,
        };
        let spawned = std::thread::Builder::new().name(name).spawn(move || thread.run_contained());
        spawned.map_err(|error| PluginError::internal(format!("the stage's thread cannot start: {error}")))?;
        Ok(Started { commands: sender, heartbeat, slots })
    }

    /// The loop; a panic of our own ends the model and not the process.
    fn run_contained(mut self) {
        let pipeline = Arc::clone(&self.pipeline);
        let run = contain("the engine", || {
            while !self.stopping && self.receive() && !self.pipeline.is_broken() {
                self.turn();
            }
            Ok(())
        });
        if let Err(error) = run {
            pipeline.give_up(&error.message);
        }
    }

    /// Takes every waiting command, asleep until there is one when nothing can be stepped. `false` ends the thread.
    fn receive(&mut self) -> bool {
        if !self.can_step() {
            match self.commands.recv() {
                Ok(command) => {
                    if !self.obey(command) {
                        return false;
                    }
                }
                Err(_) => return false,
            }
        }
        self.take_waiting()
    }

    /// Takes the commands that are there, without waiting.
    fn take_waiting(&mut self) -> bool {
        loop {
            match self.commands.try_recv() {
                Ok(command) => {
                    if !self.obey(command) {
                        return false;
                    }
                }
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    fn obey(&mut self, command: Command) -> bool {
        match command {
            Command::Start(job) => {
                self.slots.entry(job.seq).or_insert_with(|| Slot::new(job));
            }
            Command::Feed { job, chunk, last } => {
                let slot = self.slots.entry(job.seq).or_insert_with(|| Slot::new(job));
                slot.inbox.push_back((chunk, last));
            }
            Command::Wake => {}
            Command::Stop => return false,
        }
        true
    }

    fn is_last(&self) -> bool {
        self.next.is_none()
    }
}

/// Opens a stage and reads its limits, both contained.
fn open(pipeline: &Pipeline, index: usize) -> Result<(Box<dyn Stage>, StageLimits), PluginError> {
    let stage = contain("open_stage", || pipeline.model.open_stage(index))?;
    let limits = pipeline.settings(index).narrow(contain("limits", || Ok(stage.limits()))?);
    if limits.slots == 0 || limits.batch == 0 || limits.step_units == 0 {
        let name = &pipeline.info.stages[index].name;
        return Err(PluginError::internal(format!("stage '{name}' has room for no sequence: {limits:?}")));
    }
    Ok((stage, limits))
}
