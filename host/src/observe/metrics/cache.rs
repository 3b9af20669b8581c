//! What a cache is asked for and has.

use metrics::{Counter, Gauge};

use super::catalogue::{CACHE_BYTES, CACHE_HITS, CACHE_MISSES};

/// The measures of one cache. Make it once and keep it with the cache.
pub struct CacheMetrics {
    hits: Counter,
    misses: Counter,
    bytes: Gauge,
}

impl CacheMetrics {
    /// The measures of the cache of this name.
    pub fn new(cache: &'static str) -> Self {
        Self { hits: CACHE_HITS.of([cache]), misses: CACHE_MISSES.of([cache]), bytes: CACHE_BYTES.of([cache]) }
    }

    /// It had what was asked for.
    pub fn hit(&self) {
        self.hits.increment(1);
    }

    /// It did not.
    pub fn missed(&self) {
        self.misses.increment(1);
    }

    /// It holds so many bytes now.
    pub fn holds(&self, bytes: usize) {
        self.bytes.set(bytes as f64);
    }
}
