//! Every metric family of the server, in the order of `docs/metrics.md`, which a test compares with this list.
//!
//! Names that begin with `vllm_omni:` or `vllm:` are the reference's, with its labels and buckets, so that its dashboards and autoscalers
//! go on working; `omni_host:` is what it does not measure. A label's values are models, stages, replicas, routes and words of this
//! program: nothing that a client can choose.

use super::family::{Counts, Family, Levels, Listed, Spreads};

/// Seconds of requests and stages.
const SECONDS: &[f64] = &[0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0];
/// Seconds of what should be too short to notice.
const FINE_SECONDS: &[f64] = &[0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0];
/// Seconds of single steps on a device.
const STEP_SECONDS: &[f64] = &[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 5.0];
/// Time to make audio over time to play it.
const REAL_TIME: &[f64] = &[0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 1.25, 1.5, 2.0, 5.0, 10.0];
/// Sequences of a step.
const BATCH: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];
/// Seconds that a listener has in hand; below zero it hears a gap.
const SLACK: &[f64] = &[-5.0, -1.0, -0.5, -0.1, 0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0];
/// For values of plugins, of which nothing is known.
const ANYTHING: &[f64] = &[1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6];

/// Why requests are turned away.
pub const REFUSALS: [&str; 6] = ["queue_full", "unavailable", "rate_limit", "unauthorized", "too_large", "too_slow"];
/// Why connections are cut.
pub const CUTS: [&str; 4] = ["too_many", "idle", "slow_head", "slow_reader"];

macro_rules! families {
    ($($id:ident: $kind:ident = $name:literal [$($label:literal)*] $($buckets:ident)?, $about:literal;)*) => {
        $(
            #[doc = $about]
            pub static $id: Family<$kind, { <[&str]>::len(&[$($label),*]) }> =
                Family::new($name, [$($label),*], families!(@buckets $($buckets)?), $about);
        )*

        /// Every family.
        pub static ALL: &[&dyn Listed] = &[$(&$id),*];
    };
    (@buckets) => { &[] };
    (@buckets $buckets:ident) => { $buckets };
}

