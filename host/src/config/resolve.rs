//! From files, variables and flags to one set of keys a stage, each with its origin.
//!
//! For a stage, from the lowest rank to the highest: keys of the whole pipeline, the stage's own (a file over its base), its
//! `engine_extras`, the platform's section, variables for every stage, variables for one, flags for every stage, flags for one.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::finding::{Finding, FindingKind};
use super::interpolate::{Variables, interpolate};
use super::keys::{self, RUNNER_INTERNALS};
use super::layer::{Layer, expect_map};
use super::merge::{Rule, over_base, over_existing, over_stage};
use super::node::{Map, Node, drop_nulls};
use super::overrides::Override;
use super::{ConfigError, Source, unknown, yaml};

/// Longest chain of base files.
const MAX_CHAIN: usize = 16;
/// Keys of the whole pipeline that stand in for a stage's own.
const PIPELINE_WIDE: [&str; 6] =
    ["trust_remote_code", "distributed_executor_backend", "dtype", "quantization", "enable_prefix_caching", "enable_chunked_prefill"];

/// What is merged.
pub struct Inputs<'a> {
    /// The deploy file; without one everything has its default.
    pub source: Option<&'a Source>,
    /// The stages that the family has; 0 when no family is known.
    pub stages: usize,
    /// The platform, which picks a section: `cuda`, `cpu`, `rocm`.
    pub platform: &'a str,
    /// The variables that interpolation sees.
    pub variables: &'a Variables<'a>,
    /// Variables and flags, the lowest rank first.
    pub overrides: &'a [Override],
}

/// One set of keys, each with its origin.
#[derive(Debug, Clone, Default)]
pub struct Resolved {
    /// The files, the outermost first and its base after it.
    pub files: Vec<Arc<str>>,
    /// Keys of the whole pipeline.
    pub top: Map,
    /// Keys of each stage.
    pub stages: BTreeMap<u32, Map>,
    /// What an operator should know.
    pub findings: Vec<Finding>,
}

/// Merges everything.
pub fn resolve(inputs: &Inputs<'_>) -> Result<Resolved, ConfigError> {
    let mut findings = Vec::new();
    let (files, mut layer) = match inputs.source {
        Some(source) => read_chain(source, inputs.variables, &mut findings)?,
        None => (Vec::new(), Layer::default()),
    };
    let platform = inputs.platform.to_ascii_lowercase();
    findings.extend(unknown::inspect(&layer, &platform));
    check_stages(&mut layer, inputs.stages)?;
    drop_nulls(&mut layer.top);
    spread(&mut layer)?;
    if let Some(patch) = layer.platforms.remove(&platform) {
        over_existing(&mut layer, patch, Rule::Platform, &mut findings);
    }
    for level in inputs.overrides {
        lay_over(&mut layer, level, &mut findings)?;
    }
    let Layer { mut top, mut stages, .. } = layer;
    drop_nulls(&mut top);
    stages.values_mut().for_each(drop_nulls);
    Ok(Resolved { files, top, stages, findings })
}

/// Reads a file and what it is based on.
fn read_chain(source: &Source, variables: &Variables<'_>, findings: &mut Vec<Finding>) -> Result<(Vec<Arc<str>>, Layer), ConfigError> {
    let mut chain: Vec<(Source, Layer)> = Vec::new();
    let mut next = Some(source.clone());
    while let Some(source) = next.take() {
        let root = interpolate(&yaml::parse(&source.text, &source.name)?, variables)?;
        let mut layer = Layer::read(root)?;
        if let Some(base) = layer.top.remove("base_config").filter(|base| !base.is_null()) {
            let found = base_of(&source, &base)?;
            check_chain(&chain, &source, &found, &base)?;
            next = Some(found);
        }
        chain.push((source, layer));
    }
    let files = chain.iter().map(|(source, _)| Arc::clone(&source.name)).collect();
    let merged = chain.into_iter().map(|(_, layer)| layer).rev().reduce(|base, child| over_base(base, child, findings));
    Ok((files, merged.unwrap_or_default()))
}

fn base_of(source: &Source, base: &Node) -> Result<Source, ConfigError> {
    let Some(reference) = base.as_text() else {
        return Err(ConfigError::value(&base.origin, "base_config", format!("expected a path, found {}", base.describe())));
    };
    source.base(reference).map_err(|error| ConfigError { origin: base.origin.clone(), key: "base_config".to_owned(), ..error })
}

