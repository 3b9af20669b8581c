//! The stages of one model: their replicas, the way of a request through them, and what is common to all.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use omni_plugin_api::{Device, FamilyInfo, Model, Placement, PluginError, SeqId};

use super::clock::Clock;
use super::flow::Room;
use super::job::{Job, Jobs};
use super::measures;
use super::replica::Replica;
use super::stage::{Command, Opened, Rules, StageWorker, open_within};
use super::status::Loading;
use super::watchdog::{self, Bell, Pulse};
use super::{SpeechError, StageSettings};
use crate::config::device_name;

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
    /// Limits of time.
    pub patience: Patience,
    /// The engine's time.
    pub clock: Clock,
    /// Its jobs.
    pub jobs: Arc<Jobs>,
    /// Wakes its watchdog.
    pub bell: Bell,
    placement: Placement,
    settings: Vec<StageSettings>,
    loading: Loading,
    broken: OnceLock<String>,
    /// Why the model cannot speak now, if it cannot.
    ailment: Mutex<Option<String>>,
    stages: Vec<StageGroup>,
}

/// The replicas of a stage.
struct StageGroup {
    replicas: Vec<Arc<Replica>>,
    /// What may be on the way into it, a sequence. Known once one replica was opened.
    room: OnceLock<Room>,
    /// What a replica can hold.
    rules: OnceLock<Rules>,
}

/// Limits of time.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// How long one plugin call, or one sequence without any event, may take.
    pub call: Duration,
    /// How long a stage may take to open.
    pub open_stage: Duration,
    /// How long a replica that failed stays closed at first.
    pub reopen: Duration,
    /// How long a caller may leave a full ring alone.
    pub slow_reader: Duration,
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
    /// Limits of time.
    pub patience: Patience,
    /// Where its stages run.
    pub placement: Placement,
    /// What the deploy file decides about each stage.
    pub settings: Vec<StageSettings>,
    /// The engine's time.
    pub clock: Clock,
}

impl Pipeline {
    /// Opens every replica of every stage, with its thread and a thread that watches them.
    pub fn start(parts: PipelineParts) -> Result<Arc<Self>, PluginError> {
        let call = parts.patience.call;
        let (pipeline, workers) = Self::open(parts)?;
        for worker in workers {
            worker.spawn()?;
        }
        let spawn_failed = |error| PluginError::internal(format!("the watchdog's thread cannot start: {error}"));
        watchdog::start(&pipeline, call).map_err(spawn_failed)?;
        Ok(pipeline)
    }

    /// Opens every replica of every stage and gives their workers, which have no threads yet.
    pub fn open(parts: PipelineParts) -> Result<(Arc<Self>, Vec<StageWorker>), PluginError> {
        let pipeline = Arc::new(Self::without_threads(parts));
        let mut workers = Vec::new();
        // From the last to the first: what may be on the way into a stage is known before the stage in front of it is born.
        for group in pipeline.stages.iter().rev() {
            for replica in &group.replicas {
                let opened = open_within(&pipeline, replica)?;
                // The same for all replicas of a stage.
                if group.room.set(opened.room()).is_ok() && group.rules.set(opened.rules.clone()).is_ok() {
                    pipeline.tell(group, &opened);
                }
                workers.push(StageWorker::new(&pipeline, replica, opened));
            }
        }
        workers.reverse();
        Ok((pipeline, workers))
    }

    /// Says how a stage works, once, at the start.
    fn tell(&self, group: &StageGroup, opened: &Opened) {
        let Some(replica) = group.replicas.first() else { return };
        let (model, stage, rules) = (self.id.as_str(), self.stage_name(replica.stage), &opened.rules);
        let devices: Vec<String> = group.replicas.iter().map(|replica| device_name(replica.device)).collect();
        let chunks = match opened.waits_for_all {
            true => "whole: starts when the stage in front has finished".to_owned(),
            false => opened.chunks.line(opened.liking),
        };
        let (slots, batch, kv_tokens) = (rules.slots, rules.batch, rules.kv_tokens);
        tracing::info!(model, stage, devices = devices.join(","), slots, batch, kv_tokens, chunks, "how the stage works");
    }

