//! Opening a stage: the plugin's object, and what may be done with it.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};

use omni_plugin_api::{PluginError, Stage, StageLimits, contain};

use super::StageWorker;
use super::schedule::Rules;
use crate::engine::chunks::{ChunkRules, Liking};
use crate::engine::flow::Room;
use crate::engine::pipeline::Pipeline;
use crate::engine::replica::Replica;

/// Chunks on the way into a stage before the stage in front of it may pause a sequence.
const LINK_CHUNKS: usize = 4;

/// A stage and what may be done with it.
pub struct Opened {
    /// The plugin's object.
    pub stage: Box<dyn Stage>,
    /// What it can hold.
    pub rules: Rules,
    /// What it likes of its steps.
    pub liking: Liking,
    /// How streams are cut.
    pub chunks: ChunkRules,
    /// It starts on a sequence only when all of its input is there.
    pub waits_for_all: bool,
    /// The way to the thread that opened it, which waits to work on it: what a plugin records for a device may belong to a thread. None
    /// where a worker opened it.
    pub seat: Option<Sender<StageWorker>>,
}

impl Opened {
    /// How much of a sequence may be on the way into it: two of its largest chunks, so that one is made while one is worked on.
    pub fn room(&self) -> Room {
        match self.waits_for_all {
            true => Room { chunks: usize::MAX, units: usize::MAX },
            false => Room { chunks: LINK_CHUNKS, units: self.chunks.largest(self.liking).saturating_mul(2) },
        }
    }
}

/// Opens the stage of a replica on a thread of its own, within the time that a stage may take. The thread stays for the worker.
pub fn open_within(pipeline: &Arc<Pipeline>, replica: &Arc<Replica>) -> Result<Opened, PluginError> {
    let name = pipeline.info.stages.get(replica.stage).map_or("", |stage| &stage.name);
    let limit = pipeline.patience.open_stage;
    let (sender, opened) = channel();
    let (seat, worker) = channel::<StageWorker>();
    let opening = (Arc::clone(pipeline), Arc::clone(replica));
    let run = move || {
        let _guard = opening.1.guard_thread();
        let outcome = open(&opening.0, &opening.1);
        drop(opening);
        // Nobody takes the stage when the time was up, and nobody works on it where steps are taken elsewhere.
        if sender.send(outcome).is_ok()
            && let Ok(worker) = worker.recv()
        {
            worker.run_contained();
        }
    };
    let no_thread = |error| PluginError::internal(format!("the stage's thread cannot start: {error}"));
    std::thread::Builder::new().name(format!("{}/{name}", pipeline.id)).spawn(run).map_err(no_thread)?;
    let opened = opened.recv_timeout(limit).map_err(|error| {
        PluginError::internal(match error {
            RecvTimeoutError::Timeout => format!("stage '{name}' did not open within {} s", limit.as_secs_f32()),
            RecvTimeoutError::Disconnected => format!("stage '{name}' did not open: it ended its thread"),
        })
    })?;
    Ok(Opened { seat: Some(seat), ..opened? })
}

/// Opens the stage of a replica and reads its limits, both contained.
pub fn open(pipeline: &Arc<Pipeline>, replica: &Replica) -> Result<Opened, PluginError> {
    let index = replica.stage;
    let stage = contain("open_stage", || match replica.device == pipeline.home(index) {
        true => pipeline.model.open_stage(index),
        false => pipeline.model.open_stage_on(index, replica.device),
    })?;
    let limits: StageLimits = contain("limits", || Ok(stage.limits()))?;
    let settings = pipeline.settings(index);
    let rules = settings.rules(index, &limits);
    if rules.slots == 0 || rules.batch == 0 || limits.step_units == 0 {
        let name = pipeline.info.stages.get(index).map_or("", |stage| &stage.name);
        return Err(PluginError::internal(format!("stage '{name}' has room for no sequence: {limits:?}")));
    }
    let liking = settings.liking(&limits);
    Ok(Opened { stage, rules, liking, chunks: settings.chunks, waits_for_all: settings.waits_for_all && index > 0, seat: None })
}
