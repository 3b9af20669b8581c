//! What the engine measures, as the moments in which it happens. Names, labels and buckets are the catalogue's.
//!
//! A request's figures are kept with it and recorded when it ends; a stage's handles are made once, so that a step costs a few atomic
//! additions.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use metrics::{Counter, Gauge, Histogram};
use omni_plugin_api::{FinishReason, Usage};
use tracing::Span;

use super::{Finish, SpeechError};
use crate::observe::metrics::catalogue as measure;
use crate::observe::trace;

/// Longest gap within a request that still counts as continuous.
const CONTINUOUS: Duration = Duration::from_millis(100);
const CONTINUOUS_LABEL: &str = "100";

/// Notes that a load ended.
pub fn load_ended(model: &str, took: Duration, is_ready: bool) {
    measure::LOADS.of([if is_ready { "ready" } else { "failed" }]).increment(1);
    measure::LOAD_SECONDS.of([model]).set(took.as_secs_f64());
}

/// Notes that a model was given up.
pub fn given_up(model: &str) {
    measure::UNHEALTHY.of([model]).increment(1);
}

/// The measures of a model.
#[derive(Clone)]
pub struct ModelMeasures(Arc<Model>);

struct Model {
    id: String,
    /// The stage that audio leaves.
    last_stage: String,
    channels: u64,
    sample_rate_hz: f64,
}

impl ModelMeasures {
    /// The measures of the model of this id, of whose `stages` stages the last one gives audio of this shape.
    pub fn new(id: &str, stages: usize, sample_rate_hz: u32, channels: u16) -> Self {
        let last_stage = stages.saturating_sub(1).to_string();
        let model =
            Model { id: id.to_owned(), last_stage, channels: u64::from(channels.max(1)), sample_rate_hz: f64::from(sample_rate_hz) };
        model.show();
        Self(Arc::new(model))
    }

    /// A request that is prepared, and begun now.
    pub fn begin(&self, arrival: Arrival, usage: Usage, warnings: usize) -> RequestMeasures {
        let id = self.0.id.as_str();
        measure::PROMPT_TOKENS.of([id]).increment(usage.text_tokens + usage.audio_tokens);
        measure::TEXT_WARNINGS.of([id]).increment(warnings as u64);
        let Arrival { at, request, admission } = arrival;
        let course = Mutex::new(Course { admission: Some(admission), ..Course::default() });
        RequestMeasures { model: Arc::clone(&self.0), arrived: at, request, course }
    }
}

/// A request that arrives now, within the span that is current.
pub struct Arrival {
    at: Instant,
    request: Span,
    admission: Span,
}

impl Arrival {
    /// It arrives.
    pub fn now() -> Self {
        Self { at: Instant::now(), request: Span::current(), admission: trace::admission() }
    }
}

impl Model {
    /// Puts what is counted on the page before it happens: a rate is measured from zero.
    fn show(&self) {
        let id = self.id.as_str();
        for reason in ["stop", "length"] {
            measure::SUCCEEDED.of([id, reason]).increment(0);
        }
        for reason in ["stage_error", "timed_out", "client_disconnect", "unavailable"] {
            measure::FAILED.of([id, reason]).increment(0);
        }
        measure::PROMPT_TOKENS.of([id]).increment(0);
        measure::GENERATION_TOKENS.of([id]).increment(0);
        measure::TEXT_WARNINGS.of([id]).increment(0);
        measure::UNHEALTHY.of([id]).increment(0);
    }
}

/// The measures of a request. One that is dropped without an end was left by its client.
pub struct RequestMeasures {
    model: Arc<Model>,
    arrived: Instant,
    /// The span it belongs to.
    request: Span,
    course: Mutex<Course>,
}

/// How far a request has come, and what a listener has heard of it.
#[derive(Default)]
struct Course {
    /// Open until it has its slot.
    admission: Option<Span>,
    first: Option<Instant>,
    frames: u64,
    /// Longest time the audio came later than it was needed.
    gap: Duration,
    replica: usize,
    is_over: bool,
}

