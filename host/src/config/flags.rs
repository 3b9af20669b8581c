//! The configuration's flags, for every command that reads a deploy file.

use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use clap::builder::FalseyValueParser;

use super::node::{Node, Value};
use super::overrides::Override;
use super::{Finding, FindingKind, Origin};

/// Flags of the configuration. Those that were not typed leave the files alone. Beside them, `--stage-N-<key> VALUE` sets a key of one
/// stage; see [`super::extract_stage_flags`].
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Deploy configuration")]
pub struct ConfigArgs {
    /// Deploy file: a path, or the name of a packaged one; with several families FAMILY=FILE, once for each
    #[arg(long, value_name = "[FAMILY=]FILE", env = "OMNI_HOST_DEPLOY_CONFIG")]
    pub deploy_config: Vec<Scoped>,
    /// Keys of single stages as JSON: {"0": {"max_num_seqs": 8}}; --stage-N-KEY VALUE does the same for one key
    #[arg(long, value_name = "[FAMILY=]JSON")]
    pub stage_overrides: Vec<Scoped>,
    /// Sampling values of single stages for requests that do not say, as JSON: {"0": {"temperature": 0.8}}
    #[arg(long, value_name = "[FAMILY=]JSON")]
    pub default_sampling_params: Vec<Scoped>,
    /// Refuse a deploy file with a key that nobody reads
    #[arg(long, env = "OMNI_HOST_STRICT_CONFIG", value_parser = FalseyValueParser::new())]
    pub strict_config: bool,
    /// Print the resolved configuration with the origin of every value, and exit
    #[arg(long)]
    pub print_config: bool,
    /// Hand chunks from stage to stage while they are made
    #[arg(long, overrides_with = "no_async_chunk")]
    pub async_chunk: bool,
    /// Let every stage finish before the next one starts
    #[arg(long, overrides_with = "async_chunk")]
    pub no_async_chunk: bool,
    /// Seconds a stage may take to start
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub stage_init_timeout: u64,
    /// Seconds all stages may take to start
    #[arg(long, alias = "load-timeout-secs", value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub init_timeout: u64,
    /// Platform whose section of the deploy file is used; found out if not given
    #[arg(long, value_name = "NAME")]
    pub platform: Option<String>,
    #[command(flatten)]
    pub(crate) every_stage: EveryStage,
}

/// Keys that every stage gets.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct EveryStage {
    /// Devices of every stage: 0, 0,1 or cpu
    #[arg(long, value_name = "DEVICES")]
    devices: Option<String>,
    /// Share of a device's memory that a stage may take, above 0 up to 1
    #[arg(long, value_name = "SHARE")]
    gpu_memory_utilization: Option<f64>,
    /// Sequences a stage admits at once
    #[arg(long, value_name = "N")]
    max_num_seqs: Option<u32>,
    /// Tokens of a step
    #[arg(long, value_name = "N")]
    max_num_batched_tokens: Option<u32>,
    /// Longest prompt with what is generated, in tokens; -1 for the model's own
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_model_len: Option<i64>,
    /// Bytes of a stage's key-value cache
    #[arg(long, value_name = "BYTES")]
    kv_cache_memory_bytes: Option<u64>,
    /// Type of the numbers: bfloat16, float16, float32 or auto
    #[arg(long, value_name = "TYPE")]
    dtype: Option<String>,
    /// How weights are packed
    #[arg(long, value_name = "METHOD")]
    quantization: Option<String>,
    /// Launch kernels one by one, without a captured graph
    #[arg(long)]
    enforce_eager: bool,
    /// Accepted for the reference's sake; no code of a checkpoint is ever run
    #[arg(long, hide = true)]
    trust_remote_code: bool,
    /// Accepted for the reference's sake; seeds come from requests and from default_sampling_params
    #[arg(long, hide = true, allow_negative_numbers = true)]
    seed: Option<i64>,
    /// Longest instructions in characters
    #[arg(long, value_name = "N")]
    tts_max_instructions_length: Option<u32>,
    /// Milliseconds a batch waits for company
    #[arg(long, value_name = "MS")]
    request_batch_max_wait_ms: Option<u32>,
}

