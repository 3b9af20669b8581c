//! One stage of a plan: types, ranges, and what must fit together.

use std::collections::BTreeMap;

use omni_plugin_api::Device;
use serde_json::Value as Json;

use super::chunks::ChunkPolicy;
use super::connectors::Connector;
use super::deploy::{DeviceText, Stage};
use super::finding::{Finding, FindingKind};
use super::node::Map;
use super::plan::{PlanContext, StagePlan};
use super::typed::Section;
use super::{ConfigError, Setting, devices, sampling};

/// Free mappings that go to the family as they are.
const FAMILY_KEYS: [&str; 3] = ["additional_config", "default_pooling_params", "hf_overrides"];
/// Longest instructions when nobody says.
const MAX_INSTRUCTIONS: u32 = 500;
/// Types of numbers.
const DTYPES: [&str; 4] = ["auto", "bfloat16", "float16", "float32"];
/// Largest number of sequences that can be meant.
const MAX_SEQS: u32 = 65_536;

/// What a stage's plan is made for.
pub(crate) struct StageContext<'a> {
    /// The pipeline's.
    pub plan: PlanContext<'a>,
    /// Whether the pipeline hands chunks on.
    pub async_chunk: &'a Setting<bool>,
    /// The connector to the next stage; none for the last stage.
    pub connector: Option<Connector>,
}

/// Checks a stage, and gives what it says itself of handing chunks on.
pub(crate) fn stage_plan(
    id: u32,
    stage: &Map,
    context: StageContext<'_>,
    findings: &mut Vec<Finding>,
) -> Result<(StagePlan, Option<Setting<bool>>), ConfigError> {
    let path = format!("stages.{id}");
    let section: Section<Stage> = Section::read(stage, Stage::KEYS, &path)?;
    let typed = &section.typed;
    check_shards(&section)?;
    let replicas = section.setting_or(&typed.num_replicas, 1);
    let own_async_chunk = section.setting(&typed.async_chunk);
    let chunks = context.connector.map(|connector| ChunkPolicy::read(&connector.extra, &connector.path, findings)).transpose()?;
    let max_num_seqs = within(&section, "max_num_seqs", section.setting(&typed.max_num_seqs), 1..=MAX_SEQS)?;
    let plan = StagePlan {
        index: id,
        name: context.plan.stage_names.get(id as usize).cloned().unwrap_or_else(|| format!("stage_{id}")),
        devices: place(&section, &replicas, context.plan.has_accelerator, findings)?,
        replicas,
        max_num_batched_tokens: batched_tokens(&section, max_num_seqs.as_ref())?,
        max_num_seqs,
        max_model_len: model_len(&section)?,
        memory_share: share(&section)?,
        kv_bytes: kv_bytes(&section)?,
        enforce_eager: section.setting_or(&typed.enforce_eager, false),
        dtype: dtype(&section)?,
        quantization: section.setting(&typed.quantization),
        model: section.setting(&typed.model),
        async_chunk: own_async_chunk.clone().filter(|own| !own.value).unwrap_or_else(|| context.async_chunk.clone()),
        chunks,
        sampling: sampling::sampling(stage, &path)?,
        subtalker: sampling::subtalker(stage, &path)?,
        silence_ban_frames: section.setting_or(&typed.silence_ban_frames, 0),
        batch_wait_ms: section.setting_or(&typed.request_batch_max_wait_ms, 0),
        max_instructions_chars: section.setting_or(&typed.tts_max_instructions_length, MAX_INSTRUCTIONS),
        family: family(stage, &path)?,
    };
    Ok((plan, own_async_chunk))
}

/// The devices of the replicas. On a machine that is known to have no accelerator a stage runs on the processor, and that is said.
fn place(
    section: &Section<Stage>,
    replicas: &Setting<u32>,
    has_accelerator: Option<bool>,
    findings: &mut Vec<Finding>,
) -> Result<Setting<Vec<Device>>, ConfigError> {
    let fallback = if has_accelerator == Some(false) { "cpu" } else { "0" };
    let wanted = section.setting_or(&section.typed.devices, DeviceText(fallback.to_owned()));
    let assigned = devices::assign(&wanted, replicas, &section.path)?;
    if has_accelerator != Some(false) || assigned.value.iter().all(|device| *device == Device::Cpu) {
        return Ok(assigned);
    }
    let message = "this machine has no accelerator; the stage runs on the CPU";
    findings.push(Finding::new(FindingKind::Adjusted, &assigned.origin, section.key("devices"), message));
    Ok(assigned.map(|devices| vec![Device::Cpu; devices.len()]))
}

