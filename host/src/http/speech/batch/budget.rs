//! How much audio the items of a batch may make together: all of it is held until the answer is sent.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::http::error::ApiError;

/// Samples of all items and channels. What is finished takes 341 MiB as base64 of 16-bit samples; what is being made takes more, up to nine
/// bytes a sample while it is encoded.
pub const MAX_SAMPLES: usize = 128 << 20;

/// What is left of the samples.
#[derive(Debug)]
pub struct Budget(AtomicUsize);

impl Budget {
    /// All of it.
    pub fn new(samples: usize) -> Self {
        Self(AtomicUsize::new(samples))
    }

    /// What one item takes of it.
    pub fn share(&self) -> Share<'_> {
        Share { budget: self, taken: 0 }
    }
}

/// What one item has taken: given back when dropped, unless the item keeps it.
#[derive(Debug)]
pub struct Share<'a> {
    budget: &'a Budget,
    taken: usize,
}

impl Share<'_> {
    /// Takes more, or refuses what is not there.
    pub fn take(&mut self, samples: usize) -> Result<(), ApiError> {
        let left = &self.budget.0;
        let taken = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(samples));
        taken.map_err(|_| {
            ApiError::invalid("items", "The items of this batch come to more audio than one answer holds; send fewer of them")
        })?;
        self.taken += samples;
        Ok(())
    }

    /// The audio stays.
    pub fn keep(mut self) {
        self.taken = 0;
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        self.budget.0.fetch_add(self.taken, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_item_keeps_is_gone_for_the_others_and_what_it_drops_is_not() {
        let budget = Budget::new(10);
        let mut failed = budget.share();
        assert!(failed.take(6).is_ok() && failed.take(6).is_err());
        drop(failed);
        let mut kept = budget.share();
        assert!(kept.take(6).is_ok());
        kept.keep();
        let mut late = budget.share();
        assert!(late.take(4).is_ok());
        assert_eq!(late.take(1).expect_err("nothing is left").body()["error"]["param"], "items");
    }
}