impl RequestMeasures {
    fn course(&self) -> std::sync::MutexGuard<'_, Course> {
        self.course.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It has its slot in the first stage.
    pub fn admitted(&self) {
        self.course().admission = None;
        measure::QUEUE_WAIT.of([&self.model.id]).record(self.arrived.elapsed());
    }

    /// Interleaved samples leave replica `replica` of the last stage.
    pub fn emitted(&self, replica: usize, samples: usize) {
        let now = Instant::now();
        let mut course = self.course();
        course.replica = replica;
        let first = *course.first.get_or_insert(now);
        let in_hand = Duration::from_secs_f64(course.frames as f64 / self.model.sample_rate_hz.max(1.0));
        course.gap = course.gap.max((now - first).saturating_sub(in_hand));
        course.frames += samples as u64 / self.model.channels;
    }

    /// It was spoken.
    pub fn finished(&self, finish: Finish) {
        let Some(course) = self.end() else { return };
        let id = self.model.id.as_str();
        measure::SUCCEEDED.of([id, reason(finish.reason)]).increment(1);
        measure::GENERATION_TOKENS.of([id]).increment(finish.generated);
        measure::LATENCY.of([id]).record(self.arrived.elapsed());
        self.record(&course);
    }

    /// It failed.
    pub fn failed(&self, error: &SpeechError) {
        let reason = match error {
            SpeechError::Failed { .. } | SpeechError::Incomplete { .. } => "stage_error",
            SpeechError::TimedOut { .. } => "timed_out",
            SpeechError::Unavailable { .. } | SpeechError::Overloaded { .. } => "unavailable",
            // Its own fault: no failure of the server's.
            SpeechError::Invalid { .. } => return drop(self.end()),
        };
        if self.end().is_some() {
            measure::FAILED.of([&self.model.id, reason]).increment(1);
        }
    }

    /// Its client holds it no more. Does nothing after an end.
    pub fn left(&self) {
        if self.end().is_some() {
            measure::FAILED.of([&self.model.id, "client_disconnect"]).increment(1);
        }
    }

    /// Ends it once.
    fn end(&self) -> Option<Course> {
        let mut course = self.course();
        if course.is_over {
            return None;
        }
        Some(std::mem::replace(&mut *course, Course { is_over: true, ..Course::default() }))
    }

    fn record(&self, course: &Course) {
        let replica = course.replica.to_string();
        let place = [self.model.id.as_str(), self.model.last_stage.as_str(), replica.as_str()];
        let Some(first) = course.first else {
            let [model, stage, replica] = place;
            return measure::NO_AUDIO.of([model, stage, replica, "no_audio"]).increment(1);
        };
        let seconds = course.frames as f64 / self.model.sample_rate_hz.max(1.0);
        measure::FIRST_AUDIO.of(place).record(first - self.arrived);
        measure::AUDIO_SECONDS.of(place).record(seconds);
        measure::REAL_TIME_FACTOR.of(place).record(self.arrived.elapsed().as_secs_f64() / seconds.max(1e-3));
        measure::AUDIO_FRAMES.of(place).increment(course.frames);
        measure::UNDERRUN.of(place).record(course.gap);
        let [model, stage, replica] = place;
        let continuous = measure::CONTINUOUS.of([model, stage, replica, CONTINUOUS_LABEL]);
        continuous.increment(u64::from(course.gap <= CONTINUOUS));
    }
}

impl Drop for RequestMeasures {
    fn drop(&mut self) {
        self.left();
    }
}

fn reason(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::Stop => "stop",
        FinishReason::Length => "length",
    }
}

/// The measures of one stage replica.
pub struct StageMeasures {
    model: String,
    stage: String,
    name: String,
    replica: String,
    running: Gauge,
    waiting: Gauge,
    waiting_in_stage: Gauge,
    step_time: Histogram,
    batch: Histogram,
    slack: Histogram,
    chunk: Histogram,
    first_output: Histogram,
    queue_time: Histogram,
    inference: Histogram,
    stage_time: Histogram,
    tokens: Counter,
    stopped: Counter,
    cut: Counter,
    cancelled: Counter,
    faults: Counter,
}