impl ConfigArgs {
    /// What the flags for everything set, and nothing that was not typed.
    pub(crate) fn everywhere(&self) -> Override {
        let mut level = Override::default();
        for (flag, value) in self.typed() {
            let origin = Origin::Flag(format!("--{flag}"));
            let key = flag.trim_start_matches("no-").replace('-', "_");
            level.set(&key, Node::new(value, &origin));
        }
        level
    }

    fn typed(&self) -> Vec<(&'static str, Value)> {
        let stage = &self.every_stage;
        let number = |value: Option<u32>| value.map(|value| Value::Int(value.into()));
        let text = |value: &Option<String>| value.clone().map(Value::Text);
        let switch = |on: bool, value: bool| on.then_some(Value::Bool(value));
        let flags = [
            ("async-chunk", switch(self.async_chunk, true)),
            ("no-async-chunk", switch(self.no_async_chunk, false)),
            ("devices", text(&stage.devices)),
            ("gpu-memory-utilization", stage.gpu_memory_utilization.map(Value::Float)),
            ("max-num-seqs", number(stage.max_num_seqs)),
            ("max-num-batched-tokens", number(stage.max_num_batched_tokens)),
            ("max-model-len", stage.max_model_len.map(|value| Value::Int(value.into()))),
            ("kv-cache-memory-bytes", stage.kv_cache_memory_bytes.map(|value| Value::Int(value.into()))),
            ("dtype", text(&stage.dtype)),
            ("quantization", text(&stage.quantization)),
            ("enforce-eager", switch(stage.enforce_eager, true)),
            ("trust-remote-code", switch(stage.trust_remote_code, true)),
            ("tts-max-instructions-length", number(stage.tts_max_instructions_length)),
            ("request-batch-max-wait-ms", number(stage.request_batch_max_wait_ms)),
        ];
        flags.into_iter().filter_map(|(flag, value)| Some((flag, value?))).collect()
    }

    /// Flags that were typed and do nothing here.
    pub fn findings(&self) -> Vec<Finding> {
        let reasons = [
            (self.every_stage.trust_remote_code, "--trust-remote-code", "no code of a checkpoint is ever run"),
            (self.every_stage.seed.is_some(), "--seed", "seeds come from requests and from default_sampling_params"),
        ];
        let typed = reasons.into_iter().filter(|(is_typed, ..)| *is_typed);
        let finding = |(_, flag, reason): (bool, &str, &str)| {
            let key = flag.trim_start_matches('-').replace('-', "_");
            Finding::new(FindingKind::NoEffect, &Origin::Flag(flag.to_owned()), key, format!("has no effect here: {reason}"))
        };
        typed.map(finding).collect()
    }

    /// How long a stage may take to start.
    pub fn stage_init_timeout(&self) -> Duration {
        Duration::from_secs(self.stage_init_timeout)
    }

    /// How long all stages may take to start.
    pub fn init_timeout(&self) -> Duration {
        Duration::from_secs(self.init_timeout)
    }
}

/// A flag's value, for one family or for the only one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scoped {
    /// The family; none when it was not named.
    pub family: Option<String>,
    /// The value.
    pub value: String,
}

impl Scoped {
    /// Whether it is meant for a family.
    pub fn is_for(&self, family: &str) -> bool {
        self.family.as_deref().is_none_or(|named| named == family)
    }
}

impl FromStr for Scoped {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_name = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        Ok(match text.split_once('=') {
            Some((family, value)) if is_name(family) => Self { family: Some(family.to_owned()), value: value.to_owned() },
            _ => Self { family: None, value: text.to_owned() },
        })
    }
}
