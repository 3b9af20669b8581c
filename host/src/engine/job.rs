//! A request inside the engine: what its stages share of it, and the ring through which its audio leaves.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use omni_plugin_api::{FinishReason, Prompt, SeqId};
use tokio::sync::{mpsc, oneshot};

use super::measures::RequestMeasures;
use super::{Finish, SpeechError};

/// Pieces of audio that wait for a slow reader before its sequence is no longer stepped.
pub const OUTPUT_RING: usize = 8;

/// Chunks on the way into a stage before the stage in front of it pauses the sequence.
pub const LINK_RING: usize = 4;

/// What leaves the last stage.
pub enum Piece {
    /// Interleaved samples.
    Audio(Vec<f32>),
    /// Nothing follows.
    Done(Finish),
}

/// A request on its way through the stages.
pub struct Job {
    /// Its sequence id.
    pub seq: SeqId,
    /// Its prompt.
    pub prompt: Prompt,
    /// The ring towards the caller.
    pub output: mpsc::Sender<Piece>,
    /// Set when the last stage paused because the ring was full.
    pub output_paused: AtomicBool,
    /// Seconds of audio past which a stage is taken to run wild.
    pub longest_s: u64,
    /// One link into each stage; the first is unused.
    pub links: Vec<Link>,
    /// What is measured of it.
    pub measures: RequestMeasures,
    started: Instant,
    ended: AtomicBool,
    failure: Mutex<Option<oneshot::Sender<SpeechError>>>,
    generated: AtomicU64,
    was_cut: AtomicBool,
    emitted_ms: AtomicU64,
    first_audio_ms: AtomicU64,
}

/// Credits of the chunks on the way into a stage.
#[derive(Default)]
pub struct Link {
    /// Chunks sent and not yet used up.
    pub pending: AtomicUsize,
    /// Set when the sender paused because the link was full.
    pub paused: AtomicBool,
}

/// The caller's ends of a job.
pub struct JobEnds {
    /// Audio.
    pub output: mpsc::Receiver<Piece>,
    /// The failure, if there is one.
    pub failure: oneshot::Receiver<SpeechError>,
}

impl Job {
    /// A job for `stages` stages whose audio may last `longest_s` seconds.
    pub fn new(seq: SeqId, prompt: Prompt, stages: usize, longest_s: u64, measures: RequestMeasures) -> (Arc<Self>, JobEnds) {
        let (output, output_end) = mpsc::channel(OUTPUT_RING);
        let (failure, failure_end) = oneshot::channel();
        let job = Self {
            seq,
            prompt,
            longest_s,
            output,
            output_paused: AtomicBool::new(false),
            links: (0..stages).map(|_| Link::default()).collect(),
            measures,
            started: Instant::now(),
            ended: AtomicBool::new(false),
            failure: Mutex::new(Some(failure)),
            generated: AtomicU64::new(0),
            was_cut: AtomicBool::new(false),
            emitted_ms: AtomicU64::new(0),
            first_audio_ms: AtomicU64::new(u64::MAX),
        };
        (Arc::new(job), JobEnds { output: output_end, failure: failure_end })
    }

    /// Whether no stage need work on it any more: it failed, or its caller left.
    pub fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Ends it without a word: the caller left.
    pub fn cancel(&self) {
        self.ended.store(true, Ordering::Release);
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

    /// Notes audio that leaves.
    pub fn note_emitted(&self, milliseconds: u64) {
        let now = self.started.elapsed().as_millis() as u64;
        self.first_audio_ms.fetch_min(now, Ordering::AcqRel);
        self.emitted_ms.fetch_add(milliseconds, Ordering::AcqRel);
    }

    /// Milliseconds of audio a listener still has before it runs dry. Before the first audio: minus the time it has waited.
    pub fn slack_ms(&self) -> i64 {
        let now = self.started.elapsed().as_millis() as u64;
        let first = self.first_audio_ms.load(Ordering::Acquire);
        let listening = now.saturating_sub(first.min(now));
        match first {
            u64::MAX => -(now as i64),
            _ => self.emitted_ms.load(Ordering::Acquire) as i64 - listening as i64,
        }
    }
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

    /// Forgets a job.
    pub fn remove(&self, seq: SeqId) {
        self.map().remove(&seq);
    }

    /// Whether a sequence is gone or about to go.
    pub fn is_cancelled(&self, seq: SeqId) -> bool {
        self.map().get(&seq).is_none_or(|job| job.is_ended())
    }

    /// Fails every job with the same error.
    pub fn fail_all(&self, error: &SpeechError) {
        let jobs = std::mem::take(&mut *self.map());
        for job in jobs.into_values() {
            job.fail(error.clone());
        }
    }
}
