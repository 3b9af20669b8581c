//! Variables of the environment: the reference's that keep their names, and `OMNI_HOST_*`.
//!
//! `OMNI_HOST_<KEY>` sets a key of everything, as the flag of that name does, and `OMNI_HOST_STAGE_<N>_<KEY>` a key of one stage; flags win.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use super::near::nearest;
use super::overrides::{FOR_EVERY_STAGE, FOR_PIPELINE, Override};
use super::{ConfigError, Finding, FindingKind, Origin, yaml};

const OURS: &str = "OMNI_HOST_";
const REFERENCE: &str = "VLLM_OMNI_";

/// The reference's variables that do nothing here, and why.
const WITHOUT_EFFECT: [(&str, &str); 11] = [
    ("VLLM_OMNI_EVENT_DRIVEN_ORCH", "the host is always driven by events"),
    ("VLLM_OMNI_ASYNC_OUTPUT_TIMEOUT", "outputs are not waited for"),
    ("VLLM_OMNI_ORCH_MONITOR_PATH", "there is no orchestrator to monitor"),
    ("VLLM_OMNI_QWEN3_CODE2WAV_BATCH_STATS", "batches are counted in the metrics"),
    ("VLLM_OMNI_QWEN3_CODE2WAV_BATCH_STATS_LOG_EVERY", "batches are counted in the metrics"),
    ("VLLM_OMNI_QWEN3_CODE2WAV_CUDAGRAPH_STATS", "a family chooses its own kernels and graphs"),
    ("VLLM_OMNI_QWEN3_CODE2WAV_CUDAGRAPH_STATS_LOG_EVERY", "a family chooses its own kernels and graphs"),
    ("VLLM_OMNI_QWEN3_CODE2WAV_CUDAGRAPH_STATS_FILE", "a family chooses its own kernels and graphs"),
    ("VLLM_OMNI_FISH_KVCACHE_ATTN", "a family chooses its own kernels and graphs"),
    ("VLLM_OMNI_VOXCPM_CODE_PATH", "no code of a checkpoint is ever run"),
    ("VLLM_OMNI_REPLICA_ID", "all replicas run in one process"),
];
/// The reference's variables that are obeyed.
const OBEYED: [&str; 3] = ["VLLM_OMNI_SPEAKER_REGISTRATION_POLICY", "VLLM_OMNI_INPUT_WAIT_TIMEOUT_S", "VLLM_OMNI_ABORT_TIMEOUT"];

/// What happens to an upload under a name that is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RegistrationPolicy {
    /// The new voice replaces the old one.
    #[default]
    Overwrite,
    /// The upload is refused.
    Immutable,
}

/// The reference's variables that are obeyed, typed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Environment {
    /// `SPEAKER_SAMPLES_DIR`: the folder of uploaded voices.
    pub speaker_samples_dir: Option<PathBuf>,
    /// `SPEAKER_MAX_UPLOADED`: most uploaded voices.
    pub speaker_max_uploaded: usize,
    /// `VLLM_OMNI_SPEAKER_REGISTRATION_POLICY`.
    pub registration_policy: RegistrationPolicy,
    /// `VLLM_OMNI_INPUT_WAIT_TIMEOUT_S`: how long a stage may stand still for want of input; none for ever.
    pub input_wait: Option<Duration>,
    /// `VLLM_OMNI_ABORT_TIMEOUT`: how long an abort may take.
    pub abort: Duration,
    /// What an operator should know of the variables.
    pub findings: Vec<Finding>,
}

impl Environment {
    /// Reads the variables of this process.
    pub fn here() -> Result<Self, ConfigError> {
        let text = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        Self::read(&std::env::vars_os().filter_map(text).collect::<Vec<_>>())
    }

    /// Reads the variables of a process.
    pub fn read(variables: &[(String, String)]) -> Result<Self, ConfigError> {
        let get = |name: &str| variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.trim());
        let mut findings: Vec<Finding> = variables.iter().filter_map(|(name, _)| remark(name)).collect();
        Ok(Self {
            speaker_samples_dir: get("SPEAKER_SAMPLES_DIR").filter(|folder| !folder.is_empty()).map(PathBuf::from),
            speaker_max_uploaded: max_uploaded(get("SPEAKER_MAX_UPLOADED"), &mut findings),
            registration_policy: policy(get("VLLM_OMNI_SPEAKER_REGISTRATION_POLICY"))?,
            input_wait: input_wait(get("VLLM_OMNI_INPUT_WAIT_TIMEOUT_S"), &mut findings)?,
            abort: abort(get("VLLM_OMNI_ABORT_TIMEOUT")),
            findings,
        })
    }
}

