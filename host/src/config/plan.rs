//! The validated result: what a family's stages get, each value with its origin.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use omni_plugin_api::{Device, FloatType, Placement, StageWish};
use serde_json::Value as Json;

use super::chunks::ChunkPolicy;
use super::connectors::connect;
use super::deploy::{Pipeline, SessionMode};
use super::finding::{Finding, FindingKind, fold};
use super::resolve::Resolved;
use super::sampling::SamplingPlan;
use super::stage_plan::{StageContext, stage_plan};
use super::typed::Section;
use super::{ConfigError, ConfigErrorKind, Setting};

/// What a family's pipeline gets.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The family; none when only a file was looked at.
    pub family: Option<String>,
    /// The deploy file, its base after it, and so on.
    pub files: Vec<Arc<str>>,
    /// The platform whose section was used, if there is one.
    pub platform: String,
    /// The family that the file is meant for, if it says so.
    pub pipeline: Option<Setting<String>>,
    /// Stages hand chunks on while they work.
    pub async_chunk: Setting<bool>,
    /// Streams of a stage that progress at once; 0 for all.
    pub active_stream_window: Setting<u32>,
    /// Folder of voices that are loaded at the start.
    pub custom_voice_dir: Option<Setting<PathBuf>>,
    /// The stages in order.
    pub stages: Vec<StagePlan>,
    /// What an operator should know.
    pub findings: Vec<Finding>,
}

/// What a stage gets. What is absent is left to the family.
#[derive(Debug, Clone, PartialEq)]
pub struct StagePlan {
    /// Its number in the deploy file.
    pub index: u32,
    /// Its name in the family, or its number as a name.
    pub name: String,
    /// The device of each replica.
    pub devices: Setting<Vec<Device>>,
    /// Independent copies of the stage.
    pub replicas: Setting<u32>,
    /// Sequences admitted at once, by each replica: its slots.
    pub max_num_seqs: Option<Setting<u32>>,
    /// Tokens of one step.
    pub max_num_batched_tokens: Option<Setting<u32>>,
    /// Longest prompt with what is generated, in tokens.
    pub max_model_len: Option<Setting<u64>>,
    /// Share of a device's memory that a replica may take.
    pub memory_share: Option<Setting<f64>>,
    /// Bytes of a replica's key-value cache.
    pub kv_bytes: Option<Setting<u64>>,
    /// Kernels are launched one by one, without a captured graph.
    pub enforce_eager: Setting<bool>,
    /// Type of the numbers.
    pub dtype: Option<Setting<String>>,
    /// How weights are packed.
    pub quantization: Option<Setting<String>>,
    /// Another checkpoint for this stage alone.
    pub model: Option<Setting<String>>,
    /// The stage hands chunks to the next one while it works.
    pub async_chunk: Setting<bool>,
    /// How its stream is cut for the next stage; none for the last stage.
    pub chunks: Option<ChunkPolicy>,
    /// How it samples for requests that do not say.
    pub sampling: SamplingPlan,
    /// How its residual codebooks are sampled.
    pub subtalker: SamplingPlan,
    /// Frames at the start in which silence may not be generated.
    pub silence_ban_frames: Setting<u32>,
    /// Milliseconds a batch waits for company.
    pub batch_wait_ms: Setting<u32>,
    /// Longest instructions in characters.
    pub max_instructions_chars: Setting<u32>,
    /// Free keys that the family reads: `hf_overrides`, `additional_config`, `default_pooling_params`.
    pub family: BTreeMap<String, Setting<Json>>,
}

/// What a plan is made for.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlanContext<'a> {
    /// The family's name; empty when none is known.
    pub family: &'a str,
    /// The names of its stages.
    pub stage_names: &'a [String],
    /// The keys of its own that the family reads; none when no family is known.
    pub settings: Option<&'a [String]>,
    /// Whether the family can hand out audio while the rest is made; none when no family is known.
    pub streams: Option<bool>,
    /// The platform whose section was used.
    pub platform: &'a str,
    /// Whether the machine has an accelerator; none when that is not known.
    pub has_accelerator: Option<bool>,
}