    fn without_threads(parts: PipelineParts) -> Self {
        let samples_a_second = u64::from(parts.model.info().sample_rate_hz) * u64::from(parts.info.channels);
        let PipelineParts { model, info, id, jobs, loading, patience, placement, settings, clock } = parts;
        let group = |stage: usize| {
            let listed = settings.get(stage).map(|settings| settings.devices.clone()).unwrap_or_default();
            let devices = if listed.is_empty() { vec![placement.device(stage)] } else { listed };
            let replicas = devices.into_iter().enumerate().map(|(index, device)| Replica::new(stage, index, device)).collect();
            StageGroup { replicas, room: OnceLock::new(), rules: OnceLock::new() }
        };
        let stages = (0..info.stages.len()).map(group).collect();
        let (bell, broken, ailment) = (Bell::default(), OnceLock::new(), Mutex::new(None));
        Self { model, info, id, samples_a_second, patience, clock, jobs, bell, placement, settings, loading, broken, ailment, stages }
    }

    /// What the deploy file decides about stage `index`.
    pub fn settings(&self, index: usize) -> StageSettings {
        self.settings.get(index).cloned().unwrap_or_default()
    }

    /// The device on which the model opens stage `index` without being told.
    pub fn home(&self, index: usize) -> Device {
        self.placement.device(index)
    }

    /// How much may be on the way into stage `index`, a sequence.
    pub fn room(&self, index: usize) -> Room {
        let room = self.stages.get(index).and_then(|group| group.room.get());
        room.copied().unwrap_or(Room { chunks: usize::MAX, units: usize::MAX })
    }

    /// Sequences that the first stage holds at once, in all replicas together.
    pub fn slots(&self) -> usize {
        self.stages.first().map_or(1, |group| group.rules.get().map_or(1, |rules| rules.slots) * group.replicas.len())
    }

    /// What each stage replica is doing.
    pub fn pulses(&self) -> Vec<Pulse> {
        self.replicas().map(|replica| replica.pulse(self.stage_name(replica.stage))).collect()
    }

    /// Ends the stage threads; jobs inside are dropped.
    pub fn stop(&self) {
        self.replicas().for_each(|replica| replica.stop());
    }

    /// All replicas of all stages.
    pub fn replicas(&self) -> impl Iterator<Item = &Arc<Replica>> {
        self.stages.iter().flat_map(|group| &group.replicas)
    }

    /// A new sequence id.
    pub fn next_seq() -> SeqId {
        NEXT_SEQ.fetch_add(1, Ordering::Relaxed)
    }

    /// Hands a job to the first stage.
    pub fn begin(&self, job: &Arc<Job>) -> Result<(), SpeechError> {
        self.check_fits(job)?;
        self.jobs.insert(Arc::clone(job));
        self.bell.ring();
        // Looked at after the job was registered: a model that breaks now fails it through the register.
        self.check_healthy()?;
        self.route(job, 0)?.send(Command::Start(Arc::clone(job)));
        Ok(())
    }

    /// Refuses a job that no stage's cache could ever hold.
    fn check_fits(&self, job: &Job) -> Result<(), SpeechError> {
        for rules in self.stages.iter().filter_map(|group| group.rules.get()) {
            rules.kv_of(job.extent).map_err(|never| {
                let (tokens, most) = (never.prompt_tokens, never.limit.saturating_sub(1));
                let message = format!("the request is too long: its prompt takes {tokens} tokens, and a prompt may take {most}");
                SpeechError::Invalid { field: Some("input".to_owned()), message }
            })?;
        }
        Ok(())
    }

    /// The replica of a stage that works on a job: the one that was chosen before, else the one with the least to do.
    pub fn route(&self, job: &Arc<Job>, stage: usize) -> Result<Arc<Replica>, SpeechError> {
        let group = self.stages.get(stage).ok_or_else(|| self.failed("has no such stage"))?;
        let route = job.routes.get(stage).ok_or_else(|| self.failed("has no such stage"))?;
        if let Some(replica) = route.get() {
            return Ok(Arc::clone(replica));
        }
        let mut replicas: Vec<&Arc<Replica>> = group.replicas.iter().collect();
        replicas.sort_by_cached_key(|replica| replica.load());
        match replicas.into_iter().find(|replica| replica.enter(job)) {
            Some(replica) => {
                // Only one thread routes a job into a stage: the one in front of it.
                let _ = route.set(Arc::clone(replica));
                Ok(Arc::clone(replica))
            }
            None => Err(self.unavailable(&format!("no replica of stage '{}' works", self.stage_name(stage)))),
        }
    }

