//! The door of a model: so many requests run, so many wait, the rest are told when to come back.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::SpeechError;

/// Longest wait that a refusal suggests.
const LONGEST_RETRY_S: f64 = 60.0;

/// Counts the requests of a model.
pub struct Admission {
    running_limit: usize,
    waiting_limit: usize,
    inside: AtomicUsize,
    /// Mean seconds a request stays inside, as bits; moves by a fifth towards each new one.
    mean_stay_s: AtomicU64,
    emptied: Mutex<Option<Arc<Notify>>>,
    /// Told of every place that becomes free.
    freed: Notify,
}

/// A place in a model. Dropping it frees the place.
pub struct Place {
    admission: Arc<Admission>,
    since: Instant,
}

impl Admission {
    /// A door for `running_limit` requests in slots and `waiting_limit` before them.
    pub fn new(running_limit: usize, waiting_limit: usize) -> Arc<Self> {
        let mean_stay_s = AtomicU64::new(1f64.to_bits());
        let (inside, emptied, freed) = (AtomicUsize::new(0), Mutex::new(None), Notify::new());
        Arc::new(Self { running_limit, waiting_limit, inside, mean_stay_s, emptied, freed })
    }

    /// Requests that run at once.
    pub fn slots(&self) -> usize {
        self.running_limit
    }

    /// Takes a place, or says when to come back.
    pub fn enter(self: &Arc<Self>) -> Result<Place, SpeechError> {
        let limit = self.running_limit + self.waiting_limit;
        let entered = self.inside.fetch_update(Ordering::AcqRel, Ordering::Acquire, |inside| (inside < limit).then_some(inside + 1));
        match entered {
            Ok(_) => Ok(Place { admission: Arc::clone(self), since: Instant::now() }),
            Err(_) => Err(self.refusal()),
        }
    }

    /// Takes a place as soon as there is one. Newcomers at the door may be quicker: this is for work that goes on without the place.
    pub async fn enter_in_turn(self: &Arc<Self>) -> Place {
        loop {
            if let Ok(place) = self.enter() {
                // Of two places that became free before anybody listened, only one was told.
                self.freed.notify_one();
                return place;
            }
            self.freed.notified().await;
        }
    }

    /// Whether [`Self::enter`] would be refused now.
    pub fn check(&self) -> Result<(), SpeechError> {
        let is_full = self.inside.load(Ordering::Acquire) >= self.running_limit + self.waiting_limit;
        if is_full { Err(self.refusal()) } else { Ok(()) }
    }

    /// Requests that hold a slot.
    pub fn running(&self) -> usize {
        self.inside.load(Ordering::Acquire).min(self.running_limit)
    }

    /// Requests that wait for one.
    pub fn waiting(&self) -> usize {
        self.inside.load(Ordering::Acquire).saturating_sub(self.running_limit)
    }

    /// Waits until nobody is inside.
    pub async fn empty(&self) {
        let notify = {
            let mut emptied = self.emptied.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(emptied.get_or_insert_with(Default::default))
        };
        loop {
            let notified = notify.notified();
            if self.inside.load(Ordering::Acquire) == 0 {
                return;
            }
            notified.await;
        }
    }

    /// The refusal of a full queue: a slot frees when a request's mean stay, shared among the slots, has passed.
    fn refusal(&self) -> SpeechError {
        let mean = f64::from_bits(self.mean_stay_s.load(Ordering::Relaxed));
        let queue = self.waiting_limit as f64 / self.running_limit.max(1) as f64;
        let seconds = (mean * queue.max(1.0)).clamp(1.0, LONGEST_RETRY_S).ceil();
        SpeechError::Overloaded { retry_after_s: seconds as u64 }
    }

    fn leave(&self, stay: Duration) {
        let mean = f64::from_bits(self.mean_stay_s.load(Ordering::Relaxed));
        self.mean_stay_s.store((mean * 0.8 + stay.as_secs_f64() * 0.2).to_bits(), Ordering::Relaxed);
        let was_last = self.inside.fetch_sub(1, Ordering::AcqRel) == 1;
        self.freed.notify_one();
        if was_last && let Some(notify) = &*self.emptied.lock().unwrap_or_else(PoisonError::into_inner) {
            notify.notify_waiters();
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.admission.leave(self.since.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_door_refuses_and_a_freed_place_lets_in() {
        let door = Admission::new(2, 1);
        let mut places: Vec<Place> = (0..3).map(|_| door.enter().expect("there is room for three")).collect();
        assert_eq!((door.running(), door.waiting()), (2, 1));
        assert!(matches!(door.enter(), Err(SpeechError::Overloaded { retry_after_s: 1..=60 })));
        assert!(door.check().is_err());
        places.pop();
        assert!(door.enter().is_ok());
    }

    #[tokio::test]
    async fn all_who_wait_for_a_place_get_one_when_it_is_freed() {
        let door = Admission::new(1, 1);
        let places = [door.enter().expect("there is room"), door.enter().expect("there is room")];
        let wait = || {
            let door = Arc::clone(&door);
            tokio::spawn(async move { door.enter_in_turn().await })
        };
        let (first, second) = (wait(), wait());
        tokio::task::yield_now().await;
        assert!(!first.is_finished() && !second.is_finished());
        drop(places);
        let _both = (first.await.expect("a place"), second.await.expect("a place"));
        assert!(door.enter().is_err());
    }

    #[tokio::test]
    async fn waiting_for_an_empty_house_ends_when_the_last_one_leaves() {
        let door = Admission::new(1, 0);
        let place = door.enter().expect("the house is empty");
        let waits = tokio::spawn({
            let door = Arc::clone(&door);
            async move { door.empty().await }
        });
        tokio::task::yield_now().await;
        assert!(!waits.is_finished());
        drop(place);
        waits.await.expect("the waiter does not panic");
    }
}
