//! A cache with a budget of bytes: what was used longest ago leaves first.

use std::hash::Hash;

use lru::LruCache;

use crate::observe::metrics::CacheMetrics;

/// Values and what they weigh.
pub struct Budgeted<K: Hash + Eq, V> {
    measures: CacheMetrics,
    entries: LruCache<K, (V, usize)>,
    bytes: usize,
    budget: usize,
}

impl<K: Hash + Eq, V: Clone> Budgeted<K, V> {
    /// An empty cache, called `name` in metrics.
    pub fn new(name: &'static str, budget: usize) -> Self {
        Self { measures: CacheMetrics::new(name), entries: LruCache::unbounded(), bytes: 0, budget }
    }

    /// A value, which counts as used now.
    pub fn get(&mut self, key: &K) -> Option<V> {
        let found = self.entries.get(key).map(|(value, _)| value.clone());
        match &found {
            Some(_) => self.measures.hit(),
            None => self.measures.missed(),
        }
        found
    }

    /// Whether a value is there, without counting as a use of it.
    pub fn has(&self, key: &K) -> bool {
        self.entries.contains(key)
    }

    /// Keeps a value; one that is larger than the whole budget is not kept.
    pub fn put(&mut self, key: K, value: V, bytes: usize) {
        if bytes > self.budget {
            return;
        }
        if let Some((_, old)) = self.entries.put(key, (value, bytes)) {
            self.bytes -= old;
        }
        self.bytes += bytes;
        while self.bytes > self.budget
            && let Some((_, (_, oldest))) = self.entries.pop_lru()
        {
            self.bytes -= oldest;
        }
        self.report();
    }

    /// Drops all of these.
    pub fn remove_where(&mut self, is_gone: impl Fn(&K, &V) -> bool) {
        let bytes = &mut self.bytes;
        self.entries.retain(|key, (value, size)| {
            let keep = !is_gone(key, value);
            *bytes -= if keep { 0 } else { *size };
            keep
        });
        self.report();
    }

    /// Bytes of all values.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn report(&self) {
        self.measures.holds(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::Budgeted;
    use proptest::prelude::*;

    #[test]
    fn what_was_used_longest_ago_leaves_first() {
        let mut cache = Budgeted::new("test", 10);
        cache.put('a', 1, 4);
        cache.put('b', 2, 4);
        assert_eq!(cache.get(&'a'), Some(1));
        cache.put('c', 3, 4);
        assert_eq!((cache.get(&'a'), cache.get(&'b'), cache.get(&'c')), (Some(1), None, Some(3)));
        cache.put('d', 4, 11);
        assert_eq!((cache.get(&'d'), cache.bytes()), (None, 8));
    }

    proptest! {
        #[test]
        fn the_bytes_are_those_of_the_values_and_never_above_the_budget(puts in prop::collection::vec((0_u8..20, 0_usize..50, any::<bool>()), 0..200)) {
            let mut cache = Budgeted::new("test", 100);
            for (key, bytes, is_put) in puts {
                if is_put { cache.put(key, bytes, bytes) } else { cache.remove_where(|other, _| *other == key) }
                let held: usize = (0..20).filter_map(|key| cache.get(&key)).sum();
                prop_assert_eq!(held, cache.bytes());
                prop_assert!(held <= 100);
            }
        }
    }
}
