//! What models made of references, kept while there is room.
//!
//! The key is the content of the clip, the model and the transcript, so a voice that was stored and a clip that was sent along share what
//! was made of them, and another content can never be mistaken for it. Of several requests that are first to need the same, one encodes and
//! all get its result; the work goes on when the client that began it leaves.

use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use omni_plugin_api::NamedTensor;
use tokio::sync::watch;

use super::ContentId;
use super::budget::Budgeted;
use crate::engine::SpeechError;

/// Room for features.
pub const DEFAULT_BYTES: usize = 512 << 20;

/// What a model made of a reference.
pub type Tensors = Arc<Vec<NamedTensor>>;

/// What features are of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FeatureKey {
    /// The sound, or the speaker's vector.
    pub content: ContentId,
    /// The model's id.
    pub model: String,
    /// The transcript that the model was told.
    pub transcript: Option<String>,
}

/// The features of all models. Cheap to clone.
#[derive(Clone)]
pub struct Features(Arc<Mutex<State>>);

struct State {
    kept: Budgeted<FeatureKey, Tensors>,
    flights: HashMap<FeatureKey, Flight>,
    launched: u64,
}

/// An encoding under way.
struct Flight {
    number: u64,
    landing: watch::Receiver<Option<Result<Tensors, SpeechError>>>,
}

/// Where features are.
enum Found {
    Kept(Tensors),
    Coming(watch::Receiver<Option<Result<Tensors, SpeechError>>>),
}

impl Default for Features {
    fn default() -> Self {
        Self::new(DEFAULT_BYTES)
    }
}