impl StageMeasures {
    /// The measures of replica `replica` of stage `index`, called `name`, of a model.
    pub fn new(model: &str, index: usize, name: &str, replica: usize) -> Self {
        let (stage, replica) = (index.to_string(), replica.to_string());
        let place = [model, stage.as_str(), replica.as_str()];
        let succeeded = |reason| measure::STAGE_SUCCEEDED.of([model, &stage, &replica, reason]);
        Self {
            running: measure::STAGE_RUNNING.of(place),
            waiting: measure::STAGE_QUEUE.of(place),
            waiting_in_stage: measure::STAGE_WAITING.of([model, &stage]),
            step_time: measure::STEP_TIME.of(place),
            batch: measure::STEP_BATCH.of(place),
            slack: measure::PLAYBACK_SLACK.of(place),
            chunk: measure::CHUNK_SECONDS.of(place),
            first_output: measure::STAGE_FIRST.of(place),
            queue_time: measure::STAGE_QUEUE_TIME.of(place),
            inference: measure::STAGE_INFERENCE.of(place),
            stage_time: measure::STAGE_TIME.of([model, &stage, name]),
            tokens: measure::STAGE_TOKENS.of(place),
            stopped: succeeded(reason(FinishReason::Stop)),
            cut: succeeded(reason(FinishReason::Length)),
            cancelled: measure::STAGE_CANCELLED.of(place),
            faults: measure::PLUGIN_FAULTS.of(place),
            model: model.to_owned(),
            name: name.to_owned(),
            stage,
            replica,
        }
    }

    /// So many sequences hold a slot, so many wait for one.
    pub fn holds(&self, running: usize, waiting: usize) {
        self.running.set(running as f64);
        self.waiting.set(waiting as f64);
        self.waiting_in_stage.set(waiting as f64);
    }

    /// A step of `batch` sequences took so long.
    pub fn stepped(&self, took: Duration, batch: usize) {
        self.step_time.record(took);
        self.batch.record(batch as f64);
    }

    /// A sequence that is heard already is to be stepped with so much in hand.
    pub fn slack(&self, milliseconds: f64) {
        self.slack.record(milliseconds / 1000.0);
    }

    /// So much audio leaves at once.
    pub fn chunk(&self, seconds: f64) {
        self.chunk.record(seconds);
    }

    /// A sequence was dropped because it had ended elsewhere.
    pub fn cancelled(&self) {
        self.cancelled.increment(1);
    }

    /// The stage as a whole failed.
    pub fn fault(&self) {
        self.faults.increment(1);
    }
}

/// When what happened to a sequence in a stage.
#[derive(Debug)]
pub struct SlotClock {
    arrived: Instant,
    admitted: Option<Instant>,
    has_output: bool,
    /// From its slot on.
    span: Option<Span>,
}

impl SlotClock {
    /// A sequence that arrives now.
    pub fn start() -> Self {
        Self { arrived: Instant::now(), admitted: None, has_output: false, span: None }
    }

    /// It gets its slot.
    pub fn admitted(&mut self, stage: &StageMeasures, request: &RequestMeasures) {
        stage.queue_time.record(self.arrived.elapsed());
        self.admitted = Some(Instant::now());
        self.span = Some(trace::stage(&request.request, &stage.model, &stage.stage, &stage.name, &stage.replica));
    }

    /// Something of it leaves.
    pub fn output(&mut self, stage: &StageMeasures) {
        if !std::mem::replace(&mut self.has_output, true) {
            stage.first_output.record(self.arrived.elapsed());
        }
    }

