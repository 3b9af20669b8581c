//! From the flags and files of `serve` to what the engine does.

use omni_plugin_api::FamilyInfo;

use crate::config::{
    ChunkPolicy, ConfigArgs, FindingKind, FirstChunk, Given, Growth, Load, Machine, Plan, Report, Setting, StageFlag, fit,
};
use crate::engine::{Deployment, Deployments, StageSettings};

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

    /// The plan of each family, checked against each other and the machine.
    fn plans(&self, families: &[FamilyInfo]) -> Result<Vec<Plan>, String> {
        let Self { args, stage_flags, variables, machine } = self;
        let plans = Given { args, stage_flags, variables, machine }.plans(families).map_err(|error| error.to_string())?;
        let loads: Vec<Load<'_>> = plans.iter().map(|plan| Load { plan, needs: &[] }).collect();
        fit(&loads, machine).map_err(|error| error.to_string())?;
        Ok(plans)
    }

    /// Every value with its origin, as `--print-config` shows it.
    pub fn report(&self, families: &[FamilyInfo]) -> Result<String, String> {
        let plans = self.plans(families)?;
        Ok(plans.iter().map(|plan| Report::new(plan, &[]).text()).collect::<Vec<_>>().join("\n"))
    }
}

impl Deployments for Deploy {
    fn decide(&self, families: &[FamilyInfo]) -> Result<Vec<Deployment>, String> {
        let plans = self.plans(families)?;
        plans.iter().for_each(tell);
        Ok(plans.iter().map(deployment).collect())
    }
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
    let settings = |(index, stage): (usize, &crate::config::StagePlan)| {
        // How a stage's stream is cut is set where it is made, and acted on where it is worked through.
        let chunks = in_front(index).and_then(|front| front.chunks.as_ref());
        StageSettings {
            max_seqs: stage.max_num_seqs.as_ref().map(|setting| setting.value as usize),
            first_steps: chunks.map(first_steps).unwrap_or_default(),
            step_units: chunks.and_then(|chunks| set(&chunks.steady_frames)).and_then(|steady| steady.last().map(|last| *last as usize)),
            waits_for_all: in_front(index).is_some_and(|front| !front.async_chunk.value),
        }
    };
    Deployment { placement: plan.placement(), stages: plan.stages.iter().enumerate().map(settings).collect() }
}

/// The sizes of the first chunks, as far as somebody set them.
fn first_steps(chunks: &ChunkPolicy) -> Vec<usize> {
    let initial = match set(&chunks.initial) {
        Some(FirstChunk::Frames(frames)) => vec![*frames],
        Some(FirstChunk::FromLoad) | None => Vec::new(),
    };
    let ramp = match set(&chunks.growth) {
        Some(Growth::Ramp(sizes)) => sizes.clone(),
        Some(Growth::Slack | Growth::Adaptive(_)) | None => initial,
    };
    ramp.into_iter().map(|frames| frames as usize).collect()
}

/// A setting's value, if somebody set it.
fn set<T>(setting: &Setting<T>) -> Option<&T> {
    setting.origin.is_set().then_some(&setting.value)
}
