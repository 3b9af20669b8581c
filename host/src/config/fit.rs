//! Whether plans fit a machine, worked out before anything is loaded.
//!
//! A replica needs its weights, its key-value cache and the state of its sequences. The cache is `max_num_seqs` times `max_model_len`
//! tokens, made smaller to keep within `gpu_memory_utilization` but never below one sequence; `kv_cache_memory_bytes` replaces both. What is
//! not known counts as nothing and is shown as unknown.

use std::collections::BTreeMap;

use omni_plugin_api::Device;
use serde::Serialize;

use super::machine::{DeviceMemory, Machine};
use super::plan::{Plan, StagePlan};
use super::size::{GIB, human};
use super::{ConfigError, ConfigErrorKind, Origin, Setting, device_name};

/// Bytes of a device that are left for its context, kernels and work space.
const RESERVE: u64 = GIB;

/// What a replica of a stage needs, as far as it is known before the load; 0 is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StageNeeds {
    /// Bytes of its weights.
    pub weight_bytes: u64,
    /// Bytes of a token in its key-value cache.
    pub kv_bytes_per_token: u64,
    /// Bytes of a sequence beside the cache.
    pub bytes_per_sequence: u64,
    /// The model's longest sequence in tokens.
    pub max_model_len: u64,
}

/// A plan and what its stages need; a stage past the end is unknown.
#[derive(Debug, Clone, Copy)]
pub struct Load<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// What its stages need, in order.
    pub needs: &'a [StageNeeds],
}

/// The memory of one replica.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FitRow {
    /// The family; empty when none is known.
    pub family: String,
    /// The stage.
    pub stage: String,
    /// Which of its replicas.
    pub replica: usize,
    /// Where it runs.
    pub device: String,
    /// Bytes of its weights; 0 when unknown.
    pub weight_bytes: u64,
    /// Tokens of its cache; 0 when unknown.
    pub kv_tokens: u64,
    /// Bytes of its cache; 0 when unknown.
    pub kv_bytes: u64,
    /// Bytes of its sequences beside the cache; 0 when unknown.
    pub sequence_bytes: u64,
    /// What it may take at most, where that is limited and the device is known.
    pub limit_bytes: Option<u64>,
}

impl FitRow {
    fn needed(&self) -> u64 {
        self.weight_bytes.saturating_add(self.kv_bytes).saturating_add(self.sequence_bytes)
    }
}

