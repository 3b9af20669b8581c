//! The stage threads of one model, and what is common to them.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use omni_plugin_api::{FamilyInfo, Model, PluginError, SeqId};

use super::job::{Job, Jobs};
use super::measures;
use super::stage::{Command, StageThread};
use super::status::Loading;
use super::watchdog::{self, Heartbeat, Pulse};
use super::{SpeechError, StageSettings};

/// Faults of stages in a row, without a request that ended well, after which a model is given up.
const FAULTS_IN_A_ROW: usize = 3;

/// Seconds a refused client is told to wait for a model that is unhealthy.
const UNHEALTHY_RETRY_S: u64 = 30;

/// Sequence ids are unique within the process.
static NEXT_SEQ: AtomicU64 = AtomicU64::new(1);

/// A model's stages at work.
pub struct Pipeline {
    /// The model.
    pub model: Box<dyn Model>,
    /// Its family's description.
    pub info: FamilyInfo,
    /// What it is called.
    pub id: String,
    /// Samples a second times channels.
    pub samples_a_second: u64,
    /// How long one plugin call, or one sequence without any event, may take.
    pub patience: Duration,
    settings: Vec<StageSettings>,
    jobs: Arc<Jobs>,
    loading: Loading,
    faults: AtomicUsize,
    broken: OnceLock<String>,
    stages: OnceLock<Vec<StageHandle>>,
}

struct StageHandle {
    name: String,
    commands: Sender<Command>,
    heartbeat: Arc<Heartbeat>,
}

/// What a pipeline is made of.
pub struct PipelineParts {
    /// The loaded model.
    pub model: Box<dyn Model>,
    /// Its family's description.
    pub info: FamilyInfo,
    /// Its id.
    pub id: String,
    /// Its jobs.
    pub jobs: Arc<Jobs>,
    /// Its state.
    pub loading: Loading,
    /// Limit of a plugin call.
    pub patience: Duration,
    /// What the deploy file decides about each stage.
    pub settings: Vec<StageSettings>,
}

impl Pipeline {
    /// Opens every stage and starts its thread. Also gives the number of sequences that the first stage holds.
    pub fn start(parts: PipelineParts) -> Result<(Arc<Self>, usize), PluginError> {
        let samples_a_second = u64::from(parts.model.info().sample_rate_hz) * u64::from(parts.info.channels);
        let PipelineParts { model, info, id, jobs, loading, patience, settings } = parts;
        let (faults, broken, stages) = (AtomicUsize::new(0), OnceLock::new(), OnceLock::new());
        let pipeline = Arc::new(Self { model, info, id, samples_a_second, patience, settings, jobs, loading, faults, broken, stages });
        let mut handles = Vec::new();
        let mut slots = 1;
        // From the last to the first: each stage thread is born with the queue of the next.
        for index in (0..pipeline.info.stages.len()).rev() {
            let next = handles.last().map(|handle: &StageHandle| handle.commands.clone());
            let started = StageThread::start(&pipeline, index, next)?;
            slots = started.slots;
            let name = pipeline.info.stages[index].name.clone();
            handles.push(StageHandle { name, commands: started.commands, heartbeat: started.heartbeat });
        }
        handles.reverse();
        // Set once, here, before anybody else holds the pipeline.
        let _ = pipeline.stages.set(handles);
        let spawn_failed = |error| PluginError::internal(format!("the watchdog's thread cannot start: {error}"));
        watchdog::start(&pipeline, patience).map_err(spawn_failed)?;
        Ok((pipeline, slots))
    }

    /// What the deploy file decides about stage `index`.
    pub fn settings(&self, index: usize) -> StageSettings {
        self.settings.get(index).cloned().unwrap_or_default()
    }

    /// Ends the stage threads; jobs inside are dropped.
    pub fn stop(&self) {
        for stage in 0..self.handles().len() {
            self.send(stage, Command::Stop);
        }
    }

