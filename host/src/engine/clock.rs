//! The time of the engine: the machine's, or one that a simulation moves.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A source of time since some start. Cheap to clone; clones agree.
#[derive(Debug, Clone)]
pub struct Clock(Source);

#[derive(Debug, Clone)]
enum Source {
    Machine(Instant),
    /// Nanoseconds.
    Moved(Arc<AtomicU64>),
}

impl Clock {
    /// The machine's time, from now on.
    pub fn machine() -> Self {
        Self(Source::Machine(Instant::now()))
    }

    /// A time that stands still until [`Self::advance_to`] moves it.
    pub fn moved() -> Self {
        Self(Source::Moved(Arc::default()))
    }

    /// The time since the start.
    pub fn now(&self) -> Duration {
        match &self.0 {
            Source::Machine(start) => start.elapsed(),
            Source::Moved(nanoseconds) => Duration::from_nanos(nanoseconds.load(Ordering::Acquire)),
        }
    }

    /// Moves a moved time forward; the machine's goes its own way.
    pub fn advance_to(&self, time: Duration) {
        if let Source::Moved(nanoseconds) = &self.0 {
            let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
            nanoseconds.fetch_max(time, Ordering::AcqRel);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moved_time_stands_still_and_never_goes_back() {
        let clock = Clock::moved();
        let other = clock.clone();
        clock.advance_to(Duration::from_millis(5));
        clock.advance_to(Duration::from_millis(2));
        assert_eq!(other.now(), Duration::from_millis(5));
    }
}