families! {
    RUNNING: Levels = "vllm_omni:num_requests_running" ["model_name"], "Requests that hold a slot.";
    WAITING: Levels = "vllm_omni:num_requests_waiting" ["model_name"], "Requests that wait for a slot.";
    LATENCY: Spreads = "vllm_omni:e2e_request_latency_s" ["model_name"] SECONDS, "Seconds from a request's arrival to its last audio.";
    QUEUE_WAIT: Spreads = "vllm_omni:request_queue_wait_s" ["model_name"] SECONDS, "Seconds from a request's arrival to its slot in the first stage.";
    SUCCEEDED: Counts = "vllm_omni:requests_success_total" ["model_name" "finished_reason"], "Requests that were spoken: to the end of the text (stop) or to a cap (length).";
    FAILED: Counts = "vllm_omni:requests_failed_total" ["model_name" "reason"], "Requests that were begun and not spoken: their stage failed (stage_error), their time was over (timed_out), their client left (client_disconnect), or the model took no more work (unavailable).";
    PROMPT_TOKENS: Counts = "vllm_omni:prompt_tokens_total" ["model_name"], "Tokens of text and reference audio taken in.";
    GENERATION_TOKENS: Counts = "vllm_omni:generation_tokens_total" ["model_name"], "Codec tokens or frames generated.";
    STAGE_TIME: Spreads = "vllm_omni:stage_gen_time_s" ["model_name" "stage" "stage_type"] SECONDS, "Seconds of a request in a stage, from its slot to its end there; stage_type is the stage's name.";
    STAGE_WAITING: Levels = "vllm_omni:stage_waiting_requests" ["model_name" "stage"], "Requests that wait for a slot of a stage.";
    FIRST_AUDIO: Spreads = "vllm_omni:audio_ttfp_s" ["model_name" "stage" "replica"] SECONDS, "Seconds from a request's arrival to its first audio.";
    AUDIO_SECONDS: Spreads = "vllm_omni:audio_duration_s" ["model_name" "stage" "replica"] SECONDS, "Seconds of audio of a request.";
    REAL_TIME_FACTOR: Spreads = "vllm_omni:audio_rtf" ["model_name" "stage" "replica"] REAL_TIME, "Seconds a request took over the seconds of its audio.";
    AUDIO_FRAMES: Counts = "vllm_omni:audio_frames_total" ["model_name" "stage" "replica"], "Sample frames made: one sample of every channel.";
    UNDERRUN: Spreads = "vllm_omni:audio_underrun_s" ["model_name" "stage" "replica"] FINE_SECONDS, "Longest gap of a request that a listener hears who plays from the first audio on.";
    CONTINUOUS: Counts = "vllm_omni:audio_continuity_ok_total" ["model_name" "stage" "replica" "threshold_ms"], "Requests whose longest gap is no longer than the threshold.";
    NO_AUDIO: Counts = "vllm_omni:audio_skipped_requests_total" ["model_name" "stage" "replica" "reason"], "Requests that ended without any audio and are missing from the figures above.";
    STREAM_COMPLETED: Counts = "vllm_omni:speech_stream_completed_total" ["model_name"], "Streamed answers sent to their end.";
    STREAM_ABORTED: Counts = "vllm_omni:speech_stream_aborted_total" ["model_name" "reason"], "Streamed answers that broke off: the client left (closed) or the model failed (error).";
    STAGE_RUNNING: Levels = "vllm:num_requests_running" ["model_name" "stage" "replica"], "Requests that hold a slot of a stage.";
    STAGE_QUEUE: Levels = "vllm:num_requests_waiting" ["model_name" "stage" "replica"], "Requests that wait for a slot of a stage.";
    STAGE_SUCCEEDED: Counts = "vllm:request_success_total" ["model_name" "stage" "replica" "finished_reason"], "Requests that a stage finished.";
    STAGE_TOKENS: Counts = "vllm:generation_tokens_total" ["model_name" "stage" "replica"], "Units that a stage generated.";
    STAGE_FIRST: Spreads = "vllm:time_to_first_token_seconds" ["model_name" "stage" "replica"] FINE_SECONDS, "Seconds from a request's arrival at a stage to the stage's first output.";
    STAGE_QUEUE_TIME: Spreads = "vllm:request_queue_time_seconds" ["model_name" "stage" "replica"] FINE_SECONDS, "Seconds from a request's arrival at a stage to its slot there.";
    STAGE_INFERENCE: Spreads = "vllm:request_inference_time_seconds" ["model_name" "stage" "replica"] SECONDS, "Seconds from a request's slot in a stage to its end there.";
    STEP_TIME: Spreads = "omni_host:stage_step_seconds" ["model_name" "stage" "replica"] STEP_SECONDS, "Seconds of one step of a stage.";
    STEP_BATCH: Spreads = "omni_host:stage_batch_size" ["model_name" "stage" "replica"] BATCH, "Requests worked on in one step.";
    PLAYBACK_SLACK: Spreads = "omni_host:playback_slack_seconds" ["model_name" "stage" "replica"] SLACK, "Seconds of audio a listener has in hand when its request is stepped again; below zero it hears a gap.";
    CHUNK_SECONDS: Spreads = "omni_host:chunk_seconds" ["model_name" "stage" "replica"] FINE_SECONDS, "Seconds of audio that leave the last stage at once.";
    STAGE_CANCELLED: Counts = "omni_host:stage_cancelled_total" ["model_name" "stage" "replica"], "Requests dropped from a stage because they had ended elsewhere or their client had left.";
    PLUGIN_FAULTS: Counts = "omni_host:plugin_faults_total" ["model_name" "stage" "replica"], "Panics and lies of a stage; each fails all requests inside it.";
    UNHEALTHY: Counts = "omni_host:models_given_up_total" ["model_name"], "Times a model was given up: its plugin hung, or failed too often.";
    TEXT_WARNINGS: Counts = "omni_host:text_warnings_total" ["model_name"], "Warnings about text that could not be spoken.";
    LOADS: Counts = "omni_host:model_loads_total" ["outcome"], "Loads that ended, well (ready) or not (failed).";
    LOAD_SECONDS: Levels = "omni_host:model_load_seconds" ["model_name"], "Seconds the last load of a model took.";
    MODELS: Levels = "omni_host:models" ["state"], "Models that are loading, ready, failed or unhealthy.";
    DRAINING: Levels = "omni_host:draining" [], "1 while the server ends and takes nothing new.";
    REFUSED: Counts = "omni_host:requests_refused_total" ["reason"], "Requests, items of batches and units of sessions that were turned away.";
    HTTP_REQUESTS: Counts = "omni_host:http_requests_total" ["route" "status"], "Answers, by the route's pattern; unknown is what no route matches, malformed what is no HTTP.";
    HTTP_SECONDS: Spreads = "omni_host:http_request_seconds" ["route"] SECONDS, "Seconds from a request's head to the last byte of its answer.";
    HTTP_BYTES: Counts = "omni_host:http_response_bytes_total" ["route"], "Bytes of answers' bodies.";
    HTTP_IN_FLIGHT: Levels = "omni_host:http_requests_in_flight" [], "Requests whose answer is not complete.";
    CONNECTIONS: Levels = "omni_host:connections" [], "Open connections.";
    CONNECTIONS_CUT: Counts = "omni_host:connections_cut_total" ["reason"], "Connections ended by a limit: too_many, idle, slow_head, slow_reader.";
    CACHE_HITS: Counts = "omni_host:cache_hits_total" ["cache"], "Look-ups that a cache answered.";
    CACHE_MISSES: Counts = "omni_host:cache_misses_total" ["cache"], "Look-ups that a cache could not answer.";
    CACHE_BYTES: Levels = "omni_host:cache_bytes" ["cache"], "Bytes in a cache.";
    PLUGIN_COUNT: Counts = "omni_host:plugin_count_total" ["model_name" "name"], "What a plugin counts.";
    PLUGIN_OBSERVED: Spreads = "omni_host:plugin_observed" ["model_name" "name"] ANYTHING, "What a plugin observes.";
    PLUGIN_LEVEL: Levels = "omni_host:plugin_level" ["model_name" "name"], "What a plugin sets.";
    BUILD: Levels = "omni_host:build_info" ["version" "interface"], "1; its labels tell the versions of the server and of its plugin interface.";
    PROCESS_MEMORY: Levels = "process_resident_memory_bytes" [], "Memory in use.";
    PROCESS_FILES: Levels = "process_open_fds" [], "Open files and sockets.";
    PROCESS_START: Levels = "process_start_time_seconds" [], "When the process began, in seconds since 1970.";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fmt::Write as _;

    use super::*;

    /// The list that operators read.
    const LISTED: &str = include_str!("../../../../docs/metrics.md");

    fn table() -> String {
        let mut table = "| metric | type | labels | |\n|---|---|---|---|\n".to_owned();
        for family in ALL {
            let labels = family.labels().join(", ");
            writeln!(table, "| `{}` | {} | {labels} | {} |", family.name(), family.kind(), family.about()).expect("a string takes text");
        }
        table
    }

    #[test]
    fn the_list_for_operators_is_this_list() {
        let table = table();
        assert!(LISTED.contains(&table), "docs/metrics.md should hold this table:\n{table}");
    }

    #[test]
    fn names_are_unique_and_say_what_counts() {
        let names: BTreeSet<&str> = ALL.iter().map(|family| family.name()).collect();
        assert_eq!(names.len(), ALL.len());
        for family in ALL {
            let counts = family.kind() == "counter";
            assert_eq!(family.name().ends_with("_total"), counts, "{}", family.name());
            assert_eq!(family.buckets().is_empty(), family.kind() != "histogram", "{}", family.name());
            assert!(family.buckets().is_sorted_by(|low, high| low < high), "{}", family.name());
        }
    }
}