fn check_chain(chain: &[(Source, Layer)], source: &Source, found: &Source, base: &Node) -> Result<(), ConfigError> {
    if source.is(found) || chain.iter().any(|(earlier, _)| earlier.is(found)) {
        let message = format!("expected a file that is not based on this one, found '{}', which is", found.name);
        return Err(ConfigError::conflict(&base.origin, "base_config", message));
    }
    if chain.len() >= MAX_CHAIN {
        return Err(ConfigError::conflict(&base.origin, "base_config", format!("expected at most {MAX_CHAIN} files, found more")));
    }
    Ok(())
}

/// Checks the stages against the family's and adds those that the file leaves out.
fn check_stages(layer: &mut Layer, known: usize) -> Result<(), ConfigError> {
    if known == 0 {
        return Ok(());
    }
    if let Some((id, stage)) = layer.stages.iter().find(|(id, _)| **id as usize >= known) {
        let origin = stage.values().map(|node| &node.origin).min().cloned().unwrap_or_default();
        let message = format!("expected a stage from 0 to {}, which is what the family has, found {id}", known - 1);
        return Err(ConfigError::key(&origin, format!("stages.{id}"), message));
    }
    for id in 0..known {
        layer.stages.entry(id as u32).or_default();
    }
    Ok(())
}

/// Copies the keys of the whole pipeline under each stage's own, and lays its extras over them.
fn spread(layer: &mut Layer) -> Result<(), ConfigError> {
    for (id, stage) in &mut layer.stages {
        drop_nulls(stage);
        for key in PIPELINE_WIDE {
            if let Some(node) = layer.top.get(key) {
                stage.entry(key.to_owned()).or_insert_with(|| node.clone());
            }
        }
        lift_extras(stage, &format!("stages.{id}"))?;
    }
    for patch in layer.platforms.values_mut() {
        for (id, stage) in &mut patch.stages {
            lift_extras(stage, &format!("stages.{id}"))?;
        }
    }
    Ok(())
}

/// Lays `engine_extras` over the stage's own keys.
fn lift_extras(stage: &mut Map, path: &str) -> Result<(), ConfigError> {
    let Some(node) = stage.remove("engine_extras").filter(|node| !node.is_null()) else { return Ok(()) };
    let path = format!("{path}.engine_extras");
    let (extras, _) = expect_map(node, &path)?;
    if let Some((key, node)) = extras.iter().find(|(key, _)| RUNNER_INTERNALS.contains(&key.as_str())) {
        let message = "expected a setting of the engine, found one that would choose another engine";
        return Err(ConfigError::key(&node.origin, format!("{path}.{key}"), message));
    }
    over_stage(stage, extras, Rule::Override, &path, &mut Vec::new());
    Ok(())
}

fn lay_over(layer: &mut Layer, level: &Override, findings: &mut Vec<Finding>) -> Result<(), ConfigError> {
    let mut patch = Layer { top: level.top.clone(), ..Layer::default() };
    let every = layer.stages.keys().map(|id| (*id, level.every_stage.clone()));
    patch.stages = every.collect();
    over_existing(layer, patch, Rule::Override, findings);
    let mut stages = level.stages.clone();
    for (id, stage) in &mut stages {
        let path = format!("stages.{id}");
        known_keys(stage, &path, findings)?;
        lift_extras(stage, &path)?;
    }
    let without = over_existing(layer, Layer { stages, ..Layer::default() }, Rule::Override, findings);
    match without.first() {
        None => Ok(()),
        Some((id, stage)) => Err(no_such_stage(*id, stage, layer)),
    }
}

/// What a flag sets must exist; what a variable sets is reported like a file's key.
fn known_keys(stage: &Map, path: &str, findings: &mut Vec<Finding>) -> Result<(), ConfigError> {
    let mut found = Vec::new();
    unknown::stage(stage, path, &mut found);
    let is_flag = |finding: &&Finding| finding.kind == FindingKind::UnknownKey && matches!(finding.origin, super::Origin::Flag(_));
    match found.iter().find(is_flag) {
        Some(finding) => Err(ConfigError::key(&finding.origin, finding.key.clone(), unknown_flag(&finding.key))),
        None => {
            findings.extend(found);
            Ok(())
        }
    }
}

fn unknown_flag(key: &str) -> String {
    let last = key.rsplit('.').next().unwrap_or(key);
    format!("expected a key of a stage, found '{last}', which is none{}", keys::suggestion(keys::STAGE, last))
}

fn no_such_stage(id: u32, stage: &Map, layer: &Layer) -> ConfigError {
    let origin = stage.values().next().map(|node| node.origin.clone()).unwrap_or_default();
    let known: Vec<String> = layer.stages.keys().map(u32::to_string).collect();
    ConfigError::key(&origin, format!("stages.{id}"), format!("expected one of the stages {}, found {id}", known.join(", ")))
}
