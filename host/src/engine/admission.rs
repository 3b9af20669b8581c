//! The door of a model: so many requests run, so many wait, so much speech is promised; the rest are told when to come back.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::SpeechError;

/// Longest wait that a refusal suggests.
const LONGEST_RETRY_S: f64 = 60.0;

/// Seconds of speech that a character is taken for before any was spoken.
const CHARACTER_S: f64 = 0.07;

/// Weight of a new measurement in a running mean.
const NEWEST: f64 = 0.2;

/// How much a door lets in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DoorLimits {
    /// Requests that hold slots.
    pub running: usize,
    /// Requests that wait for one.
    pub waiting: usize,
    /// Seconds of speech that all inside may want together; a request that is alone is let in whatever it wants. None for no limit.
    pub promised_s: Option<f64>,
}

/// Counts the requests of a model, and what they want.
pub struct Admission {
    limits: DoorLimits,
    inside: AtomicUsize,
    /// Requests that were ever let in.
    entered: AtomicU64,
    /// Milliseconds of speech that those inside want, as far as they have said.
    promised_ms: AtomicU64,
    pace: Mutex<Pace>,
    emptied: Mutex<Option<Arc<Notify>>>,
    /// Told of every place that becomes free.
    freed: Notify,
}

/// What was measured at the door.
#[derive(Debug)]
struct Pace {
    /// Running mean of seconds a request stays.
    stay_s: f64,
    /// Running mean of seconds between two that leave while others wait.
    gap_s: Option<f64>,
    last_left: Option<Instant>,
    /// Refused since somebody left: they all come back for the same places.
    refused: u32,
    /// Running mean of seconds of speech that a character becomes.
    character_s: f64,
}

/// A place in a model. It is free again when it is dropped, or given back before.
pub struct Place {
    admission: Arc<Admission>,
    since: Instant,
    promised_ms: AtomicU64,
    is_given_back: AtomicBool,
}

impl Admission {
    /// A door with these limits.
    pub fn new(limits: DoorLimits) -> Arc<Self> {
        let pace = Pace { stay_s: 1.0, gap_s: None, last_left: None, refused: 0, character_s: CHARACTER_S };
        let (inside, promised_ms, emptied) = (AtomicUsize::new(0), AtomicU64::new(0), Mutex::new(None));
        let entered = AtomicU64::new(0);
        Arc::new(Self { limits, inside, entered, promised_ms, pace: Mutex::new(pace), emptied, freed: Notify::new() })
    }

    /// Requests that run at once.
    pub fn slots(&self) -> usize {
        self.limits.running
    }

    fn most(&self) -> usize {
        self.limits.running.saturating_add(self.limits.waiting)
    }

    fn pace(&self) -> MutexGuard<'_, Pace> {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place, or says when to come back.
    pub fn enter(self: &Arc<Self>) -> Result<Place, SpeechError> {
        let limit = self.most();
        let entered = self.inside.fetch_update(Ordering::AcqRel, Ordering::Acquire, |inside| (inside < limit).then_some(inside + 1));
        let place = || Place {
            admission: Arc::clone(self),
            since: Instant::now(),
            promised_ms: AtomicU64::new(0),
            is_given_back: AtomicBool::new(false),
        };
        entered.map_err(|_| self.refusal())?;
        self.entered.fetch_add(1, Ordering::Relaxed);
        Ok(place())
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
        let is_full = self.inside.load(Ordering::Acquire) >= self.most();
        if is_full { Err(self.refusal()) } else { Ok(()) }
    }

    /// Requests that hold a slot.
    pub fn running(&self) -> usize {
        self.inside.load(Ordering::Acquire).min(self.limits.running)
    }

    /// Requests that were let in so far.
    pub fn entered(&self) -> u64 {
        self.entered.load(Ordering::Relaxed)
    }

    /// Requests that wait for one.
    pub fn waiting(&self) -> usize {
        self.inside.load(Ordering::Acquire).saturating_sub(self.limits.running)
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

    /// The refusal of a full house: places become free as fast as they lately did, one for each who was refused.
    fn refusal(&self) -> SpeechError {
        let mut pace = self.pace();
        pace.refused = pace.refused.saturating_add(1);
        let gap_s = pace.gap_s.unwrap_or(pace.stay_s / self.limits.running.max(1) as f64);
        let seconds = (gap_s * f64::from(pace.refused)).clamp(1.0, LONGEST_RETRY_S).ceil();
        SpeechError::Overloaded { retry_after_s: seconds as u64 }
    }

    fn leave(&self, stay: Duration) {
        let was_inside = self.inside.fetch_sub(1, Ordering::AcqRel);
        self.pace().left(stay, was_inside > self.limits.running);
        self.freed.notify_one();
        if was_inside == 1
            && let Some(notify) = &*self.emptied.lock().unwrap_or_else(PoisonError::into_inner)
        {
            notify.notify_waiters();
        }
    }
}

impl Pace {
    fn left(&mut self, stay: Duration, did_others_wait: bool) {
        let now = Instant::now();
        self.stay_s += NEWEST * (stay.as_secs_f64() - self.stay_s);
        if let (Some(last), true) = (self.last_left, did_others_wait) {
            let gap_s = now.saturating_duration_since(last).as_secs_f64();
            self.gap_s = Some(self.gap_s.map_or(gap_s, |mean| mean + NEWEST * (gap_s - mean)));
        }
        (self.last_left, self.refused) = (Some(now), 0);
    }
}

impl Place {
    /// How long it has been taken.
    pub fn held_for(&self) -> Duration {
        self.since.elapsed()
    }

