//! A request inside the engine: what its stages share of it, and the ring through which its audio leaves.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use omni_plugin_api::{Extent, FinishReason, Prompt, SeqId};
use tokio::sync::{mpsc, oneshot};

use super::admission::Place;
use super::clock::Clock;
use super::flow::{Fate, Link, Room};
use super::measures::RequestMeasures;
use super::replica::Replica;
use super::{Finish, SpeechError};

/// Pieces of audio that wait for a slow reader before its sequence is no longer stepped.
pub const OUTPUT_RING: Room = Room { chunks: 8, units: 0 };

/// How soon the first audio of a listener is due, and the first of someone who waits for all of it.
const FIRST_AUDIO: Duration = Duration::from_millis(100);
const WHOLE_AUDIO: Duration = Duration::from_secs(1);

/// Marks a time that has not come.
const NEVER: u64 = u64::MAX;

/// What leaves the last stage.
pub enum Piece {
    /// Interleaved samples.
    Audio(Vec<f32>),
    /// Nothing follows.
    Done(Finish),
}

/// How the audio of a request is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pacing {
    /// Nobody listens before all of it is made.
    pub is_whole: bool,
    /// Units of the first chunk, where a deploy file leaves it open; 0 asks for none that is smaller than the others.
    pub first_units: Option<usize>,
}

/// What a job is made of.
pub struct JobParts {
    /// Its sequence id.
    pub seq: SeqId,
    /// Its prompt.
    pub prompt: Prompt,
    /// What it takes of a key-value cache.
    pub extent: Extent,
    /// How its audio is wanted.
    pub pacing: Pacing,
    /// Stages it goes through.
    pub stages: usize,
    /// Seconds of audio past which a stage is taken to run wild.
    pub longest_s: u64,
    /// When it must have ended.
    pub deadline: Option<Duration>,
    /// The place it was let in at.
    pub place: Weak<Place>,
    /// The engine's time.
    pub clock: Clock,
    /// What is measured of it.
    pub measures: RequestMeasures,
}

/// A request on its way through the stages.
pub struct Job {
    /// Its sequence id.
    pub seq: SeqId,
    /// Its prompt.
    pub prompt: Prompt,
    /// What it takes of a key-value cache.
    pub extent: Extent,
    /// How its audio is wanted.
    pub pacing: Pacing,
    /// Seconds of audio past which a stage is taken to run wild.
    pub longest_s: u64,
    /// When it must have ended.
    pub deadline: Option<Duration>,
    /// The place it was let in at.
    pub place: Weak<Place>,
    /// One link into each stage; the first is unused.
    pub links: Vec<Link>,
    /// What is measured of it.
    pub measures: RequestMeasures,
    /// The link to the caller.
    pub output: Link,
    /// The replica of each stage that works on it, once one was chosen.
    pub routes: Vec<OnceLock<Arc<Replica>>>,
    /// Whether each stage is done with it.
    pub passed: Vec<Fate>,
    ring: mpsc::UnboundedSender<Piece>,
    clock: Clock,
    started: Duration,
    fate: Fate,
    failure: Mutex<Option<oneshot::Sender<SpeechError>>>,
    generated: AtomicU64,
    was_cut: AtomicBool,
    /// Microseconds of audio that left.
    emitted_us: AtomicU64,
    first_audio_us: AtomicU64,
    /// Since when its reader has taken nothing although something was there.
    stalled_us: AtomicU64,
}

/// The caller's ends of a job.
pub struct JobEnds {
    /// Audio.
    pub output: mpsc::UnboundedReceiver<Piece>,
    /// The failure, if there is one.
    pub failure: oneshot::Receiver<SpeechError>,
}

impl Job {
    /// A job that begins now.
    pub fn new(parts: JobParts) -> (Arc<Self>, JobEnds) {
        let JobParts { seq, prompt, extent, pacing, stages, longest_s, deadline, place, clock, measures } = parts;
        // Bounded by the link beside it: a sequence is not stepped while that is full.
        let (ring, output_end) = mpsc::unbounded_channel();
        let (failure, failure_end) = oneshot::channel();
        let job = Self {
            seq,
            prompt,
            extent,
            pacing,
            longest_s,
            deadline,
            place,
            links: (0..stages).map(|_| Link::default()).collect(),
            output: Link::default(),
            measures,
            routes: (0..stages).map(|_| OnceLock::new()).collect(),
            passed: (0..stages).map(|_| Fate::default()).collect(),
            ring,
            started: clock.now(),
            clock,
            fate: Fate::default(),
            failure: Mutex::new(Some(failure)),
            generated: AtomicU64::new(0),
            was_cut: AtomicBool::new(false),
            emitted_us: AtomicU64::new(0),
            first_audio_us: AtomicU64::new(NEVER),
            stalled_us: AtomicU64::new(NEVER),
        };
        (Arc::new(job), JobEnds { output: output_end, failure: failure_end })
    }

    /// Whether no stage need work on it any more: it failed, or its caller left.
    pub fn is_ended(&self) -> bool {
        self.fate.is_ended()
    }

    /// Ends it without a word: the caller left.
    pub fn cancel(&self) {
        self.fate.end();
    }

