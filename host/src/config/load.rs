//! From flags, variables and a family to its plan: the one door for commands.

use std::collections::BTreeMap;

use omni_plugin_api::FamilyInfo;

use super::overrides::{Scope, overrides};
use super::plan::{Plan, PlanContext};
use super::resolve::{Inputs, resolve};
use super::select::{self, is_called};
use super::{ConfigArgs, ConfigError, Machine, Source, StageFlag};

/// What a command was given.
#[derive(Debug, Clone, Copy)]
pub struct Given<'a> {
    /// Its flags.
    pub args: &'a ConfigArgs,
    /// Its flags for single stages.
    pub stage_flags: &'a [StageFlag],
    /// The variables of the environment.
    pub variables: &'a [(String, String)],
    /// The machine, as far as it is known.
    pub machine: &'a Machine,
}

impl Given<'_> {
    /// The plan of each family, with the deploy file that the flags name for it, that it carries, or that is packaged.
    pub fn plans(&self, families: &[FamilyInfo]) -> Result<Vec<Plan>, ConfigError> {
        let names: Vec<&str> = families.iter().map(|family| family.name.as_str()).collect();
        select::check_scopes(&names, &self.args.deploy_config, "--deploy-config")?;
        select::check_scopes(&names, &self.args.stage_overrides, "--stage-overrides")?;
        select::check_scopes(&names, &self.args.default_sampling_params, "--default-sampling-params")?;
        let plan = |family: &FamilyInfo| {
            let source = select::deploy_file(family, &self.args.deploy_config, families.len())?;
            self.plan(source.as_ref(), Some(family), families.len())
        };
        families.iter().map(plan).collect()
    }

    /// The plan of a file, for a family if one is known.
    pub fn plan(&self, source: Option<&Source>, family: Option<&FamilyInfo>, families: usize) -> Result<Plan, ConfigError> {
        let name = family.map(|family| family.name.as_str()).unwrap_or_default();
        let levels = overrides(self.args, self.stage_flags, self.variables, Scope { family: name, families })?;
        let stage_names: Vec<String> = family.into_iter().flat_map(|family| &family.stages).map(|stage| stage.name.clone()).collect();
        let by_name: BTreeMap<&str, &str> = self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let platform = self.platform();
        let mut resolved = resolve(&Inputs {
            source,
            stages: stage_names.len(),
            platform: &platform,
            variables: &|name| by_name.get(name).map(|value| (*value).to_owned()),
            overrides: &levels,
        })?;
        check_pipeline(&resolved.top, family)?;
        resolved.findings.extend(self.args.findings());
        let context = PlanContext {
            family: name,
            stage_names: &stage_names,
            settings: family.map(|family| family.settings.as_slice()),
            streams: family.map(|family| family.abilities.streams),
            platform: &platform,
            has_accelerator: self.machine.accelerators.as_ref().map(|accelerators| !accelerators.is_empty()),
        };
        let plan = Plan::new(resolved, context)?;
        if self.args.strict_config { plan.strict() } else { Ok(plan) }
    }

    /// The platform that picks a section of a file.
    fn platform(&self) -> String {
        let is_bare = self.machine.accelerators.as_ref().is_some_and(Vec::is_empty);
        let found = if is_bare { "cpu" } else { "cuda" };
        self.args.platform.as_deref().unwrap_or(found).to_ascii_lowercase()
    }
}

/// A file that names its pipeline must be meant for the family that reads it.
fn check_pipeline(top: &super::node::Map, family: Option<&FamilyInfo>) -> Result<(), ConfigError> {
    let (Some(node), Some(family)) = (top.get("pipeline"), family) else { return Ok(()) };
    match node.as_text() {
        Some(key) if !is_called(family, key) => {
            let message = format!("expected a file for the family {}, found one for '{key}'", family.name);
            Err(ConfigError::new(super::ConfigErrorKind::Selection, &node.origin, "pipeline", message))
        }
        _ => Ok(()),
    }
}
