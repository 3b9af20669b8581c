//! How far the loading of models has come: bars on a terminal, a log line a phase elsewhere.

use std::collections::HashMap;
use std::io::{self, IsTerminal};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

/// Told by the engine while models load; from any thread.
pub trait LoadProgress: Send + Sync {
    /// `done` of `total` units of a phase are done; a total of 0 is unknown.
    fn update(&self, model: &str, phase: &str, done: u64, total: u64);
    /// The model is ready, or will not be, and why.
    fn done(&self, model: &str, outcome: Result<(), &str>);
}

/// The progress display that suits standard error.
pub fn progress() -> Arc<dyn LoadProgress> {
    if io::stderr().is_terminal() { Arc::new(Bars::default()) } else { Arc::new(Lines::default()) }
}

/// Shows nothing.
#[derive(Debug, Default)]
pub struct Silent;

impl LoadProgress for Silent {
    fn update(&self, _: &str, _: &str, _: u64, _: u64) {}
    fn done(&self, _: &str, _: Result<(), &str>) {}
}

/// Every bar of the process, so that log lines can be written above them.
static DRAWN: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// Takes the bars away, does `write`, and draws them again.
pub(super) fn above_bars<T>(write: impl FnOnce() -> T) -> T {
    DRAWN.suspend(write)
}

/// One bar a model.
#[derive(Default)]
struct Bars {
    bars: Mutex<HashMap<String, ProgressBar>>,
}

impl Bars {
    fn bar(&self, model: &str) -> ProgressBar {
        let mut bars = self.bars.lock().unwrap_or_else(PoisonError::into_inner);
        bars.entry(model.to_owned()).or_insert_with(|| new_bar(model)).clone()
    }
}

fn new_bar(model: &str) -> ProgressBar {
    let bar = DRAWN.add(ProgressBar::no_length().with_style(style(0)).with_prefix(model.to_owned()));
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}

fn style(total: u64) -> ProgressStyle {
    let template = if total == 0 { "{spinner} {prefix} {msg}" } else { "{spinner} {prefix} {msg} [{bar:30}] {percent}%" };
    // The templates are constants; should one not parse, the default style shows the same numbers.
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

impl LoadProgress for Bars {
    fn update(&self, model: &str, phase: &str, done: u64, total: u64) {
        let bar = self.bar(model);
        bar.set_style(style(total));
        bar.set_message(phase.to_owned());
        bar.set_length(total.max(1));
        bar.set_position(done);
    }

    fn done(&self, model: &str, outcome: Result<(), &str>) {
        self.bar(model).finish_and_clear();
        log_outcome(model, outcome);
    }
}

/// One log line at the start of each phase of each model.
#[derive(Default)]
struct Lines {
    phases: Mutex<HashMap<String, String>>,
}

impl Lines {
    /// Whether the phase is another than the one last seen.
    fn is_new(&self, model: &str, phase: &str) -> bool {
        let mut phases = self.phases.lock().unwrap_or_else(PoisonError::into_inner);
        phases.insert(model.to_owned(), phase.to_owned()).is_none_or(|last| last != phase)
    }
}

impl LoadProgress for Lines {
    fn update(&self, model: &str, phase: &str, done: u64, total: u64) {
        if self.is_new(model, phase) {
            tracing::info!(model, phase, done, total, "loading");
        }
    }

    fn done(&self, model: &str, outcome: Result<(), &str>) {
        log_outcome(model, outcome);
    }
}

fn log_outcome(model: &str, outcome: Result<(), &str>) {
    match outcome {
        Ok(()) => tracing::info!(model, "model ready"),
        Err(reason) => tracing::error!(model, reason, "model not loaded"),
    }
}

#[cfg(test)]
mod tests {
    use super::Lines;

    #[test]
    fn a_phase_is_new_once() {
        let lines = Lines::default();
        let seen = [("a", "read"), ("a", "read"), ("b", "read"), ("a", "warm up")].map(|(model, phase)| lines.is_new(model, phase));
        assert_eq!(seen, [true, false, true, true]);
    }
}