    fn stage_name(&self, stage: usize) -> &str {
        self.info.stages.get(stage).map_or("", |stage| &stage.name)
    }

    /// Drops a job whose caller is done with it.
    pub fn forget(&self, seq: SeqId) {
        if let Some(job) = self.jobs.remove(seq) {
            job.routes.iter().filter_map(OnceLock::get).for_each(|replica| replica.send(Command::Wake));
        }
    }

    /// Wakes the thread of a stage that works on a job: its way out has room again.
    pub fn wake(&self, job: &Job, stage: usize) {
        if let Some(replica) = job.routes.get(stage).and_then(OnceLock::get) {
            replica.send(Command::Wake);
        }
    }

    /// Wakes the last stage of a job.
    pub fn wake_last(&self, job: &Job) {
        self.wake(job, self.stages.len().saturating_sub(1));
    }

    /// Whether the model still works.
    pub fn check_healthy(&self) -> Result<(), SpeechError> {
        match (self.broken.get(), &*self.ailment.lock().unwrap_or_else(PoisonError::into_inner)) {
            (Some(reason), _) | (None, Some(reason)) => Err(self.unavailable(reason)),
            (None, None) => Ok(()),
        }
    }

    /// Whether it was given up for good.
    pub fn is_broken(&self) -> bool {
        self.broken.get().is_some()
    }

    /// Whether nothing is under way that may not end by itself.
    pub fn is_at_rest(&self) -> bool {
        // What was given up is not opened again, and who waited for it was told.
        self.jobs.count() == 0 && (self.is_broken() || self.replicas().all(|replica| replica.is_at_rest()))
    }

    fn unavailable(&self, reason: &str) -> SpeechError {
        let message = format!("the model '{}' is unhealthy: {reason}", self.id);
        SpeechError::Unavailable { message, retry_after_s: UNHEALTHY_RETRY_S }
    }

    /// Gives the model up for good: requests inside fail, later ones are refused.
    pub fn give_up(&self, reason: &str) {
        if self.broken.set(reason.to_owned()).is_ok() {
            tracing::error!(model = self.id, reason, "the model is unhealthy and takes no more requests");
            self.loading.unhealthy(reason);
            measures::given_up(&self.id);
        }
        self.jobs.fail_all(&self.failed(reason));
        self.replicas().for_each(|replica| replica.send(Command::Wake));
    }

    /// Closes a replica that failed: its requests fail, others go on, and it is opened again after a while.
    pub fn close(&self, replica: &Replica, reason: &str) {
        let jobs = replica.close(reason, self.clock.now(), self.patience.reopen);
        self.bell.ring();
        let (stage, index) = (self.stage_name(replica.stage), replica.index);
        tracing::error!(
            model = self.id,
            stage,
            replica = index,
            reason,
            sequences = jobs.len(),
            "a replica failed and is closed for a while"
        );
        self.look_after();
        let SpeechError::Failed { message, .. } = self.failed(reason) else { return };
        Replica::fail(jobs, &SpeechError::Unavailable { message, retry_after_s: UNHEALTHY_RETRY_S });
    }

    /// Looks whether every stage has a replica that lives, and says so where that changed.
    pub fn look_after(&self) {
        let mut ailment = self.ailment.lock().unwrap_or_else(PoisonError::into_inner);
        let found = self.stages.iter().find_map(|group| {
            let dead: Option<Vec<String>> = group.replicas.iter().map(|replica| replica.check_alive().err()).collect();
            dead?.into_iter().next()
        });
        match (&*ailment, &found) {
            (None, Some(reason)) => {
                tracing::error!(model = self.id, reason, "the model is unhealthy: a stage has no replica that works");
                self.loading.unhealthy(reason);
                measures::given_up(&self.id);
            }
            (Some(_), None) if !self.is_broken() => {
                tracing::info!(model = self.id, "the model is healthy again");
                self.loading.recovered();
            }
            _ => {}
        }
        *ailment = found;
    }

    /// Notes a request that ended well: the replicas it went through are sound.
    pub fn note_success(&self, job: &Job) {
        job.routes.iter().filter_map(OnceLock::get).for_each(|replica| replica.note_success());
    }

    /// The error of a request whose model failed.
    pub fn failed(&self, detail: &str) -> SpeechError {
        SpeechError::failed(format!("plugin '{}' {detail}", self.info.name))
    }
}