/// Works out the memory of every replica, or refuses with the numbers.
pub fn fit(loads: &[Load<'_>], machine: &Machine) -> Result<Vec<FitRow>, ConfigError> {
    let mut rows = Vec::new();
    for load in loads {
        for (index, stage) in load.plan.stages.iter().enumerate() {
            let needs = load.needs.get(index).copied().unwrap_or_default();
            for (replica, device) in stage.devices.value.iter().enumerate() {
                let memory = memory(machine, *device, stage)?;
                let row = FitRow { replica, ..row(load.plan, stage, needs, *device, memory)? };
                rows.push(row);
            }
        }
    }
    check_shares(loads)?;
    check_devices(&rows, machine)?;
    Ok(rows)
}

/// The memory of a device, which must be there if the machine is known.
fn memory(machine: &Machine, device: Device, stage: &StagePlan) -> Result<Option<DeviceMemory>, ConfigError> {
    let (Device::Cuda(index), Some(accelerators)) = (device, &machine.accelerators) else { return Ok(None) };
    match accelerators.iter().find(|memory| memory.index == index) {
        Some(memory) => Ok(Some(*memory)),
        None => {
            let there: Vec<String> = accelerators.iter().map(|memory| memory.index.to_string()).collect();
            let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
            let message = format!("expected a device of this machine, which has {there}, found {index}");
            Err(refused(&stage.devices.origin, stage, "devices", message))
        }
    }
}

fn row(plan: &Plan, stage: &StagePlan, needs: StageNeeds, device: Device, memory: Option<DeviceMemory>) -> Result<FitRow, ConfigError> {
    let slots = stage.max_num_seqs.as_ref().map_or(0, |slots| u64::from(slots.value));
    let longest = stage.max_model_len.as_ref().map_or(needs.max_model_len, |tokens| tokens.value);
    let share = stage.memory_share.as_ref().zip(memory);
    let limit = share.as_ref().map(|(share, memory)| limit(share, memory));
    let mut row = FitRow {
        family: plan.family.clone().unwrap_or_default(),
        stage: stage.name.clone(),
        replica: 0,
        device: device_name(device),
        weight_bytes: needs.weight_bytes,
        kv_tokens: slots.saturating_mul(longest),
        kv_bytes: 0,
        sequence_bytes: slots.saturating_mul(needs.bytes_per_sequence),
        limit_bytes: limit,
    };
    row.kv_bytes = row.kv_tokens.saturating_mul(needs.kv_bytes_per_token);
    match (&stage.kv_bytes, limit) {
        (Some(fixed), _) => with_fixed_cache(&mut row, stage, fixed, longest, needs.kv_bytes_per_token)?,
        (None, Some(limit)) => within_limit(&mut row, stage, limit, longest, needs.kv_bytes_per_token)?,
        (None, None) => {}
    }
    Ok(row)
}

fn limit(share: &Setting<f64>, memory: &DeviceMemory) -> u64 {
    ((share.value * memory.total_bytes as f64) as u64).min(memory.free_bytes)
}

/// Takes the cache that was asked for, if one sequence fits into it.
fn with_fixed_cache(row: &mut FitRow, stage: &StagePlan, fixed: &Setting<u64>, longest: u64, token: u64) -> Result<(), ConfigError> {
    let least = longest.saturating_mul(token);
    if fixed.value < least {
        let message = format!(
            "expected a cache for one sequence of {longest} tokens, which is {least} bytes ({}), found {} bytes ({})",
            human(least),
            fixed.value,
            human(fixed.value)
        );
        return Err(refused(&fixed.origin, stage, "kv_cache_memory_bytes", message));
    }
    row.kv_bytes = fixed.value;
    row.kv_tokens = fixed.value.checked_div(token).unwrap_or(row.kv_tokens);
    row.limit_bytes = None;
    Ok(())
}

/// Makes the cache smaller until the stage keeps within its limit.
fn within_limit(row: &mut FitRow, stage: &StagePlan, limit: u64, longest: u64, token: u64) -> Result<(), ConfigError> {
    let rest = row.weight_bytes.saturating_add(row.sequence_bytes);
    let least = rest.saturating_add(longest.saturating_mul(token));
    if least > limit {
        let origin = stage.memory_share.as_ref().map(|share| share.origin.clone()).unwrap_or_default();
        let message = format!(
            "expected at least {} ({} of weights, {} of sequences, {} of cache for one sequence of {longest} tokens), found a limit of {}",
            human(least),
            human(row.weight_bytes),
            human(row.sequence_bytes),
            human(longest.saturating_mul(token)),
            human(limit)
        );
        return Err(refused(&origin, stage, "gpu_memory_utilization", message));
    }
    row.kv_bytes = row.kv_bytes.min(limit - rest);
    row.kv_tokens = row.kv_bytes.checked_div(token).unwrap_or(row.kv_tokens);
    Ok(())
}

fn refused(origin: &Origin, stage: &StagePlan, key: &str, message: String) -> ConfigError {
    ConfigError::new(ConfigErrorKind::Fit, origin, format!("stages.{}.{key}", stage.index), message)
}

/// The shares of all replicas on a device may not come to more than the device.
fn check_shares(loads: &[Load<'_>]) -> Result<(), ConfigError> {
    let mut sums: BTreeMap<u32, Vec<(String, Setting<f64>)>> = BTreeMap::new();
    for stage in loads.iter().flat_map(|load| load.plan.stages.iter().map(move |stage| (load.plan, stage))) {
        let (plan, stage) = stage;
        let Some(share) = stage.memory_share.as_ref().filter(|_| stage.kv_bytes.is_none()) else { continue };
        for device in &stage.devices.value {
            if let Device::Cuda(index) = device {
                let name = format!("{}/{}", plan.family.as_deref().unwrap_or("pipeline"), stage.name);
                sums.entry(*index).or_default().push((name, share.clone()));
            }
        }
    }
    for (index, shares) in sums {
        let sum: f64 = shares.iter().map(|(_, share)| share.value).sum();
        if sum > 1.0 + 1e-6 {
            let parts: Vec<String> = shares.iter().map(|(name, share)| format!("\n  {name}: {} ({})", share.value, share.origin)).collect();
            let message = format!("expected shares of cuda:{index} that come to at most 1, found {sum:.2}:{}", parts.concat());
            return Err(ConfigError::new(ConfigErrorKind::Fit, &Origin::Default, "gpu_memory_utilization", message));
        }
    }
    Ok(())
}

/// What runs on a device may not need more than is free.
fn check_devices(rows: &[FitRow], machine: &Machine) -> Result<(), ConfigError> {
    for memory in machine.accelerators.iter().flatten() {
        let device = device_name(Device::Cuda(memory.index));
        let here: Vec<&FitRow> = rows.iter().filter(|row| row.device == device).collect();
        let needed = here.iter().fold(RESERVE, |sum, row| sum.saturating_add(row.needed()));
        if here.is_empty() || needed <= memory.free_bytes {
            continue;
        }
        let parts: Vec<String> = here.iter().map(|row| line(row)).collect();
        let message = format!(
            "expected a plan within the {} that {device} has free of {}, found one of {}:{}\n  reserve: {}",
            human(memory.free_bytes),
            human(memory.total_bytes),
            human(needed),
            parts.concat(),
            human(RESERVE)
        );
        return Err(ConfigError::new(ConfigErrorKind::Fit, &Origin::Default, "", message));
    }
    Ok(())
}

fn line(row: &FitRow) -> String {
    let (weights, cache, sequences) = (human(row.weight_bytes), human(row.kv_bytes), human(row.sequence_bytes));
    let family = if row.family.is_empty() { "pipeline" } else { &row.family };
    let name = format!("{family}/{} replica {}", row.stage, row.replica);
    format!("\n  {name}: {weights} of weights, {cache} of cache ({} tokens), {sequences} of sequences", row.kv_tokens)
}
