//! From the flags and files of `serve` to what the engine does.

use omni_plugin_api::FamilyInfo;
use serde_json::{Map, Value};

use crate::config::{
    self, Checkpoint, ChunkPolicy, ConfigArgs, ConfigError, FindingKind, FitRow, Given, Load, Machine, Plan, Report, Setting, StageFlag,
    StageNeeds, StagePlan, fit,
};
use crate::engine::chunks::{Adaptive, ChunkRules, FirstChunk, Growth};
use crate::engine::{Deployment, Deployments, Prospect, StageSettings};

/// The deploy configuration of a server.
pub struct Deploy {
    args: ConfigArgs,
    stage_flags: Vec<StageFlag>,
    variables: Vec<(String, String)>,
    machine: Machine,
}

impl Deploy {
    /// From the flags that were typed and the variables of the process.
    pub fn new(args: ConfigArgs, stage_flags: Vec<StageFlag>) -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        let variables = std::env::vars_os().filter_map(text).collect();
        Self { args, stage_flags, variables, machine: Machine::here() }
    }

    /// The plan of each model, and the memory of their replicas, checked against each other and the machine.
    fn plans(&self, models: &[Prospect]) -> Result<(Vec<Plan>, Vec<FitRow>), ConfigError> {
        let Self { args, stage_flags, variables, machine } = self;
        let families: Vec<FamilyInfo> = models.iter().map(|model| model.info.clone()).collect();
        let plans = Given { args, stage_flags, variables, machine }.plans(&families)?;
        let needs = plans.iter().zip(models).map(|(plan, model)| needs(plan, model)).collect::<Result<Vec<_>, _>>()?;
        let loads: Vec<Load<'_>> = plans.iter().zip(&needs).map(|(plan, needs)| Load { plan, needs }).collect();
        let rows = fit(&loads, machine)?;
        Ok((plans, rows))
    }

    /// Every value with its origin, as `--print-config` shows it.
    pub fn report(&self, models: &[Prospect]) -> Result<String, String> {
        let (plans, rows) = self.plans(models).map_err(|error| error.to_string())?;
        let text = |plan: &Plan| {
            let own: Vec<FitRow> = rows.iter().filter(|row| plan.family.as_ref() == Some(&row.family)).cloned().collect();
            Report::new(plan, &own).text()
        };
        Ok(plans.iter().map(text).collect::<Vec<_>>().join("\n"))
    }
}

impl Deployments for Deploy {
    fn decide(&self, models: &[Prospect]) -> Result<Vec<Deployment>, String> {
        let (plans, _) = self.plans(models).map_err(|error| error.to_string())?;
        plans.iter().for_each(tell);
        Ok(plans.iter().map(deployment).collect())
    }
}

/// What a model's stages need, as far as its checkpoint tells. A cache of which nobody has set the size is the family's to choose.
fn needs(plan: &Plan, model: &Prospect) -> Result<Vec<StageNeeds>, ConfigError> {
    let Some(folder) = &model.checkpoint else { return Ok(Vec::new()) };
    let mut needs = Checkpoint::read(folder)?.needs();
    if plan.stages.first().is_none_or(|stage| stage.kv_bytes.is_none() && stage.memory_share.is_none()) {
        needs.kv_bytes_per_token = 0;
    }
    Ok(vec![needs])
}

/// Logs what an operator should know of a plan.
fn tell(plan: &Plan) {
    let family = plan.family.as_deref().unwrap_or_default();
    for finding in &plan.findings {
        match finding.kind {
            FindingKind::UnknownKey => tracing::warn!(family, "{finding}"),
            _ => tracing::info!(family, "{finding}"),
        }
    }
}

/// What the engine takes of a plan.
fn deployment(plan: &Plan) -> Deployment {
    let in_front = |index: usize| index.checked_sub(1).and_then(|index| plan.stages.get(index));
    let settings = |(index, stage): (usize, &StagePlan)| {
        // How a stage's stream is cut is set where it is made, and acted on where it is worked through.
        let chunks = in_front(index).and_then(|front| front.chunks.as_ref());
        StageSettings {
            devices: stage.devices.value.clone(),
            max_seqs: stage.max_num_seqs.as_ref().map(|setting| setting.value as usize),
            max_batch: chunks.map(|chunks| chunks.decode_batch.value as usize).filter(|batch| *batch > 0),
            window: Some(plan.active_stream_window.value as usize),
            step_tokens: stage.max_num_batched_tokens.as_ref().map(|setting| setting.value as usize),
            max_seq_tokens: stage.max_model_len.as_ref().map(|setting| setting.value),
            kv_bytes: stage.kv_bytes.as_ref().map(|setting| setting.value),
            chunks: chunks.map(chunk_rules).unwrap_or_default(),
            waits_for_all: in_front(index).is_some_and(|front| !front.async_chunk.value),
        }
    };
    Deployment {
        placement: plan.placement(),
        stages: plan.stages.iter().enumerate().map(settings).collect(),
        custom_voice_dir: plan.custom_voice_dir.as_ref().map(|setting| setting.value.clone()),
        defaults: plan.stages.first().map(defaults).unwrap_or_default(),
    }
}

/// What is set at a stage for requests that do not say.
fn defaults(stage: &StagePlan) -> Map<String, Value> {
    let own = stage.sampling.iter().map(|(name, setting)| (name.clone(), setting.value.clone()));
    let inner = stage.subtalker.iter().map(|(name, setting)| (format!("subtalker_{name}"), setting.value.clone()));
    own.chain(inner).collect()
}

/// How a stream is cut, as far as somebody set it.
fn chunk_rules(policy: &ChunkPolicy) -> ChunkRules {
    let units = |frames: &u32| *frames as usize;
    let first = set(&policy.initial).map(|first| match first {
        config::FirstChunk::FromLoad => FirstChunk::FromLoad,
        config::FirstChunk::Frames(frames) => FirstChunk::Units(units(frames)),
    });
    let growth = match &policy.growth.value {
        config::Growth::Slack => Growth::Slack,
        config::Growth::Ramp(sizes) => Growth::Ramp(sizes.iter().map(units).collect()),
        config::Growth::Adaptive(rule) => Growth::Adaptive(Adaptive {
            min_units: units(&rule.min_frames),
            margin_ms: rule.margin_ms,
            divisor: f64::from(rule.divisor),
            min_growth: units(&rule.min_growth_frames),
        }),
    };
    let steady = set(&policy.steady_frames).map(|sizes| sizes.iter().map(units).collect());
    ChunkRules { first, steady: steady.unwrap_or_default(), growth }
}

/// A setting's value, if somebody set it.
fn set<T>(setting: &Setting<T>) -> Option<&T> {
    setting.origin.is_set().then_some(&setting.value)
}
