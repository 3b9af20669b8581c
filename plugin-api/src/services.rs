//! What the host does for a plugin.
//!
//! A dynamic library has statics of its own: a `tracing` subscriber, a metrics recorder or a logger that the host installs is not seen
//! inside it. What a plugin wants to say goes through [`Services`].

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{Device, SeqId};

/// Severity of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Something failed.
    Error,
    /// Something is odd.
    Warn,
    /// Something an operator wants to know.
    Info,
    /// Something a developer wants to know.
    Debug,
}

/// How a metric's value is to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Added to a counter.
    Count,
    /// Observed in a histogram.
    Observe,
    /// Set as a gauge.
    Gauge,
}

/// The host's side of the services. Implemented by the host and by test harnesses; callable from any thread.
pub trait HostServices: Send + Sync {
    /// Writes a structured log line; `fields` is a JSON object.
    fn log(&self, level: Level, message: &str, fields: &Value);
    /// Records a value of a metric.
    fn metric(&self, metric: Metric, name: &str, value: f64);
    /// Tells how far a load has come: bytes or steps done of a total (0 when unknown) in a named phase.
    fn progress(&self, phase: &str, done: u64, total: u64);
    /// Whether the sequence was cancelled; `None` asks about the load.
    fn is_cancelled(&self, seq: Option<SeqId>) -> bool;
    /// Bytes of a device that this plugin may use.
    fn device_budget(&self, device: Device) -> u64;
}

/// A handle on the host's services; cheap to clone.
#[derive(Clone)]
pub struct Services(Arc<dyn HostServices>);

impl Services {
    /// Wraps an implementation.
    pub fn new(services: impl HostServices + 'static) -> Self {
        Self(Arc::new(services))
    }

    /// Services that say and do nothing: for tests and tools.
    pub fn silent() -> Self {
        Self::new(Silent)
    }

    /// Logs a line at `level`.
    pub fn log(&self, level: Level, message: &str, fields: Value) {
        self.0.log(level, message, &fields);
    }

    /// Logs for operators.
    pub fn info(&self, message: &str) {
        self.log(Level::Info, message, json!({}));
    }

    /// Logs something odd.
    pub fn warn(&self, message: &str) {
        self.log(Level::Warn, message, json!({}));
    }

    /// Adds to a counter.
    pub fn count(&self, name: &str, value: f64) {
        self.0.metric(Metric::Count, name, value);
    }

    /// Observes a value in a histogram.
    pub fn observe(&self, name: &str, value: f64) {
        self.0.metric(Metric::Observe, name, value);
    }

    /// Reports the progress of a load.
    pub fn progress(&self, phase: &str, done: u64, total: u64) {
        self.0.progress(phase, done, total);
    }

    /// Whether a sequence, or the load, was cancelled.
    pub fn is_cancelled(&self, seq: Option<SeqId>) -> bool {
        self.0.is_cancelled(seq)
    }

    /// Bytes of a device that this plugin may use.
    pub fn device_budget(&self, device: Device) -> u64 {
        self.0.device_budget(device)
    }

    /// The implementation behind the handle.
    pub(crate) fn inner(&self) -> &dyn HostServices {
        &*self.0
    }
}

impl std::fmt::Debug for Services {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Services")
    }
}

struct Silent;

impl HostServices for Silent {
    fn log(&self, _: Level, _: &str, _: &Value) {}
    fn metric(&self, _: Metric, _: &str, _: f64) {}
    fn progress(&self, _: &str, _: u64, _: u64) {}
    fn is_cancelled(&self, _: Option<SeqId>) -> bool {
        false
    }
    fn device_budget(&self, _: Device) -> u64 {
        u64::MAX
    }
}