impl StagePlan {
    /// What somebody set that only the family can act on, by key.
    pub fn family_settings(&self) -> BTreeMap<&str, Setting<Json>> {
        let quantization = self.quantization.iter().map(|method| ("quantization", method.clone().map(Json::from)));
        let numbers = [("silence_ban_frames", &self.silence_ban_frames), ("request_batch_max_wait_ms", &self.batch_wait_ms)];
        let numbers = numbers.into_iter().filter(|(_, number)| number.origin.is_set());
        let numbers = numbers.map(|(key, number)| (key, number.clone().map(Json::from)));
        let free = self.family.iter().map(|(key, value)| (key.as_str(), value.clone()));
        let extras = self.chunks.iter().flat_map(ChunkPolicy::family_settings);
        free.chain(extras).chain(quantization).chain(numbers).collect()
    }

    /// Says which of those the family does not read. What is off needs no word.
    fn unread(&self, context: PlanContext<'_>) -> Vec<Finding> {
        let Some(reads) = context.settings else { return Vec::new() };
        let is_off = |value: &Json| matches!(value, Json::Null | Json::Bool(false)) || value.as_u64() == Some(0);
        let extras: Vec<&str> = self.chunks.iter().flat_map(ChunkPolicy::family_settings).map(|(key, _)| key).collect();
        let told = |(key, setting): (&str, Setting<Json>)| {
            let place = if extras.contains(&key) { "output_connectors.extra." } else { "" };
            let message = format!("has no effect here: the family {} does not read it", context.family);
            Finding::new(FindingKind::NoEffect, &setting.origin, format!("stages.{}.{place}{key}", self.index), message)
        };
        let is_unread = |(key, setting): &(&str, Setting<Json>)| !is_off(&setting.value) && !reads.iter().any(|read| read == key);
        self.family_settings().into_iter().filter(is_unread).map(told).collect()
    }

    /// What a family is told of the stage.
    fn wish(&self) -> StageWish {
        let dtype = self.dtype.as_ref().and_then(|dtype| match dtype.value.as_str() {
            "float32" => Some(FloatType::F32),
            "bfloat16" => Some(FloatType::BF16),
            "float16" => Some(FloatType::F16),
            _ => None,
        });
        StageWish {
            dtype,
            sequences: self.max_num_seqs.as_ref().map(|most| most.value as usize),
            sequence_tokens: self.max_model_len.as_ref().map(|most| most.value),
            kv_bytes: self.kv_bytes.as_ref().map(|most| most.value),
            instruction_chars: Some(self.max_instructions_chars.value as usize),
            is_eager: self.enforce_eager.value,
            settings: self.family_settings().into_iter().map(|(key, setting)| (key.to_owned(), setting.value)).collect(),
        }
    }
}

impl Plan {
    /// Checks what was resolved and gives it types.
    pub fn new(resolved: Resolved, context: PlanContext<'_>) -> Result<Self, ConfigError> {
        let Resolved { files, top, stages, mut findings } = resolved;
        if stages.is_empty() {
            let origin = files.first().map(super::Origin::file).unwrap_or_default();
            return Err(ConfigError::key(&origin, "stages", "expected at least one stage, found none"));
        }
        let section: Section<Pipeline> = Section::read(&top, Pipeline::KEYS, "")?;
        check_session(&section)?;
        let async_chunk = async_chunk(&section, stages.len(), context, &mut findings)?;
        let mut connectors = connect(&top, &stages)?;
        let (mut plans, mut own) = (Vec::new(), Vec::new());
        for (id, stage) in &stages {
            let inputs = StageContext { plan: context, async_chunk: &async_chunk, connector: connectors.remove(id) };
            let (plan, own_async_chunk) = stage_plan(*id, stage, inputs, &mut findings)?;
            findings.extend(plan.unread(context));
            plans.push(plan);
            own.push(own_async_chunk);
        }
        agree_on_chunks(&mut plans, &own)?;
        Ok(Self {
            family: Some(context.family.to_owned()).filter(|family| !family.is_empty()),
            files,
            platform: context.platform.to_owned(),
            pipeline: section.setting(&section.typed.pipeline),
            async_chunk,
            active_stream_window: section.setting_or(&section.typed.active_stream_window, 0),
            custom_voice_dir: section.setting(&section.typed.custom_voice_dir).map(|setting| setting.map(PathBuf::from)),
            stages: plans,
            findings: fold(findings),
        })
    }