    fn handles(&self) -> &[StageHandle] {
        self.stages.get().map_or(&[], Vec::as_slice)
    }

    /// A new sequence id.
    pub fn next_seq() -> SeqId {
        NEXT_SEQ.fetch_add(1, Ordering::Relaxed)
    }

    /// Hands a job to the first stage.
    pub fn begin(&self, job: &Arc<Job>) -> Result<(), SpeechError> {
        self.jobs.insert(Arc::clone(job));
        // Looked at after the job was registered: a model that breaks now fails it through the register.
        self.check_healthy()?;
        self.send(0, Command::Start(Arc::clone(job)));
        Ok(())
    }

    /// Drops a job whose caller is done with it.
    pub fn forget(&self, seq: SeqId) {
        self.jobs.remove(seq);
        self.wake_all();
    }

    /// Wakes the last stage: its ring has room again.
    pub fn wake_last(&self) {
        self.send(self.handles().len().saturating_sub(1), Command::Wake);
    }

    /// Wakes a stage: its link has room again.
    pub fn wake(&self, stage: usize) {
        self.send(stage, Command::Wake);
    }

    fn wake_all(&self) {
        for stage in 0..self.handles().len() {
            self.wake(stage);
        }
    }

    fn send(&self, stage: usize, command: Command) {
        if let Some(handle) = self.handles().get(stage) {
            // A stage thread that ended has broken the pipeline and failed its jobs already.
            let _ = handle.commands.send(command);
        }
    }

    /// Whether the model still works.
    pub fn check_healthy(&self) -> Result<(), SpeechError> {
        match self.broken.get() {
            None => Ok(()),
            Some(reason) => Err(self.unavailable(reason)),
        }
    }

    /// Whether it was given up.
    pub fn is_broken(&self) -> bool {
        self.broken.get().is_some()
    }

    fn unavailable(&self, reason: &str) -> SpeechError {
        let message = format!("the model '{}' is unhealthy: {reason}", self.id);
        SpeechError::Unavailable { message, retry_after_s: UNHEALTHY_RETRY_S }
    }

    /// Gives the model up: requests inside fail, later ones are refused.
    pub fn give_up(&self, reason: &str) {
        if self.broken.set(reason.to_owned()).is_ok() {
            tracing::error!(model = self.id, reason, "the model is unhealthy and takes no more requests");
            self.loading.unhealthy(reason);
            measures::given_up(&self.id);
        }
        self.jobs.fail_all(&self.failed(reason));
    }

    /// Counts a fault of a stage; `true` when the model had too many in a row.
    pub fn count_fault(&self) -> bool {
        self.faults.fetch_add(1, Ordering::AcqRel) + 1 >= FAULTS_IN_A_ROW
    }

    /// Notes a request that ended well.
    pub fn note_success(&self) {
        self.faults.store(0, Ordering::Release);
    }

    /// The error of a request whose model failed.
    pub fn failed(&self, detail: &str) -> SpeechError {
        SpeechError::Failed { message: format!("plugin '{}' {detail}", self.info.name) }
    }

    /// What each stage is doing.
    pub fn pulses(&self) -> Vec<Pulse> {
        let pulse = |(stage, handle): (usize, &StageHandle)| {
            let (name, call, quiet) = (handle.name.clone(), handle.heartbeat.under_way(), handle.heartbeat.quiet());
            Pulse { stage, name, replica: 0, call, quiet }
        };
        self.handles().iter().enumerate().map(pulse).collect()
    }

    /// Looks whether a stage has been in one call for too long. `false` once the pipeline is broken.
    pub fn check_heartbeats(&self, limit: Duration) -> bool {
        let stuck = self.handles().iter().find_map(|handle| {
            let (call, since) = handle.heartbeat.under_way()?;
            (since >= limit).then(|| format!("did not return from {call} of stage '{}' within {} s", handle.name, limit.as_secs_f32()))
        });
        if let Some(reason) = stuck {
            self.give_up(&reason);
        }
        !self.is_broken()
    }
}
