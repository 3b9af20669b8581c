//! The keys of a deploy file, and what each of them does here.

use super::near::nearest;

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// It is obeyed, here or by the family.
    Live,
    /// It is understood and changes nothing, for this reason.
    Inert(&'static str),
    /// Its `false`, `0` or emptiness is what the host does anyway; anything else changes nothing, for this reason.
    OnlyOff(&'static str),
}

/// A table of keys.
pub(crate) type Keys = &'static [(&'static str, Use)];

use Use::{Inert, Live, OnlyOff};

const ONE_PLANE: &str = "data moves between stages in memory, in one way only";
const NO_PYTHON: &str = "no code of a checkpoint is ever run";
const ONE_PROCESS: &str = "all stages run in one process";
const NO_PREFIX_CACHE: &str = "prompts of speech are not cached by prefix";
const OWN_SCHEDULER: &str = "the host has one scheduler, which never stalls running streams for a prefill";
const OWN_GRAPHS: &str = "a family chooses its own kernels and graphs";
const OWN_LOADER: &str = "a family reads its own files";
const NO_SHARDS: &str = "a replica is not split over devices";
const TURNS: &str = "speech is served turn by turn";
const NO_WAITS: &str = "nothing polls and nothing waits for a chunk; the reference does not read it either";

/// Keys of the whole pipeline.
pub(crate) const TOP: Keys = &[
    ("active_stream_window", Live),
    ("async_chunk", Live),
    ("base_config", Live),
    ("connectors", Live),
    ("custom_voice_dir", Live),
    ("data_parallel_size", Inert(NO_SHARDS)),
    ("distributed_executor_backend", Inert(ONE_PROCESS)),
    ("dtype", Live),
    ("duplex_session", Inert(TURNS)),
    ("edges", Live),
    ("enable_chunked_prefill", Inert(OWN_SCHEDULER)),
    ("enable_prefix_caching", OnlyOff(NO_PREFIX_CACHE)),
    ("model_runner", Inert(ONE_PLANE)),
    ("pipeline", Live),
    ("pipeline_parallel_size", Inert(NO_SHARDS)),
    ("platforms", Live),
    ("quantization", Live),
    ("session_mode", Live),
    ("stages", Live),
    ("trust_remote_code", OnlyOff(NO_PYTHON)),
];

/// Keys of a platform's section beside `stages`.
pub(crate) const PLATFORM: Keys = &[("model_runner", Inert(ONE_PLANE)), ("stages", Live)];

/// Keys of a stage.
pub(crate) const STAGE: Keys = &[
    ("additional_config", Live),
    ("async_chunk", Live),
    ("async_scheduling", Inert(OWN_SCHEDULER)),
    ("attention_backend", Inert(OWN_GRAPHS)),
    ("attention_config", Inert(OWN_GRAPHS)),
    ("block_size", Inert("the cache is not paged by this size")),
    ("compilation_config", Inert(OWN_GRAPHS)),
    ("config_format", Inert(OWN_LOADER)),
    ("default_pooling_params", Live),
    ("default_sampling_params", Live),
    ("devices", Live),
    ("disable_hybrid_kv_cache_manager", Inert(OWN_SCHEDULER)),
    ("distributed_executor_backend", Inert(ONE_PROCESS)),
    ("dtype", Live),
    ("enable_chunked_prefill", Inert(OWN_SCHEDULER)),
    ("enable_flashinfer_autotune", Inert(OWN_GRAPHS)),
    ("enable_prefix_caching", OnlyOff(NO_PREFIX_CACHE)),
    ("enforce_eager", Live),
    ("engine_extras", Live),
    ("env", Inert("all stages share the environment of the host; set the variable there")),
    ("gpu_memory_utilization", Live),
    ("hf_overrides", Live),
    ("input_connectors", Live),
    ("kv_cache_memory_bytes", Live),
    ("limit_mm_per_prompt", Inert("a family states its own limits")),
    ("load_format", Inert(OWN_LOADER)),
    ("max_model_len", Live),
    ("max_num_batched_tokens", Live),
    ("max_num_seqs", Live),
    ("mm_processor_cache_gb", Inert("references are cached by their content, whatever the stage")),
    ("model", Live),
    ("moe_backend", Inert(OWN_GRAPHS)),
    ("num_replicas", Live),
    ("output_connectors", Live),
    ("profiler_config", Inert("stages are profiled from outside")),
    ("quantization", Live),
    ("request_batch_max_wait_ms", Live),
    ("runner", Inert(OWN_SCHEDULER)),
    ("silence_ban_frames", Live),
    ("skip_mm_profiling", Inert("memory is planned, not profiled")),
    ("skip_tokenizer_init", Inert(OWN_LOADER)),
    ("subtalker_sampling_params", Live),
    ("tensor_parallel_size", Live),
    ("tokenizer", Inert(OWN_LOADER)),
    ("tokenizer_mode", Inert(OWN_LOADER)),
    ("trust_remote_code", OnlyOff(NO_PYTHON)),
    ("tts_max_instructions_length", Live),
];

