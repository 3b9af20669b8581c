//! Notices what does not end by itself: a plugin call that does not come back, a request past its deadline, a reader that has stopped; and
//! opens replicas again.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock, Weak};
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

/// Wakes the watchdog of a pipeline, if there is one.
#[derive(Default)]
pub struct Bell(OnceLock<SyncSender<()>>);

impl Bell {
    /// Something began that may not end by itself.
    pub fn ring(&self) {
        if let Some(bell) = self.0.get() {
            // One that is full was rung before and not heard yet; one that nobody listens to belongs to a pipeline that ends.
            let _ = bell.try_send(());
        }
    }
}

/// What the watchdog found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// Something is under way.
    Work,
    /// Nothing is: the bell will ring.
    Rest,
    /// The pipeline is gone.
    Nothing,
}

/// Starts the thread that watches a pipeline. It ends with the pipeline.
///
/// While something is under way it looks a few times within the limit and once a second at least; else it sleeps until the bell rings.
pub fn start(pipeline: &Arc<Pipeline>, limit: Duration) -> std::io::Result<()> {
    let (bell, rings) = sync_channel(1);
    // A pipeline is started once: its bell is not taken.
    let _ = pipeline.bell.0.set(bell);
    let watched: Weak<Pipeline> = Arc::downgrade(pipeline);
    let pause = (limit / 4).clamp(Duration::from_millis(50), Duration::from_secs(1));
    let look = move || {
        let Some(pipeline) = watched.upgrade() else { return Found::Nothing };
        look(&pipeline);
        if pipeline.is_at_rest() { Found::Rest } else { Found::Work }
    };
    std::thread::Builder::new().name("watchdog".to_owned()).spawn(move || watch(&rings, pause, look)).map(drop)
}

/// Looks again and again: after a pause while there is work, after a ring of the bell otherwise.
fn watch(rings: &Receiver<()>, pause: Duration, look: impl Fn() -> Found) {
    loop {
        // What rang so far is seen by this look; what rings from here on calls for another one.
        while rings.try_recv().is_ok() {}
        match look() {
            Found::Work => std::thread::sleep(pause),
            Found::Rest if rings.recv().is_ok() => {}
            Found::Rest | Found::Nothing => return,
        }
    }
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
    use std::sync::Mutex;

    #[test]
    fn a_heartbeat_tells_the_call_under_way_and_nothing_afterwards() {
        let heartbeat = Heartbeat::new();
        assert_eq!(heartbeat.under_way(), None);
        let seen = heartbeat.watch(2, || heartbeat.under_way().map(|(call, _)| call));
        assert_eq!(seen, Some("step"));
        assert_eq!(heartbeat.under_way(), None);
    }

    /// How often is looked, when each look finds this and hears the bell meanwhile or not. The bell is gone with the last one.
    fn looks(found: &[(Found, bool)]) -> usize {
        let (bell, rings) = sync_channel(1);
        let (bell, looked) = (Mutex::new(Some(bell)), AtomicUsize::new(0));
        watch(&rings, Duration::from_millis(1), || {
            let (found_now, rings_now) = found[looked.fetch_add(1, Ordering::SeqCst)];
            let mut bell = bell.lock().expect("nobody panicked");
            if let Some(bell) = bell.as_ref().filter(|_| rings_now) {
                bell.try_send(()).expect("it is heard before each look");
            }
            if looked.load(Ordering::SeqCst) == found.len() {
                *bell = None;
            }
            found_now
        });
        looked.into_inner()
    }

    #[test]
    fn what_is_at_rest_is_looked_at_again_only_when_the_bell_rings() {
        assert_eq!(looks(&[(Found::Rest, false)]), 1, "it ends with its bell");
        assert_eq!(looks(&[(Found::Work, false), (Found::Work, true), (Found::Nothing, false)]), 3, "work is looked at without a ring");
        assert_eq!(looks(&[(Found::Rest, true), (Found::Rest, true), (Found::Rest, false)]), 3, "a ring amid a look is not lost");
    }

    #[test]
    fn the_bell_wakes_whoever_sleeps() {
        let ((bell, rings), looked) = (sync_channel(1), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            let look = || if looked.fetch_add(1, Ordering::SeqCst) == 0 { Found::Rest } else { Found::Nothing };
            scope.spawn(move || watch(&rings, Duration::from_millis(1), look));
            while looked.load(Ordering::SeqCst) == 0 {
                std::thread::yield_now();
            }
            bell.send(()).expect("somebody listens");
        });
        assert_eq!(looked.into_inner(), 2);
    }
}
