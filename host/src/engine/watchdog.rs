//! Notices what does not end by itself: a plugin call that does not come back, a request past its deadline, a reader that has stopped; and
//! opens replicas again.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use omni_plugin_api::{Device, PluginError};

use super::SpeechError;
use super::pipeline::Pipeline;
use super::replica::Replica;
use super::stage::{StageWorker, open_within};

/// The plugin entries that a stage thread calls.
pub const CALLS: [&str; 5] = ["admit", "feed", "step", "release", "open_stage"];

/// When a stage thread entered a plugin, and which call.
pub struct Heartbeat {
    origin: Instant,
    /// Milliseconds since the origin, plus one; 0 while no call is under way.
    entered: AtomicU64,
    /// Milliseconds since the origin at which the last call came back.
    returned: AtomicU64,
    call: AtomicUsize,
}

/// What a stage replica is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pulse {
    /// Which stage of the model, counted from 0.
    pub stage: usize,
    /// Its name.
    pub name: String,
    /// Which replica of it.
    pub replica: usize,
    /// Where that runs.
    pub device: Device,
    /// The plugin call under way and since when.
    pub call: Option<(&'static str, Duration)>,
    /// Since when no call has come back.
    pub quiet: Duration,
    /// Why it takes no work until it is opened again, if it does not.
    pub closed: Option<String>,
    /// Sequences it works on or has promised to.
    pub sequences: usize,
}

impl Heartbeat {
    /// A heartbeat of a thread that is outside.
    pub fn new() -> Self {
        Self { origin: Instant::now(), entered: AtomicU64::new(0), returned: AtomicU64::new(0), call: AtomicUsize::new(0) }
    }

    /// Runs a call under watch. `call` is an index into [`CALLS`].
    pub fn watch<T>(&self, call: usize, act: impl FnOnce() -> T) -> T {
        self.call.store(call, Ordering::Relaxed);
        self.entered.store(self.origin.elapsed().as_millis() as u64 + 1, Ordering::Release);
        let result = act();
        self.returned.store(self.origin.elapsed().as_millis() as u64, Ordering::Relaxed);
        self.entered.store(0, Ordering::Release);
        result
    }

    /// Time since a call came back, or since the thread began.
    pub fn quiet(&self) -> Duration {
        self.origin.elapsed().saturating_sub(Duration::from_millis(self.returned.load(Ordering::Relaxed)))
    }

    /// The call under way and how long it has been, if one is.
    pub fn under_way(&self) -> Option<(&'static str, Duration)> {
        let entered = self.entered.load(Ordering::Acquire).checked_sub(1)?;
        let call = CALLS.get(self.call.load(Ordering::Relaxed)).copied().unwrap_or("a call");
        Some((call, self.origin.elapsed().saturating_sub(Duration::from_millis(entered))))
    }
}

/// Starts the thread that watches a pipeline. It ends with the pipeline.
///
/// It looks a few times within the limit and not more than once a second otherwise: it is no part of any request's way.
pub fn start(pipeline: &Arc<Pipeline>, limit: Duration) -> std::io::Result<()> {
    let watched: Weak<Pipeline> = Arc::downgrade(pipeline);
    let pause = (limit / 4).clamp(Duration::from_millis(50), Duration::from_secs(1));
    let watch = move || {
        while let Some(pipeline) = watched.upgrade() {
            look(&pipeline);
            drop(pipeline);
            std::thread::sleep(pause);
        }
    };
    std::thread::Builder::new().name("watchdog".to_owned()).spawn(watch).map(drop)
}

fn look(pipeline: &Arc<Pipeline>) {
    close_the_stuck(pipeline);
    end_the_overdue(pipeline);
    for replica in pipeline.replicas() {
        if !pipeline.is_broken() && replica.begin_opening(pipeline.clock.now()) {
            reopen(pipeline, replica);
        }
    }
}

/// Closes replicas whose thread has been in one call for too long.
fn close_the_stuck(pipeline: &Pipeline) {
    let limit = pipeline.patience.call;
    for replica in pipeline.replicas() {
        if let Some(call) = replica.stuck_in(limit) {
            let stage = pipeline.info.stages.get(replica.stage).map_or("", |stage| &stage.name);
            pipeline.close(replica, &format!("did not return from {call} of stage '{stage}' within {} s", limit.as_secs_f32()));
        }
    }
}

/// Ends requests whose time is over, and those whose caller has stopped to take what is made for it.
pub fn end_the_overdue(pipeline: &Pipeline) {
    let now = pipeline.clock.now();
    for job in pipeline.jobs.filter(|job| job.deadline.is_some_and(|deadline| deadline <= now)) {
        job.fail(SpeechError::TimedOut { message: "the request did not end within the time that a request may take".to_owned() });
        pipeline.forget(job.seq);
    }
    let limit = pipeline.patience.slow_reader;
    for job in pipeline.jobs.filter(|job| job.stalled_for(now).is_some_and(|stalled| stalled >= limit)) {
        tracing::warn!(model = pipeline.id, seq = job.seq, limit_s = limit.as_secs(), "a client stopped reading; its request is ended");
        job.fail(SpeechError::failed(format!("the client took no audio for {} s", limit.as_secs())));
        if let Some(place) = job.place.upgrade() {
            place.give_back();
        }
        pipeline.forget(job.seq);
    }
}

/// Opens a replica again on a thread of its own.
fn reopen(pipeline: &Arc<Pipeline>, replica: &Arc<Replica>) {
    let spawned = {
        let (pipeline, replica) = (Arc::clone(pipeline), Arc::clone(replica));
        std::thread::Builder::new().name("reopen".to_owned()).spawn(move || {
            let opened = open_within(&pipeline, &replica).and_then(|opened| StageWorker::new(&pipeline, &replica, opened).spawn());
            match opened {
                Ok(()) => {
                    tracing::info!(model = pipeline.id, stage = replica.stage, replica = replica.index, "a replica was opened again");
                    pipeline.look_after();
                }
                Err(error) => could_not(&pipeline, &replica, &error),
            }
        })
    };
    if let Err(error) = spawned {
        could_not(pipeline, replica, &PluginError::internal(format!("no thread to open it on: {error}")));
    }
}

fn could_not(pipeline: &Pipeline, replica: &Replica, error: &PluginError) {
    pipeline.close(replica, &format!("could not open stage {} again: {}", replica.stage, error.message));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heartbeat_tells_the_call_under_way_and_nothing_afterwards() {
        let heartbeat = Heartbeat::new();
        assert_eq!(heartbeat.under_way(), None);
        let seen = heartbeat.watch(2, || heartbeat.under_way().map(|(call, _)| call));
        assert_eq!(seen, Some("step"));
        assert_eq!(heartbeat.under_way(), None);
    }
}