/// Keys that choose the machinery of the reference and may not be set through `engine_extras`.
pub(crate) const RUNNER_INTERNALS: [&str; 4] = ["model_runner", "scheduler_cls", "worker_cls", "worker_type"];

/// Keys of a connector.
pub(crate) const CONNECTOR: Keys = &[("extra", Live), ("name", Live)];

/// Keys of a connector's `extra`.
pub(crate) const EXTRA: Keys = &[
    ("code_predictor_prefix_graphs", Live),
    ("code_predictor_prefix_graphs_buckets", Live),
    ("code_predictor_prefix_graphs_seq_lens", Live),
    ("codec_chunk_adaptive", Live),
    ("codec_chunk_frames", Live),
    ("codec_chunk_frames_at_begin", Live),
    ("codec_chunk_min_frames", Live),
    ("codec_chunk_ramp", Live),
    ("codec_chunk_ramp_delta_min", Live),
    ("codec_chunk_ramp_divisor", Live),
    ("codec_chunk_safety_margin_ms", Live),
    ("codec_left_context_frames", Live),
    ("codec_max_chunk_frames", Live),
    ("codec_pre_lookahead_frames", Live),
    ("codec_right_holdback_frames", Live),
    ("codec_stream_scale_factor", Live),
    ("codec_streaming", Inert(NO_WAITS)),
    ("codec_vocab_size", Live),
    ("connector_get_max_wait", Inert(NO_WAITS)),
    ("connector_get_max_wait_first_chunk", Inert(NO_WAITS)),
    ("connector_get_sleep_s", Inert(NO_WAITS)),
    ("crossfade_sec", Live),
    ("dac_max_batch", Live),
    ("dac_max_padded_frames", Live),
    ("decode_batch_max_size", Live),
    ("decode_chunk_frames", Live),
    ("decode_cudagraph_batch_sizes", Live),
    ("decode_cudagraph_capture_sizes", Live),
    ("decode_enable_tf32", Live),
    ("decode_left_context_frames", Live),
    ("delivery_timeout_s", Inert("a chunk cannot be lost between stages of one process")),
    ("fish_speech_backlog_codec_chunk_frames", Live),
    ("fish_speech_backlog_load_threshold", Live),
    ("fish_speech_backlog_min_ready", Live),
    ("fish_speech_dac_dtype", Live),
    ("fish_speech_dac_max_batch", Live),
    ("fish_speech_dac_max_padded_frames", Live),
    ("fish_speech_single_initial_chunk", Live),
    ("fish_speech_tensor_codes", Live),
    ("initial_codec_chunk_frames", Live),
    ("initial_latent_chunk_size", Live),
    ("latent_chunk_size", Live),
    ("latent_left_context", Live),
    ("ref_audio_artifact_cache_max_entries", Live),
    ("ref_code_context_frames", Live),
];

/// Keys of `default_sampling_params`.
pub(crate) const SAMPLING: Keys = &[
    ("detokenize", Inert("speech has no text to give back")),
    ("extra_args", Live),
    ("guidance_scale", Live),
    ("ignore_eos", Live),
    ("max_tokens", Live),
    ("min_tokens", Live),
    ("num_inference_steps", Live),
    ("repetition_penalty", Live),
    ("seed", Live),
    ("stop_token_ids", Live),
    ("temperature", Live),
    ("top_k", Live),
    ("top_p", Live),
];

/// Keys of `subtalker_sampling_params`.
pub(crate) const SUBTALKER: Keys = &[("do_sample", Live), ("temperature", Live), ("top_k", Live), ("top_p", Live)];

/// Keys of an edge.
pub(crate) const EDGE: Keys = &[("from", Live), ("to", Live), ("window_size", Inert("a stage takes chunks as they come"))];

/// What a key does, if it is known.
pub(crate) fn find(keys: Keys, name: &str) -> Option<Use> {
    keys.iter().find(|(key, _)| *key == name).map(|(_, used)| *used)
}

/// The end of a message on an unknown key: the one that is probably meant.
pub(crate) fn suggestion(keys: Keys, name: &str) -> String {
    let near = nearest(name, keys.iter().map(|(key, _)| *key));
    near.map(|near| format!("; did you mean {near}")).unwrap_or_default()
}
