//! What plugins measure themselves. A plugin chooses the names, so their number and their letters are bounded here.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use metrics::{Counter, Gauge, Histogram};
use omni_plugin_api::Metric;

use super::catalogue::{PLUGIN_COUNT, PLUGIN_LEVEL, PLUGIN_OBSERVED};

/// Names that one model may measure under.
const MAX_NAMES: usize = 64;
/// Longest name.
const MAX_NAME_LEN: usize = 64;

/// The measures that one model's plugin has made up.
pub struct PluginMetrics {
    model: String,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    by_name: BTreeMap<(Kind, String), Measure>,
    /// Whether a refusal was logged: once is enough.
    refused: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Count,
    Observe,
    Gauge,
}

enum Measure {
    /// With what is not a whole yet.
    Count(Counter, f64),
    Observe(Histogram),
    Gauge(Gauge),
}

impl PluginMetrics {
    /// The measures of a model.
    pub fn new(model: &str) -> Self {
        Self { model: model.to_owned(), known: Mutex::default() }
    }

    /// Records a value. Values that are not finite, and names past the limit, are left out; the first one is logged.
    pub fn record(&self, metric: Metric, name: &str, value: f64) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let kind = match metric {
            Metric::Count => Kind::Count,
            Metric::Observe => Kind::Observe,
            Metric::Gauge => Kind::Gauge,
        };
        let key = (kind, name.to_owned());
        let is_new = !known.by_name.contains_key(&key);
        if !value.is_finite() || (is_new && (known.by_name.len() >= MAX_NAMES || !is_plain(name))) {
            return self.refuse(&mut known);
        }
        known.by_name.entry(key).or_insert_with(|| Measure::new(kind, &self.model, name)).record(value);
    }

    fn refuse(&self, known: &mut Known) {
        if !std::mem::replace(&mut known.refused, true) {
            let model = self.model.as_str();
            tracing::warn!(model, most_names = MAX_NAMES, "the plugin measures too many things, under odd names or not with numbers");
        }
    }
}

impl Measure {
    fn new(kind: Kind, model: &str, name: &str) -> Self {
        match kind {
            Kind::Count => Self::Count(PLUGIN_COUNT.of([model, name]), 0.0),
            Kind::Observe => Self::Observe(PLUGIN_OBSERVED.of([model, name])),
            Kind::Gauge => Self::Gauge(PLUGIN_LEVEL.of([model, name])),
        }
    }

    fn record(&mut self, value: f64) {
        match self {
            Self::Count(counter, rest) => {
                // Counters are whole numbers here: fractions wait until they make one. A counter does not fall.
                *rest += value.max(0.0);
                counter.increment(*rest as u64);
                *rest = rest.fract();
            }
            Self::Observe(histogram) => histogram.record(value),
            Self::Gauge(gauge) => gauge.set(value),
        }
    }
}

fn is_plain(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-/".contains(&byte);
    (1..=MAX_NAME_LEN).contains(&name.len()) && name.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use metrics_exporter_prometheus::PrometheusBuilder;

    #[test]
    fn a_plugin_can_measure_under_so_many_plain_names_only() {
        let recorder = PrometheusBuilder::new().build_recorder();
        metrics::with_local_recorder(&recorder, || {
            let measures = PluginMetrics::new("m");
            for _ in 0..4 {
                measures.record(Metric::Count, "frames", 0.75);
            }
            measures.record(Metric::Count, "frames", -5.0);
            measures.record(Metric::Count, "no spaces", 1.0);
            measures.record(Metric::Observe, "loss", f64::NAN);
            for number in 0..200 {
                measures.record(Metric::Gauge, &format!("level_{number}"), 1.0);
            }
        });
        let page = recorder.handle().render();
        assert!(page.contains("omni_host:plugin_count_total{model_name=\"m\",name=\"frames\"} 3\n"), "{page}");
        assert!(!page.contains("no spaces") && !page.contains("loss"), "{page}");
        assert_eq!(page.lines().filter(|line| line.contains("name=\"level_")).count(), MAX_NAMES - 1);
    }
}
