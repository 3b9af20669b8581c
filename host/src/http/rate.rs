//! How many requests a minute a key may make: a bucket that fills with time.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A bucket of one key.
#[derive(Debug)]
pub struct Bucket {
    per_minute: u32,
    level: Mutex<Level>,
}

#[derive(Debug, Clone, Copy)]
struct Level {
    tokens: f64,
    at: Instant,
}

impl Bucket {
    /// A full bucket: `per_minute` requests at once, then as many a minute, evenly.
    pub fn new(per_minute: u32) -> Self {
        Self { per_minute, level: Mutex::new(Level { tokens: f64::from(per_minute), at: Instant::now() }) }
    }

    /// Requests a minute.
    pub fn per_minute(&self) -> u32 {
        self.per_minute
    }

    /// Takes one request out, or tells how long to wait for it.
    pub fn take(&self) -> Result<(), Duration> {
        self.take_at(Instant::now())
    }

    fn take_at(&self, now: Instant) -> Result<(), Duration> {
        let a_second = f64::from(self.per_minute) / 60.0;
        let mut level = self.level.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = now.saturating_duration_since(level.at).as_secs_f64();
        let tokens = (level.tokens + passed * a_second).min(f64::from(self.per_minute));
        let is_enough = tokens >= 1.0;
        *level = Level { tokens: if is_enough { tokens - 1.0 } else { tokens }, at: level.at.max(now) };
        // No rate at all would never be enough; it is refused where settings are read.
        if is_enough { Ok(()) } else { Err(Duration::from_secs_f64((1.0 - tokens) / a_second.max(1e-3))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_holds_so_many_and_they_come_back_evenly() {
        let bucket = Bucket::new(3);
        let now = Instant::now();
        for _ in 0..3 {
            assert_eq!(bucket.take_at(now), Ok(()));
        }
        let wait = bucket.take_at(now).expect_err("the bucket is empty");
        assert!((19.9..=20.0).contains(&wait.as_secs_f64()), "{wait:?}");
        assert_eq!(bucket.take_at(now + Duration::from_secs(21)), Ok(()));
        assert!(bucket.take_at(now + Duration::from_secs(21)).is_err());
        let later = now + Duration::from_secs(3600);
        assert_eq!((0..10).filter(|_| bucket.take_at(later).is_ok()).count(), 3, "it holds no more than a minute's");
        assert!(bucket.take_at(now).is_err(), "time that runs backwards fills nothing");
    }
}
