//! One log line a request, whatever becomes of it.

use std::time::{Duration, Instant};

use tracing::Span;

use super::form::Delivery;
use super::validate::Accepted;
use crate::http::access::Tally;
use crate::observe;
use crate::observe::metrics::catalogue::{STREAM_ABORTED, STREAM_COMPLETED};

/// What is known of a request; logged when it is dropped, and then its client has left unless something else was said before.
pub struct Record {
    span: Span,
    model: String,
    voice: Option<String>,
    format: &'static str,
    delivery: &'static str,
    chars: usize,
    seed: u64,
    started: Instant,
    first_audio: Option<Duration>,
    samples: usize,
    /// Samples a second, of all channels together.
    samples_a_second: u64,
    tally: Tally,
    outcome: Outcome,
}

/// What became of a request.
enum Outcome {
    Left,
    Done,
    Failed(String),
}

impl Record {
    /// The record of a request that begins now. It is logged in the current span, wherever it is dropped.
    pub fn new(accepted: &Accepted) -> Self {
        if let Some(text) = observe::shown_text(&accepted.request.input) {
            tracing::info!(text, "asked to speak");
        }
        Self {
            span: Span::current(),
            model: accepted.served.id.clone(),
            voice: accepted.voice.name(),
            format: accepted.wanted.format.name(),
            delivery: accepted.delivery.name(),
            chars: accepted.request.input.chars().count(),
            seed: accepted.request.seed,
            started: Instant::now(),
            first_audio: None,
            samples: 0,
            samples_a_second: u64::from(accepted.served.model.sample_rate_hz) * u64::from(accepted.served.info.channels),
            tally: Tally::current(),
            outcome: Outcome::Left,
        }
    }

    /// Logs what could not be spoken.
    pub fn warned(&self, warnings: &[String]) {
        for warning in warnings {
            self.span.in_scope(|| tracing::warn!(model = self.model, warning, "not all of the text was spoken"));
        }
    }

    /// More samples have been made.
    pub fn made(&mut self, samples: usize) {
        self.first_audio.get_or_insert(self.started.elapsed());
        self.samples += samples;
        self.tally.audio(self.duration(samples));
    }

    fn duration(&self, samples: usize) -> Duration {
        Duration::from_micros((samples as u64).saturating_mul(1_000_000) / self.samples_a_second.max(1))
    }

    /// All has been made.
    pub fn done(&mut self) {
        self.outcome = Outcome::Done;
    }

    /// It failed.
    pub fn failed(&mut self, reason: &str) {
        self.outcome = Outcome::Failed(reason.to_owned());
    }

    /// Counts how a streamed answer ended.
    fn count(&self) {
        let model = self.model.as_str();
        match &self.outcome {
            _ if self.delivery == Delivery::Whole.name() => {}
            Outcome::Done => STREAM_COMPLETED.of([model]).increment(1),
            Outcome::Left => STREAM_ABORTED.of([model, "closed"]).increment(1),
            Outcome::Failed(_) => STREAM_ABORTED.of([model, "error"]).increment(1),
        }
    }

    fn log(&self) {
        let (outcome, reason) = match &self.outcome {
            Outcome::Left if std::thread::panicking() => ("panicked", None),
            Outcome::Left => ("client left", None),
            Outcome::Done => ("done", None),
            Outcome::Failed(reason) => ("failed", Some(reason.as_str())),
        };
        tracing::info!(
            model = self.model,
            voice = self.voice,
            format = self.format,
            delivery = self.delivery,
            chars = self.chars,
            seed = self.seed,
            samples = self.samples,
            audio_s = self.duration(self.samples).as_secs_f64(),
            first_audio_ms = self.first_audio.map(|time| time.as_millis() as u64),
            total_ms = self.started.elapsed().as_millis() as u64,
            reason,
            outcome,
            "speech",
        );
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        self.count();
        self.span.in_scope(|| self.log());
    }
}