    /// The stage has finished it.
    pub fn finished(&mut self, stage: &StageMeasures, reason: FinishReason, generated: u64) {
        if let Some(span) = self.span.take() {
            span.record("units", i64::try_from(generated).unwrap_or(i64::MAX));
        }
        let inside = self.admitted.map_or(Duration::ZERO, |admitted| admitted.elapsed());
        stage.inference.record(inside);
        stage.stage_time.record(inside);
        stage.tokens.increment(generated);
        match reason {
            FinishReason::Stop => stage.stopped.increment(1),
            FinishReason::Length => stage.cut.increment(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use metrics_exporter_prometheus::PrometheusBuilder;

    fn page_of(act: impl FnOnce(&ModelMeasures)) -> String {
        let recorder = PrometheusBuilder::new().build_recorder();
        metrics::with_local_recorder(&recorder, || act(&ModelMeasures::new("m", 2, 1000, 2)));
        recorder.handle().render()
    }

    fn usage() -> Usage {
        Usage { text_tokens: 3, audio_tokens: 4 }
    }

    #[test]
    fn a_request_that_was_spoken_is_counted_once_with_its_audio() {
        let page = page_of(|model| {
            let request = model.begin(Arrival::now(), usage(), 1);
            request.admitted();
            request.emitted(3, 4000);
            request.finished(Finish { reason: FinishReason::Length, generated: 9 });
            request.failed(&SpeechError::failed("too late"));
        });
        for line in [
            "vllm_omni:requests_success_total{model_name=\"m\",finished_reason=\"length\"} 1\n",
            "vllm_omni:requests_failed_total{model_name=\"m\",reason=\"stage_error\"} 0\n",
            "vllm_omni:requests_failed_total{model_name=\"m\",reason=\"client_disconnect\"} 0\n",
            "vllm_omni:prompt_tokens_total{model_name=\"m\"} 7\n",
            "vllm_omni:generation_tokens_total{model_name=\"m\"} 9\n",
            "vllm_omni:audio_frames_total{model_name=\"m\",stage=\"1\",replica=\"3\"} 2000\n",
            "vllm_omni:audio_duration_s_sum{model_name=\"m\",stage=\"1\",replica=\"3\"} 2\n",
            "vllm_omni:audio_continuity_ok_total{model_name=\"m\",stage=\"1\",replica=\"3\",threshold_ms=\"100\"} 1\n",
            "omni_host:text_warnings_total{model_name=\"m\"} 1\n",
        ] {
            assert!(page.contains(line), "{line} is not on\n{page}");
        }
    }

    #[test]
    fn how_a_request_ended_is_told_apart() {
        let page = page_of(|model| {
            drop(model.begin(Arrival::now(), usage(), 0));
            model.begin(Arrival::now(), usage(), 0).failed(&SpeechError::failed(""));
            model.begin(Arrival::now(), usage(), 0).failed(&SpeechError::Invalid { field: None, message: String::new() });
            model.begin(Arrival::now(), usage(), 0).finished(Finish { reason: FinishReason::Stop, generated: 0 });
        });
        for line in [
            "vllm_omni:requests_failed_total{model_name=\"m\",reason=\"client_disconnect\"} 1\n",
            "vllm_omni:requests_failed_total{model_name=\"m\",reason=\"stage_error\"} 1\n",
            "vllm_omni:requests_failed_total{model_name=\"m\",reason=\"unavailable\"} 0\n",
            "vllm_omni:audio_skipped_requests_total{model_name=\"m\",stage=\"1\",replica=\"0\",reason=\"no_audio\"} 1\n",
        ] {
            assert!(page.contains(line), "{line} is not on\n{page}");
        }
    }

    #[test]
    fn a_gap_is_measured_from_the_first_audio_on() {
        let model = ModelMeasures::new("m", 1, 1000, 1);
        let request = model.begin(Arrival::now(), usage(), 0);
        request.emitted(0, 100);
        let mut course = request.course();
        course.first = course.first.map(|first| first - Duration::from_millis(350));
        drop(course);
        request.emitted(0, 1000);
        request.emitted(0, 1000);
        let gap = request.course().gap;
        assert!((Duration::from_millis(250)..Duration::from_secs(60)).contains(&gap), "{gap:?}");
    }
}