impl Features {
    /// Room for so many bytes of tensors.
    pub fn new(bytes: usize) -> Self {
        Self(Arc::new(Mutex::new(State { kept: Budgeted::new("features", bytes), flights: HashMap::new(), launched: 0 })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The features of `key`: kept, or made by `encode`, which runs once however many ask at the same time. A failure is told to all that
    /// wait for it and is not kept.
    pub async fn get_or_encode<E>(&self, key: FeatureKey, encode: impl FnOnce() -> E) -> Result<Tensors, SpeechError>
    where
        E: Future<Output = Result<Vec<NamedTensor>, SpeechError>> + Send + 'static,
    {
        let lost = || SpeechError::failed("the reference's encoder was lost");
        let mut landing = match self.find_or_launch(key, encode) {
            Found::Kept(tensors) => return Ok(tensors),
            Found::Coming(landing) => landing,
        };
        let landed = landing.wait_for(Option::is_some).await.map_err(|_| lost())?;
        landed.clone().unwrap_or_else(|| Err(lost()))
    }

    fn find_or_launch<E>(&self, key: FeatureKey, encode: impl FnOnce() -> E) -> Found
    where
        E: Future<Output = Result<Vec<NamedTensor>, SpeechError>> + Send + 'static,
    {
        let mut state = self.state();
        if let Some(tensors) = state.kept.get(&key) {
            return Found::Kept(tensors);
        }
        if let Some(flight) = state.flights.get(&key) {
            return Found::Coming(flight.landing.clone());
        }
        state.launched += 1;
        let (number, (sender, landing)) = (state.launched, watch::channel(None));
        state.flights.insert(key.clone(), Flight { number, landing: landing.clone() });
        let landing_strip = Landing { features: self.clone(), key, number };
        let work = encode();
        tokio::spawn(async move {
            let outcome = work.await.map(Arc::new);
            landing_strip.land(&outcome);
            sender.send_replace(Some(outcome));
        });
        Found::Coming(landing)
    }

    /// Whether the features of `key` are kept or being made. It counts as no use.
    pub fn has(&self, key: &FeatureKey) -> bool {
        let state = self.state();
        state.kept.has(key) || state.flights.contains_key(key)
    }

    /// Forgets everything that was made of a sound, also what is being made of it now.
    pub fn forget(&self, content: &ContentId) {
        let mut state = self.state();
        state.kept.remove_where(|key, _| key.content == *content);
        state.flights.retain(|key, _| key.content != *content);
    }

    /// Bytes of tensors that are kept.
    pub fn bytes(&self) -> usize {
        self.state().kept.bytes()
    }
}

/// The end of a flight, also of one whose task was lost.
struct Landing {
    features: Features,
    key: FeatureKey,
    number: u64,
}

impl Landing {
    /// Keeps a result, unless it was forgotten meanwhile.
    fn land(&self, outcome: &Result<Tensors, SpeechError>) {
        let mut state = self.features.state();
        if state.take_off_the_list(&self.key, self.number)
            && let Ok(tensors) = outcome
        {
            state.kept.put(self.key.clone(), Arc::clone(tensors), size(tensors));
        }
    }
}

impl Drop for Landing {
    fn drop(&mut self) {
        self.features.state().take_off_the_list(&self.key, self.number);
    }
}

impl State {
    fn take_off_the_list(&mut self, key: &FeatureKey, number: u64) -> bool {
        let is_this = self.flights.get(key).is_some_and(|flight| flight.number == number);
        is_this && self.flights.remove(key).is_some()
    }
}

/// Bytes of a set of tensors, with what surrounds them.
fn size(tensors: &[NamedTensor]) -> usize {
    const AROUND: usize = 128;
    tensors.iter().map(|tensor| AROUND + tensor.name.len() + 8 * tensor.shape.len() + 4 * tensor.values.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::sync::Semaphore;

    fn key(content: u8, transcript: Option<&str>) -> FeatureKey {
        FeatureKey { content: [content; 32], model: "m".to_owned(), transcript: transcript.map(str::to_owned) }
    }

    fn tensors(len: usize) -> Vec<NamedTensor> {
        vec![NamedTensor::f32("speaker", vec![len], vec![0.5; len])]
    }

    /// Asks, and counts encodings.
    async fn ask(features: &Features, key: FeatureKey, len: usize, count: &Arc<AtomicUsize>) -> Result<Tensors, SpeechError> {
        let count = Arc::clone(count);
        features
            .get_or_encode(key, || async move {
                count.fetch_add(1, Ordering::SeqCst);
                Ok(tensors(len))
            })
            .await
    }

    #[tokio::test]
    async fn many_first_uses_encode_once() {
        let (features, count, gate) = (Features::default(), Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
        let asks = (0..20).map(|_| {
            let (features, count, gate) = (features.clone(), Arc::clone(&count), Arc::clone(&gate));
            tokio::spawn(async move {
                let encode = || async move {
                    count.fetch_add(1, Ordering::SeqCst);
                    drop(gate.acquire().await);
                    Ok(tensors(4))
                };
                features.get_or_encode(key(1, None), encode).await
            })
        });
        let asks: Vec<_> = asks.collect();
        tokio::task::yield_now().await;
        gate.add_permits(1);
        for ask in asks {
            assert_eq!(ask.await.expect("no panic").expect("features").len(), 1);
        }
        assert_eq!(count.load(Ordering::SeqCst), 1);
        ask(&features, key(1, None), 4, &count).await.expect("they are kept");
        assert_eq!(count.load(Ordering::SeqCst), 1);
        ask(&features, key(1, Some("t")), 4, &count).await.expect("another transcript is another work");
        assert_eq!(count.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn the_work_goes_on_when_the_first_client_leaves() {
        let (features, gate) = (Features::default(), Arc::new(Semaphore::new(0)));
        let (first, opened) = (features.clone(), Arc::clone(&gate));
        let client = tokio::spawn(async move {
            let encode = || async move {
                drop(opened.acquire().await);
                Ok(tensors(4))
            };
            first.get_or_encode(key(1, None), encode).await
        });
        while features.state().flights.is_empty() {
            tokio::task::yield_now().await;
        }
        client.abort();
        gate.add_permits(1);
        let second = features.get_or_encode(key(1, None), || async { Err(SpeechError::failed("made twice")) }).await;
        assert_eq!(second.expect("the first work's result").len(), 1);
    }

    #[tokio::test]
    async fn a_failure_is_told_and_not_kept_and_a_panic_leaves_no_flight() {
        let (features, count) = (Features::default(), Arc::new(AtomicUsize::new(0)));
        let failed = SpeechError::failed("no");
        let told = failed.clone();
        assert_eq!(features.get_or_encode(key(1, None), || async { Err(told) }).await, Err(failed));
        let lost = features.get_or_encode(key(1, None), || async { std::panic::resume_unwind(Box::new(())) }).await;
        assert!(matches!(lost, Err(SpeechError::Failed { .. })));
        ask(&features, key(1, None), 4, &count).await.expect("a third try works");
    }

    #[tokio::test]
    async fn what_is_forgotten_is_made_anew_also_when_it_was_being_made() {
        let (features, count, gate) = (Features::default(), Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
        ask(&features, key(1, None), 4, &count).await.expect("features");
        features.forget(&[1; 32]);
        assert_eq!(features.bytes(), 0);
        let (slow, opened) = (features.clone(), Arc::clone(&gate));
        let under_way = tokio::spawn(async move {
            let encode = || async move {
                drop(opened.acquire().await);
                Ok(tensors(4))
            };
            slow.get_or_encode(key(1, None), encode).await
        });
        while features.state().flights.is_empty() {
            tokio::task::yield_now().await;
        }
        features.forget(&[1; 32]);
        gate.add_permits(1);
        under_way.await.expect("no panic").expect("who asked before still gets them");
        assert_eq!(features.bytes(), 0, "a forgotten voice is not kept");
    }
}