    /// Says how long a text its holder wants spoken. Refused when those inside want too much already.
    pub fn promise(&self, characters: usize) -> Result<(), SpeechError> {
        let wanted_s = self.admission.pace().character_s * characters as f64;
        let before_ms = self.promised_ms.swap(0, Ordering::AcqRel);
        let others_ms = self.admission.promised_ms.fetch_sub(before_ms, Ordering::AcqRel).saturating_sub(before_ms);
        let is_too_much = |limit: f64| others_ms > 0 && others_ms as f64 / 1000.0 + wanted_s > limit;
        if self.admission.limits.promised_s.is_some_and(is_too_much) {
            return Err(self.admission.refusal());
        }
        let wanted_ms = (wanted_s * 1000.0) as u64;
        self.promised_ms.store(wanted_ms, Ordering::Release);
        self.admission.promised_ms.fetch_add(wanted_ms, Ordering::AcqRel);
        Ok(())
    }

    /// Notes how long the speech of a text was.
    pub fn note_spoken(&self, characters: usize, spoken: Duration) {
        if characters > 0 {
            let mut pace = self.admission.pace();
            pace.character_s += NEWEST * (spoken.as_secs_f64() / characters as f64 - pace.character_s);
        }
    }

    /// Gives it back before it is dropped: its holder has stopped and may never come to it.
    pub fn give_back(&self) {
        if !self.is_given_back.swap(true, Ordering::AcqRel) {
            self.admission.promised_ms.fetch_sub(self.promised_ms.load(Ordering::Acquire), Ordering::AcqRel);
            self.admission.leave(self.since.elapsed());
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn promised_s(door: &Admission) -> f64 {
        door.promised_ms.load(Ordering::Acquire) as f64 / 1000.0
    }

    fn door(running: usize, waiting: usize) -> Arc<Admission> {
        Admission::new(DoorLimits { running, waiting, promised_s: None })
    }

    #[test]
    fn a_full_door_refuses_and_a_freed_place_lets_in() {
        let door = door(2, 1);
        let mut places: Vec<Place> = (0..3).map(|_| door.enter().expect("there is room for three")).collect();
        assert_eq!((door.running(), door.waiting()), (2, 1));
        assert!(matches!(door.enter(), Err(SpeechError::Overloaded { retry_after_s: 1..=60 })));
        assert!(door.check().is_err());
        places.pop();
        assert!(door.enter().is_ok());
    }

    #[tokio::test]
    async fn all_who_wait_for_a_place_get_one_when_it_is_freed() {
        let door = door(1, 1);
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
        let door = door(1, 0);
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

    #[test]
    fn a_house_that_has_promised_enough_refuses_unless_it_is_empty() {
        let door = Admission::new(DoorLimits { running: 8, waiting: 8, promised_s: Some(60.0) });
        let enter = || door.enter().expect("there is room");
        let (book, note) = (enter(), enter());
        assert_eq!(book.promise(100_000), Ok(()), "whoever is alone is let in");
        assert!(matches!(note.promise(10), Err(SpeechError::Overloaded { .. })));
        drop(book);
        assert_eq!(note.promise(10), Ok(()));
        assert_eq!(note.promise(400), Ok(()), "a new promise takes the place of the one before");
        assert!((promised_s(&door) - 28.0).abs() < 0.1, "{}", promised_s(&door));
        drop(note);
        assert_eq!(promised_s(&door), 0.0);
    }

    #[test]
    fn a_promise_is_measured_by_what_was_spoken() {
        let door = door(8, 8);
        let place = door.enter().expect("there is room");
        for _ in 0..100 {
            place.note_spoken(100, Duration::from_secs(20));
        }
        place.promise(1_000).expect("nothing limits it");
        assert!((promised_s(&door) - 200.0).abs() < 1.0, "{}", promised_s(&door));
    }

    #[test]
    fn those_who_are_refused_together_are_told_to_come_one_after_the_other() {
        let door = door(1, 0);
        let _place = door.enter().expect("the house is empty");
        let waits: Vec<u64> = std::iter::repeat_with(|| match door.enter() {
            Err(SpeechError::Overloaded { retry_after_s }) => retry_after_s,
            _ => 0,
        })
        .take(100)
        .collect();
        assert!(waits.is_sorted() && waits.first() == Some(&1) && waits.last() == Some(&60), "{waits:?}");
    }

    #[test]
    fn a_place_that_was_given_back_is_not_given_back_again() {
        let door = door(1, 0);
        let place = door.enter().expect("the house is empty");
        place.give_back();
        let _other = door.enter().expect("it is free");
        drop(place);
        assert!(door.enter().is_err());
    }
}
