//! Notices a plugin call that does not come back.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::pipeline::Pipeline;

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
    /// The plugin call under way and since when.
    pub call: Option<(&'static str, Duration)>,
    /// Since when no call has come back.
    pub quiet: Duration,
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
            if !pipeline.check_heartbeats(limit) {
                return;
            }
            drop(pipeline);
            std::thread::sleep(pause);
        }
    };
    std::thread::Builder::new().name("watchdog".to_owned()).spawn(watch).map(drop)
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