    /// Refuses a plan whose files hold keys that nobody reads, as `--strict-config` asks.
    pub fn strict(self) -> Result<Self, ConfigError> {
        let unknown: Vec<&Finding> = self.findings.iter().filter(|finding| finding.kind == FindingKind::UnknownKey).collect();
        let Some(first) = unknown.first() else { return Ok(self) };
        let more: Vec<String> =
            unknown.iter().skip(1).map(|finding| format!("\n{}: {}: {}", finding.origin, finding.key, finding.message)).collect();
        Err(ConfigError::new(ConfigErrorKind::Key, &first.origin, first.key.clone(), format!("{}{}", first.message, more.concat())))
    }

    /// Where the stages run, as a family is told: the device of each stage's first replica, and what the operator asks of it.
    pub fn placement(&self) -> Placement {
        let device = |stage: &StagePlan| stage.devices.value.first().copied().unwrap_or_default();
        Placement { devices: self.stages.iter().map(device).collect(), wishes: self.stages.iter().map(StagePlan::wish).collect() }
    }
}

fn check_session(section: &Section<Pipeline>) -> Result<(), ConfigError> {
    match section.setting(&section.typed.session_mode) {
        Some(mode) if mode.value == SessionMode::Duplex => {
            Err(ConfigError::value(&mode.origin, "session_mode", "expected turn, which is how speech is synthesised, found duplex"))
        }
        _ => Ok(()),
    }
}

/// Whether stages hand chunks on: never with one stage, and only where the family can.
fn async_chunk(
    section: &Section<Pipeline>,
    stages: usize,
    context: PlanContext<'_>,
    findings: &mut Vec<Finding>,
) -> Result<Setting<bool>, ConfigError> {
    let setting = section.setting_or(&section.typed.async_chunk, true);
    let is_asked = setting.value && setting.origin.is_set();
    if stages == 1 {
        if is_asked {
            let message = "has no effect here: one stage has no other to hand chunks to";
            findings.push(Finding::new(FindingKind::NoEffect, &setting.origin, "async_chunk", message));
        }
        return Ok(setting.map(|_| false));
    }
    match context.streams {
        Some(false) if is_asked => {
            let message = format!("expected false, since the family {} does not stream, found true", context.family);
            Err(ConfigError::conflict(&setting.origin, "async_chunk", message))
        }
        Some(false) => Ok(setting.map(|_| false)),
        _ => Ok(setting),
    }
}

/// An edge is chunked only when the pipeline and both of its ends are; two ends that say different things are refused.
fn agree_on_chunks(stages: &mut [StagePlan], own: &[Option<Setting<bool>>]) -> Result<(), ConfigError> {
    for (index, ends) in own.windows(2).enumerate() {
        match (&ends[0], &ends[1]) {
            (Some(before), Some(after)) if before.value != after.value => {
                let key = format!("stages.{}.async_chunk", stages[index + 1].index);
                let message = format!("expected {} as in the stage before ({}), found {}", before.value, before.origin, after.value);
                return Err(ConfigError::conflict(&after.origin, key, message));
            }
            (Some(off), _) | (None, Some(off)) if !off.value => stages[index].async_chunk = off.clone(),
            _ => {}
        }
    }
    Ok(())
}