    /// Ends it with an error. The first failure is the one the caller sees.
    pub fn fail(&self, error: SpeechError) {
        self.cancel();
        let sender = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(sender) = sender {
            // The caller may have left at the same moment; then nobody is there to be told.
            let _ = sender.send(error);
        }
    }

    /// Hands a piece of `micros` of audio to the caller.
    pub fn emit(&self, samples: Vec<f32>, micros: u64) {
        self.first_audio_us.fetch_min(micros_of(self.clock.now()), Ordering::AcqRel);
        self.emitted_us.fetch_add(micros, Ordering::AcqRel);
        self.output.put(0);
        self.send(Piece::Audio(samples));
    }

    /// Tells the caller that nothing follows.
    pub fn done(&self) {
        self.send(Piece::Done(self.finish()));
    }

    fn send(&self, piece: Piece) {
        if self.ring.send(piece).is_err() {
            self.cancel();
        }
    }

    /// Whether the caller has room for more; notes since when it has not.
    pub fn has_room(&self) -> bool {
        if self.output.has_room(OUTPUT_RING) {
            return true;
        }
        let now = micros_of(self.clock.now());
        // Only the first of several looks counts.
        let _ = self.stalled_us.compare_exchange(NEVER, now, Ordering::AcqRel, Ordering::Acquire);
        false
    }

    /// The caller took a piece of audio. Whether the last stage is to be woken.
    #[must_use]
    pub fn took(&self) -> bool {
        self.stalled_us.store(NEVER, Ordering::Release);
        self.output.take(1, 0)
    }

    /// How long its caller has left a full ring alone.
    pub fn stalled_for(&self, now: Duration) -> Option<Duration> {
        let since = self.stalled_us.load(Ordering::Acquire);
        (since != NEVER).then(|| now.saturating_sub(Duration::from_micros(since)))
    }

    /// Notes how a stage ended it: usage reports the most that any stage generated, and a cut by any stage is a cut.
    pub fn note_ended(&self, reason: FinishReason, generated: u64) {
        self.generated.fetch_max(generated, Ordering::AcqRel);
        self.was_cut.fetch_or(reason == FinishReason::Length, Ordering::AcqRel);
    }

    /// How it ended, as far as its stages have said.
    pub fn finish(&self) -> Finish {
        let reason = if self.was_cut.load(Ordering::Acquire) { FinishReason::Length } else { FinishReason::Stop };
        Finish { reason, generated: self.generated.load(Ordering::Acquire) }
    }

    /// Audio that left so far.
    pub fn emitted(&self) -> Duration {
        Duration::from_micros(self.emitted_us.load(Ordering::Acquire))
    }

    /// When the next audio is due: before the first a little after the start, then when the listener has heard all there is.
    pub fn due(&self) -> Due {
        let first = self.first_audio_us.load(Ordering::Acquire);
        let budget = if self.pacing.is_whole { WHOLE_AUDIO } else { FIRST_AUDIO };
        let is_heard = first != NEVER && !self.pacing.is_whole;
        let from = if is_heard { Duration::from_micros(first) } else { self.started + budget };
        Due { at: from + self.emitted(), is_heard }
    }
}

/// When the next audio of a request is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// When.
    pub at: Duration,
    /// Whether somebody hears it already; if not, it is the first audio, or nobody listens before the end.
    pub is_heard: bool,
}

impl Due {
    /// Milliseconds of audio that a listener has not heard yet, negative once it ran dry; none where nobody hears it.
    pub fn slack_ms(self, now: Duration) -> Option<f64> {
        let micros = |time: Duration| i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
        self.is_heard.then(|| micros(self.at).saturating_sub(micros(now)) as f64 / 1000.0)
    }
}

fn micros_of(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(NEVER - 1)
}

/// The jobs of a model that have not ended, so that a plugin can ask about one and a fault can fail all.
#[derive(Default)]
pub struct Jobs(Mutex<BTreeMap<SeqId, Arc<Job>>>);

impl Jobs {
    fn map(&self) -> std::sync::MutexGuard<'_, BTreeMap<SeqId, Arc<Job>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a job.
    pub fn insert(&self, job: Arc<Job>) {
        self.map().insert(job.seq, job);
    }

    /// Forgets a job, and gives it back if it was there.
    pub fn remove(&self, seq: SeqId) -> Option<Arc<Job>> {
        self.map().remove(&seq)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.map().len()
    }

    /// Whether a sequence is gone or about to go.
    pub fn is_cancelled(&self, seq: SeqId) -> bool {
        self.map().get(&seq).is_none_or(|job| job.is_ended())
    }

    /// The jobs of which `test` holds.
    pub fn filter(&self, test: impl Fn(&Job) -> bool) -> Vec<Arc<Job>> {
        self.map().values().filter(|job| test(job)).cloned().collect()
    }

    /// Takes all of them.
    pub fn take_all(&self) -> Vec<Arc<Job>> {
        std::mem::take(&mut *self.map()).into_values().collect()
    }

    /// Fails every job with the same error.
    pub fn fail_all(&self, error: &SpeechError) {
        for job in self.take_all() {
            job.fail(error.clone());
        }
    }
}
