//! Metrics in Prometheus' text format: recorded where things are decided, rendered when somebody asks.

mod cache;
pub mod catalogue;
mod family;
mod plugin;
mod process;

use std::sync::OnceLock;
use std::time::Duration;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use omni_plugin_api::INTERFACE_VERSION;

use self::catalogue::{ALL, BUILD, CONNECTIONS_CUT, CUTS, REFUSALS, REFUSED};
pub use cache::CacheMetrics;
pub use family::{Counts, Family, Levels, Listed, Spreads};
pub use plugin::PluginMetrics;

/// How often what was observed is put into buckets, so that it does not pile up while nobody asks for the page.
const UPKEEP: Duration = Duration::from_secs(5);

static PAGE: OnceLock<PrometheusHandle> = OnceLock::new();

/// Starts recording; before it, and without it, whatever is recorded is forgotten. A second call does nothing.
///
/// # Errors
/// When another recorder is in place already.
pub fn start() -> Result<(), String> {
    if PAGE.get().is_some() {
        return Ok(());
    }
    let recorder = recorder()?;
    let handle = recorder.handle();
    metrics::set_global_recorder(recorder).map_err(|error| format!("metrics cannot be recorded: {error}"))?;
    ALL.iter().for_each(|family| family.describe());
    process::begin();
    // A rate is measured from zero: what may never happen is on the page before it does.
    REFUSALS.iter().for_each(|reason| REFUSED.of([reason]).increment(0));
    CUTS.iter().for_each(|reason| CONNECTIONS_CUT.of([reason]).increment(0));
    BUILD.of([env!("CARGO_PKG_VERSION"), INTERFACE_VERSION]).set(1.0);
    // Only a race of two starts could have set it, and the loser's recorder was refused above.
    let _ = PAGE.set(handle);
    Ok(())
}

fn recorder() -> Result<PrometheusRecorder, String> {
    let mut builder = PrometheusBuilder::new();
    for family in ALL.iter().filter(|family| !family.buckets().is_empty()) {
        let buckets = builder.set_buckets_for_metric(Matcher::Full(family.name().to_owned()), family.buckets());
        builder = buckets.map_err(|error| format!("{}: {error}", family.name()))?;
    }
    Ok(builder.build_recorder())
}

/// The page, if metrics are recorded.
pub fn page() -> Option<String> {
    let handle = PAGE.get()?;
    process::measure();
    Some(handle.render())
}

/// Keeps the recorder's memory small; never completes.
pub async fn upkeep() {
    loop {
        tokio::time::sleep(UPKEEP).await;
        if let Some(handle) = PAGE.get() {
            handle.run_upkeep();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::catalogue::{FIRST_AUDIO, SUCCEEDED};
    use super::*;

    #[test]
    fn names_labels_and_buckets_are_on_the_page_as_the_reference_writes_them() {
        let recorder = recorder().expect("the catalogue makes a recorder");
        let handle = recorder.handle();
        metrics::with_local_recorder(&recorder, || {
            SUCCEEDED.of(["m", "stop"]).increment(3);
            FIRST_AUDIO.of(["m\"\n", "1", "0"]).record(0.07);
        });
        let page = handle.render();
        assert!(page.contains("# TYPE vllm_omni:requests_success_total counter\n"), "{page}");
        assert!(page.contains("vllm_omni:requests_success_total{model_name=\"m\",finished_reason=\"stop\"} 3\n"), "{page}");
        let bucket = r#"vllm_omni:audio_ttfp_s_bucket{model_name="m\"\n",stage="1",replica="0",le="0.1"} 1"#;
        assert!(page.contains(bucket), "{page}");
    }
}
