//! The host's side of the services a plugin calls.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use omni_plugin_api::{Device, HostServices, Level, Metric, SeqId};
use serde_json::Value;

use crate::engine::{Jobs, Loading};
use crate::observe::metrics::PluginMetrics;

/// Log lines a second that one model may write; more are counted and told as one line.
const LINES_A_SECOND: u32 = 200;

/// Services of one model: its logs carry its name, its progress goes to its state, its cancellations are its jobs'.
pub struct ModelServices {
    model: String,
    jobs: Arc<Jobs>,
    loading: Loading,
    measures: PluginMetrics,
    valve: Mutex<Valve>,
}

impl ModelServices {
    /// Services for `model`, whose sequences are `jobs` and whose load reports to `loading`.
    pub fn new(model: String, jobs: Arc<Jobs>, loading: Loading) -> Self {
        Self { measures: PluginMetrics::new(&model), model, jobs, loading, valve: Mutex::new(Valve::new()) }
    }
}

impl HostServices for ModelServices {
    fn log(&self, level: Level, message: &str, fields: &Value) {
        let verdict = self.valve.lock().unwrap_or_else(PoisonError::into_inner).pass();
        let Some(suppressed) = verdict else { return };
        let model = self.model.as_str();
        if suppressed > 0 {
            tracing::warn!(model, suppressed, "the plugin logs too much; lines were left out");
        }
        let fields = fields.as_object().filter(|fields| !fields.is_empty()).map(|fields| Value::from(fields.clone()).to_string());
        let fields = fields.as_deref();
        match level {
            Level::Error => tracing::error!(model, fields, "{message}"),
            Level::Warn => tracing::warn!(model, fields, "{message}"),
            Level::Info => tracing::info!(model, fields, "{message}"),
            Level::Debug => tracing::debug!(model, fields, "{message}"),
        }
    }

    fn metric(&self, metric: Metric, name: &str, value: f64) {
        self.measures.record(metric, name, value);
    }

    fn progress(&self, phase: &str, done: u64, total: u64) {
        self.loading.update(phase, done, total);
    }

    fn is_cancelled(&self, seq: Option<SeqId>) -> bool {
        match seq {
            Some(seq) => self.jobs.is_cancelled(seq),
            None => self.loading.is_cancelled(),
        }
    }

    fn device_budget(&self, device: Device) -> u64 {
        match device {
            Device::Cpu => available_memory().unwrap_or(u64::MAX),
            Device::Cuda(_) => u64::MAX,
        }
    }
}

/// Bytes of memory the system could still give.
fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kibibytes * 1024)
}

/// Lets so many lines through a second.
struct Valve {
    since: Instant,
    passed: u32,
    suppressed: u32,
}

impl Valve {
    fn new() -> Self {
        Self { since: Instant::now(), passed: 0, suppressed: 0 }
    }

    /// Whether a line may pass, and how many were held back before it.
    fn pass(&mut self) -> Option<u32> {
        if self.since.elapsed().as_secs() >= 1 {
            let suppressed = self.suppressed;
            *self = Self { passed: 1, ..Self::new() };
            return Some(suppressed);
        }
        if self.passed >= LINES_A_SECOND {
            self.suppressed += 1;
            return None;
        }
        self.passed += 1;
        Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_lines_is_cut_and_counted() {
        let mut valve = Valve::new();
        let passed = (0..1_000).filter(|_| valve.pass().is_some()).count();
        assert_eq!(passed, LINES_A_SECOND as usize);
        valve.since -= std::time::Duration::from_secs(2);
        assert_eq!(valve.pass(), Some(800));
        assert_eq!(valve.pass(), Some(0));
    }
}