fn variable(name: &str) -> Origin {
    Origin::Environment(name.to_owned())
}

fn max_uploaded(value: Option<&str>, findings: &mut Vec<Finding>) -> usize {
    const DEFAULT: usize = 1000;
    let Some(value) = value.filter(|value| !value.is_empty()) else { return DEFAULT };
    value.parse().unwrap_or_else(|_| {
        let message = format!("expected a number, found '{value}'; {DEFAULT} is taken");
        findings.push(Finding::new(FindingKind::Adjusted, &variable("SPEAKER_MAX_UPLOADED"), "speaker_max_uploaded", message));
        DEFAULT
    })
}

fn policy(value: Option<&str>) -> Result<RegistrationPolicy, ConfigError> {
    match value.unwrap_or_default().to_ascii_lowercase().as_str() {
        "" | "overwrite" => Ok(RegistrationPolicy::Overwrite),
        "immutable" => Ok(RegistrationPolicy::Immutable),
        other => {
            let origin = variable("VLLM_OMNI_SPEAKER_REGISTRATION_POLICY");
            Err(ConfigError::value(&origin, "", format!("expected overwrite or immutable, found '{other}'")))
        }
    }
}

fn input_wait(value: Option<&str>, findings: &mut Vec<Finding>) -> Result<Option<Duration>, ConfigError> {
    const DEFAULT_S: f64 = 600.0;
    let origin = variable("VLLM_OMNI_INPUT_WAIT_TIMEOUT_S");
    let seconds = value.and_then(|value| value.parse::<f64>().ok()).unwrap_or(DEFAULT_S);
    if seconds == 0.0 {
        let message = "a stage that stands still is not noticed any more";
        findings.push(Finding::new(FindingKind::Adjusted, &origin, "input_wait", message));
        return Ok(None);
    }
    let duration = Duration::try_from_secs_f64(seconds).ok();
    let wrong = || ConfigError::value(&origin, "", format!("expected seconds from 0 up, found {seconds}"));
    duration.map(Some).ok_or_else(wrong)
}

fn abort(value: Option<&str>) -> Duration {
    const DEFAULT: Duration = Duration::from_secs(2);
    let seconds = value.and_then(|value| value.parse::<f64>().ok()).unwrap_or(2.0);
    Duration::try_from_secs_f64(seconds).unwrap_or(DEFAULT)
}

/// What is to be said of a variable's name.
fn remark(name: &str) -> Option<Finding> {
    let origin = variable(name);
    if let Some((_, reason)) = WITHOUT_EFFECT.iter().find(|(known, _)| *known == name) {
        return Some(Finding::new(FindingKind::NoEffect, &origin, name, format!("has no effect here: {reason}")));
    }
    if name.starts_with(REFERENCE) && !OBEYED.contains(&name) {
        return Some(Finding::new(FindingKind::UnknownKey, &origin, name, "nobody reads this variable"));
    }
    let key = name.strip_prefix(OURS)?.to_ascii_lowercase();
    let known = || FOR_PIPELINE.iter().chain(&FOR_EVERY_STAGE).copied();
    let near = nearest(&key, known()).filter(|near| *near != key)?;
    let message = format!("nobody reads this variable; did you mean {OURS}{}", near.to_ascii_uppercase());
    Some(Finding::new(FindingKind::UnknownKey, &origin, name, message))
}

/// What the variables set: for everything, and for single stages.
pub(crate) fn overrides(variables: &[(String, String)]) -> Result<[Override; 2], ConfigError> {
    let (mut everywhere, mut single) = (Override::default(), Override::default());
    for (name, text) in variables {
        let Some(key) = name.strip_prefix(OURS).map(str::to_ascii_lowercase).filter(|_| !text.is_empty()) else { continue };
        if let Some((stage, key)) = stage_key(&key) {
            let node = yaml::parse_value(text, &variable(name))?;
            single.stages.entry(stage).or_default().insert(key, node);
        } else if FOR_PIPELINE.contains(&key.as_str()) || FOR_EVERY_STAGE.contains(&key.as_str()) {
            everywhere.set(&key, yaml::parse_value(text, &variable(name))?);
        }
    }
    Ok([everywhere, single])
}

/// The stage and the key of `stage_0_max_num_seqs`.
fn stage_key(key: &str) -> Option<(u32, String)> {
    let (number, key) = key.strip_prefix("stage_")?.split_once('_')?;
    Some((number.parse().ok()?, key.to_owned()))
}
