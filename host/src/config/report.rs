//! What `check` and `--print-config` print: every value with its origin.

use serde::Serialize;
use serde_json::{Value as Json, json};

use super::fit::FitRow;
use super::plan::{Plan, StagePlan};
use super::sampling::SamplingPlan;
use super::size::human;
use super::{Finding, Origin, Setting, device_name};

/// A plan as it is printed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The family; none when only a file was looked at.
    pub family: Option<String>,
    /// The deploy file and what it is based on.
    pub files: Vec<String>,
    /// The platform whose section was used.
    pub platform: String,
    /// Values of the whole pipeline.
    pub pipeline: Vec<Row>,
    /// Values of each stage.
    pub stages: Vec<StageReport>,
    /// The memory of each replica.
    pub memory: Vec<FitRow>,
    /// What an operator should know.
    pub findings: Vec<Finding>,
}

/// The values of a stage.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StageReport {
    /// Its number.
    pub stage: u32,
    /// Its name.
    pub name: String,
    /// Its values.
    pub values: Vec<Row>,
}

/// A value with its origin.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The key as a deploy file spells it.
    pub key: String,
    /// The value; null when it is left to the family.
    pub value: Json,
    /// Who set it.
    pub origin: Origin,
}

impl Report {
    /// The report of a plan and of its memory.
    pub fn new(plan: &Plan, memory: &[FitRow]) -> Self {
        Self {
            family: plan.family.clone(),
            files: plan.files.iter().map(ToString::to_string).collect(),
            platform: plan.platform.clone(),
            pipeline: pipeline(plan),
            stages: plan.stages.iter().map(stage).collect(),
            memory: memory.to_vec(),
            findings: plan.findings.clone(),
        }
    }

    /// The report for people.
    pub fn text(&self) -> String {
        let mut text = format!("family    {}\n", self.family.as_deref().unwrap_or("not known"));
        let files = if self.files.is_empty() { "none: every value has its default".to_owned() } else { self.files.join(", based on ") };
        text.push_str(&format!("file      {files}\nplatform  {}\n{}", self.platform, lines(&self.pipeline)));
        for stage in &self.stages {
            text.push_str(&format!("\nstage {} ({})\n{}", stage.stage, stage.name, lines(&stage.values)));
        }
        text.push_str("\nmemory\n");
        for row in &self.memory {
            text.push_str(&memory(row));
        }
        if !self.findings.is_empty() {
            text.push('\n');
        }
        for finding in &self.findings {
            text.push_str(&format!("{finding}\n"));
        }
        text
    }

    /// The report for programs.
    pub fn json(&self) -> Json {
        serde_json::to_value(self).unwrap_or(Json::Null)
    }
}

fn row<T: Serialize>(key: &str, setting: &Setting<T>) -> Row {
    Row { key: key.to_owned(), value: json!(setting.value), origin: setting.origin.clone() }
}

/// A value that is left to the family when nobody sets it.
fn maybe<T: Serialize>(key: &str, setting: &Option<Setting<T>>) -> Row {
    match setting {
        Some(setting) => row(key, setting),
        None => Row { key: key.to_owned(), value: Json::Null, origin: Origin::Default },
    }
}

fn pipeline(plan: &Plan) -> Vec<Row> {
    vec![
        row("async_chunk", &plan.async_chunk),
        row("active_stream_window", &plan.active_stream_window),
        maybe("custom_voice_dir", &plan.custom_voice_dir),
    ]
}

fn stage(stage: &StagePlan) -> StageReport {
    let devices = stage.devices.value.iter().map(|device| device_name(*device)).collect::<Vec<_>>().join(",");
    let mut values = vec![
        row("devices", &Setting::new(devices, stage.devices.origin.clone())),
        row("num_replicas", &stage.replicas),
        maybe("max_num_seqs", &stage.max_num_seqs),
        maybe("max_num_batched_tokens", &stage.max_num_batched_tokens),
        maybe("max_model_len", &stage.max_model_len),
        maybe("gpu_memory_utilization", &stage.memory_share),
        maybe("kv_cache_memory_bytes", &stage.kv_bytes),
        row("enforce_eager", &stage.enforce_eager),
        row("async_chunk", &stage.async_chunk),
    ];
    values.extend(set([maybe("dtype", &stage.dtype), maybe("quantization", &stage.quantization), maybe("model", &stage.model)]));
    values.extend(set([
        row("silence_ban_frames", &stage.silence_ban_frames),
        row("request_batch_max_wait_ms", &stage.batch_wait_ms),
        row("tts_max_instructions_length", &stage.max_instructions_chars),
    ]));
    values.extend(chunks(stage));
    values.extend(sampling("sampling", &stage.sampling));
    values.extend(sampling("subtalker", &stage.subtalker));
    values.extend(stage.family.iter().map(|(key, setting)| row(key, setting)));
    StageReport { stage: stage.index, name: stage.name.clone(), values }
}

/// Rows that somebody set.
fn set<const N: usize>(rows: [Row; N]) -> impl Iterator<Item = Row> {
    rows.into_iter().filter(|row| row.origin.is_set())
}

fn chunks(stage: &StagePlan) -> Vec<Row> {
    let Some(chunks) = &stage.chunks else { return Vec::new() };
    if !stage.async_chunk.value {
        return vec![row("chunk policy", &stage.async_chunk.clone().map(|_| "off: the next stage starts when this one has ended"))];
    }
    let mut rows = vec![
        row("chunk policy", &chunks.steady_frames.clone().map(|_| chunks.to_string())),
        row("initial_codec_chunk_frames", &chunks.initial.clone().map(|first| first.to_string())),
        row("codec_chunk_frames", &chunks.steady_frames),
        row("codec_left_context_frames", &chunks.left_context_frames),
        row("growth", &chunks.growth.clone().map(|growth| growth.to_string())),
    ];
    rows.extend(set([
        row("ref_code_context_frames", &chunks.reference_context_frames),
        row("decode_batch_max_size", &chunks.decode_batch),
    ]));
    rows.extend(chunks.family.iter().map(|(key, value)| row(key, value)));
    rows
}

fn sampling(name: &str, plan: &SamplingPlan) -> Vec<Row> {
    plan.iter().map(|(key, setting)| row(&format!("{name}.{key}"), setting)).collect()
}

fn lines(rows: &[Row]) -> String {
    let line = |row: &Row| format!("  {:<36} {:<28} {}\n", row.key, shown(&row.value), row.origin);
    rows.iter().map(line).collect()
}

fn shown(value: &Json) -> String {
    match value {
        Json::Null => "left to the family".to_owned(),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn memory(row: &FitRow) -> String {
    let known = |bytes: u64| if bytes == 0 { "not known".to_owned() } else { human(bytes) };
    let tokens = if row.kv_tokens == 0 { "not known".to_owned() } else { row.kv_tokens.to_string() };
    let limit = row.limit_bytes.map_or_else(|| "none".to_owned(), human);
    let (weights, cache, sequences) = (known(row.weight_bytes), known(row.kv_bytes), known(row.sequence_bytes));
    let sizes = format!("weights {weights}, kv {cache}, kv tokens {tokens}, sequences {sequences}, limit {limit}");
    format!("  {:<8} {} replica {}: {sizes}\n", row.device, row.stage, row.replica)
}