fn check_shards(section: &Section<Stage>) -> Result<(), ConfigError> {
    match section.setting(&section.typed.tensor_parallel_size) {
        Some(shards) if shards.value != 1 => {
            let message = format!("expected 1, since a replica is not split over devices, found {}", shards.value);
            Err(ConfigError::value(&shards.origin, section.key("tensor_parallel_size"), message))
        }
        _ => Ok(()),
    }
}

fn within(
    section: &Section<Stage>,
    key: &str,
    setting: Option<Setting<u32>>,
    range: std::ops::RangeInclusive<u32>,
) -> Result<Option<Setting<u32>>, ConfigError> {
    match setting {
        Some(setting) if !range.contains(&setting.value) => {
            let message = format!("expected a number from {} to {}, found {}", range.start(), range.end(), setting.value);
            Err(ConfigError::value(&setting.origin, section.key(key), message))
        }
        setting => Ok(setting),
    }
}

/// A step must have room for a token of every sequence.
fn batched_tokens(section: &Section<Stage>, seqs: Option<&Setting<u32>>) -> Result<Option<Setting<u32>>, ConfigError> {
    let key = "max_num_batched_tokens";
    let tokens = within(section, key, section.setting(&section.typed.max_num_batched_tokens), 1..=u32::MAX)?;
    match (&tokens, seqs) {
        (Some(tokens), Some(seqs)) if tokens.value < seqs.value => {
            let message = format!("expected at least max_num_seqs, which is {} ({}), found {}", seqs.value, seqs.origin, tokens.value);
            Err(ConfigError::conflict(&tokens.origin, section.key(key), message))
        }
        _ => Ok(tokens),
    }
}

/// The longest sequence; -1 and 0 leave it to the model.
fn model_len(section: &Section<Stage>) -> Result<Option<Setting<u64>>, ConfigError> {
    const MAX: i64 = 1 << 32;
    let Some(setting) = section.setting(&section.typed.max_model_len) else { return Ok(None) };
    if !(-1..=MAX).contains(&setting.value) {
        let message = format!("expected a number of tokens up to {MAX}, or -1 for the model's own, found {}", setting.value);
        return Err(ConfigError::value(&setting.origin, section.key("max_model_len"), message));
    }
    let tokens = u64::try_from(setting.value).ok().filter(|tokens| *tokens > 0);
    Ok(tokens.map(|tokens| Setting::new(tokens, setting.origin)))
}

fn share(section: &Section<Stage>) -> Result<Option<Setting<f64>>, ConfigError> {
    match section.setting(&section.typed.gpu_memory_utilization) {
        Some(share) if share.value.is_nan() || share.value <= 0.0 || share.value > 1.0 => {
            let message = format!("expected a share of the device's memory above 0 up to 1, found {}", share.value);
            Err(ConfigError::value(&share.origin, section.key("gpu_memory_utilization"), message))
        }
        share => Ok(share),
    }
}

fn kv_bytes(section: &Section<Stage>) -> Result<Option<Setting<u64>>, ConfigError> {
    match section.setting(&section.typed.kv_cache_memory_bytes) {
        Some(bytes) if bytes.value == 0 => {
            Err(ConfigError::value(&bytes.origin, section.key("kv_cache_memory_bytes"), "expected bytes from 1 up, found 0"))
        }
        bytes => Ok(bytes),
    }
}

fn dtype(section: &Section<Stage>) -> Result<Option<Setting<String>>, ConfigError> {
    match section.setting(&section.typed.dtype) {
        Some(dtype) if !DTYPES.contains(&dtype.value.as_str()) => {
            let message = format!("expected one of {}, found '{}'", DTYPES.join(", "), dtype.value);
            Err(ConfigError::value(&dtype.origin, section.key("dtype"), message))
        }
        dtype => Ok(dtype),
    }
}

fn family(stage: &Map, path: &str) -> Result<BTreeMap<String, Setting<Json>>, ConfigError> {
    let mut family = BTreeMap::new();
    for key in FAMILY_KEYS {
        let Some(node) = stage.get(key) else { continue };
        if node.as_map().is_none() {
            return Err(ConfigError::value(
                &node.origin,
                format!("{path}.{key}"),
                format!("expected a mapping, found {}", node.describe()),
            ));
        }
        family.insert(key.to_owned(), Setting::new(node.to_json(), node.origin.clone()));
    }
    Ok(family)
}
