//! `omni-host check`

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use omni_plugin_api::{ErrorKind, FamilyInfo, ModelSource, contain};

use super::{Failure, Outcome, output};
use crate::checkpoint::{CheckpointReport, compare};
use crate::config::{
    Checkpoint, ConfigArgs, ConfigError, DeviceMemory, Environment, Given, Load, Machine, Plan, Report, Source, StageFlag, StageNeeds, fit,
    parse_bytes, select,
};
use crate::observe::{self, LogSettings};
use crate::plugin::{Discovered, Hub, PluginSpec, detect, discover, installed, limited};

/// How long a family may take to list the tensors of a checkpoint.
const LAYOUT_LIMIT: Duration = Duration::from_secs(60);

const EXAMPLES: &str = "\
Examples:
  omni-host check deploy.yaml                            is the file good, and what comes of it
  omni-host check qwen3_tts --max-num-seqs 16            a packaged file with a flag laid over it
  omni-host check --model /models/Qwen3-TTS-12Hz-1.7B-Base
                                                         which tensors load, by name and shape; the family is found
  omni-host check --plugin qwen3_tts --model Qwen/Qwen3-TTS-12Hz-1.7B-Base --values
                                                         of the hub's cache; every number is looked at as well
  omni-host check deploy.yaml --device-memory 0=80GiB    does it fit a device of this size
  omni-host check deploy.yaml --strict-config --json

No model is loaded. --stage-N-KEY VALUE sets a key of one stage, as with serve.";

/// Options of `check`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CheckArgs {
    /// The deploy file: a path or the name of a packaged one. Without it, the file that --plugin would be served with
    #[arg(value_name = "FILE", required_unless_present_any = ["plugin", "model"])]
    file: Option<String>,
    /// The families that the file, or a file each, is for; the one that the checkpoint belongs to is found among them
    #[arg(long, value_name = "PATH|NAME")]
    plugin: Vec<String>,
    /// The checkpoint: a directory, or a model id of the local hub cache. Its descriptions and the headers of its weights are read
    #[arg(long, value_name = "DIR|ID")]
    model: Option<PathBuf>,
    /// Read all numbers of the checkpoint too, and tell which tensors hold some that are not finite
    #[arg(long, requires = "model")]
    values: bool,
    /// Memory of an accelerator, such as 0=80GiB; may be given several times
    #[arg(long, value_name = "INDEX=SIZE", value_parser = device_memory, conflicts_with = "no_accelerator")]
    device_memory: Vec<DeviceMemory>,
    /// Plan for a machine without accelerators
    #[arg(long)]
    no_accelerator: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

/// Checks the configuration and the checkpoint, and prints what comes of it.
pub fn run(args: &CheckArgs, stage_flags: &[StageFlag]) -> Outcome {
    observe::start(&LogSettings::text("error")).map_err(Failure)?;
    let variables: Vec<(String, String)> =
        std::env::vars_os().filter_map(|(name, value)| name.into_string().ok().zip(value.into_string().ok())).collect();
    let machine = args.machine();
    let given = Given { args: &args.config, stage_flags, variables: &variables, machine: &machine };
    let environment = Environment::read(&variables).map_err(refused)?;
    let folder = args.folder()?;
    let checkpoint = folder.as_deref().map(Checkpoint::read).transpose().map_err(refused)?;
    let families = args.families(checkpoint.as_ref(), &given)?;
    let infos: Vec<FamilyInfo> = families.iter().map(|found| found.info.clone()).collect();
    let mut plans = args.plans(&given, &infos).map_err(refused)?;
    if let Some(plan) = plans.first_mut() {
        plan.findings.extend(environment.findings);
    }
    let needs: Vec<StageNeeds> = checkpoint.iter().filter(|_| plans.len() == 1).map(Checkpoint::needs).collect();
    let loads: Vec<Load<'_>> = plans.iter().map(|plan| Load { plan, needs: &needs }).collect();
    let rows = fit(&loads, &machine).map_err(refused)?;
    let reports = plans.iter().map(|plan| {
        let name = plan.family.clone().unwrap_or_default();
        let own: Vec<_> = rows.iter().filter(|row| row.family == name).cloned().collect();
        Report::new(plan, &own)
    });
    let weights = match (families.as_slice(), &folder) {
        ([family], Some(folder)) => weights(family, folder, args.values)?,
        _ => None,
    };
    print(&reports.collect::<Vec<_>>(), weights.as_ref(), args.json)?;
    match weights.filter(|weights| !weights.is_good()) {
        Some(weights) => Err(Failure(format!("the checkpoint does not load: {} faults", weights.faults()))),
        None => Ok(()),
    }
}

/// The checkpoint's tensors against those its family needs; nothing for a family that does not list them.
fn weights(family: &Discovered, folder: &Path, reads_values: bool) -> Result<Option<CheckpointReport>, Failure> {
    let (asked, source) = (Arc::clone(&family.family), ModelSource::Directory(folder.to_owned()));
    let layout = limited("list tensors", LAYOUT_LIMIT, move || contain("layout", || asked.layout(&source)));
    let unlisted = |reason: String| Failure(format!("{} cannot tell what the checkpoint needs: {reason}", family.info.name));
    match layout.map_err(|overrun| unlisted(overrun.to_string()))? {
        Ok(layout) => Ok(Some(compare(folder, &layout, reads_values))),
        Err(error) if error.kind == ErrorKind::Unsupported => Ok(None),
        Err(error) => Err(Failure(error.to_string())),
    }
}

impl CheckArgs {
    fn machine(&self) -> Machine {
        let is_described = self.no_accelerator || !self.device_memory.is_empty();
        if is_described { Machine { accelerators: Some(self.device_memory.clone()) } } else { Machine::here() }
    }

    /// The folder of the checkpoint.
    fn folder(&self) -> Result<Option<PathBuf>, Failure> {
        let hub = Hub::from_environment();
        self.model.as_deref().map(|model| hub.resolve(model)).transpose().map_err(|error| Failure(error.to_string()))
    }

    /// The families that are meant: of several the one of the checkpoint, if there is one; with a checkpoint alone, the installed one
    /// that opens it.
    fn families(&self, checkpoint: Option<&Checkpoint>, given: &Given<'_>) -> Result<Vec<Discovered>, Failure> {
        let mut specs: Vec<PluginSpec> = self.plugin.iter().map(|plugin| PluginSpec::bare(Some(plugin.clone()))).collect();
        if let (Some(checkpoint), None, []) = (checkpoint, &self.file, specs.as_slice()) {
            let installed = installed();
            let number = detect(&installed, &checkpoint.folder).map_err(|error| Failure(error.to_string()))?;
            specs.extend(installed.into_iter().nth(number));
        }
        let describe = |spec: &PluginSpec| discover(spec).map_err(|error| Failure(error.to_string()));
        let mut families: Vec<Discovered> = specs.iter().map(describe).collect::<Result<_, _>>()?;
        match (checkpoint, families.as_slice()) {
            (Some(checkpoint), [only]) => select::verify(&only.info, checkpoint).map_err(refused)?,
            (Some(checkpoint), [_, _, ..]) => {
                let pipeline = self.pipeline(given).map_err(refused)?;
                let infos: Vec<FamilyInfo> = families.iter().map(|found| found.info.clone()).collect();
                let (family, _) = select::family(&infos, checkpoint, pipeline.as_deref()).map_err(refused)?;
                families.retain(|found| found.info.name == family.name);
            }
            _ => {}
        }
        Ok(families)
    }

    /// The family that the file names, which decides before anything the checkpoint says.
    fn pipeline(&self, given: &Given<'_>) -> Result<Option<String>, ConfigError> {
        let Some(file) = &self.file else { return Ok(None) };
        let plan = given.plan(Some(&Source::open(file)?), None, 1)?;
        Ok(plan.pipeline.map(|pipeline| pipeline.value))
    }

    fn plans(&self, given: &Given<'_>, families: &[FamilyInfo]) -> Result<Vec<Plan>, ConfigError> {
        match (&self.file, families) {
            (None, families) => given.plans(families),
            (Some(file), []) => Ok(vec![given.plan(Some(&Source::open(file)?), None, 1)?]),
            (Some(file), [only]) => Ok(vec![given.plan(Some(&Source::open(file)?), Some(only), 1)?]),
            (Some(_), _) => {
                Err(ConfigError::selection("expected --deploy-config FAMILY=FILE for several families, found one file for all of them"))
            }
        }
    }
}

fn refused(error: ConfigError) -> Failure {
    Failure(error.to_string())
}

/// Reads `0=80GiB`.
fn device_memory(text: &str) -> Result<DeviceMemory, String> {
    let (index, size) = text.split_once('=').unwrap_or(("0", text));
    let index = index.trim().parse().map_err(|_| format!("expected a device number before '=', found '{index}'"))?;
    let bytes = parse_bytes(size).ok_or_else(|| format!("expected a size such as 80GiB, found '{size}'"))?;
    Ok(DeviceMemory { index, total_bytes: bytes, free_bytes: bytes })
}

fn print(reports: &[Report], weights: Option<&CheckpointReport>, as_json: bool) -> Outcome {
    if as_json {
        let mut documents: Vec<_> = reports.iter().map(Report::json).collect();
        if let (Some(weights), [document]) = (weights, documents.as_mut_slice()) {
            document["checkpoint"] = serde_json::to_value(weights).map_err(|error| Failure(error.to_string()))?;
        }
        let document = match documents.as_slice() {
            [only] => only.clone(),
            several => serde_json::Value::Array(several.to_vec()),
        };
        return output::print(&format!("{document:#}"));
    }
    let texts = reports.iter().map(Report::text).chain(weights.map(CheckpointReport::text));
    output::print(texts.collect::<Vec<_>>().join("\n").trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_given_by_device() {
        let memory = |index, bytes| Ok(DeviceMemory { index, total_bytes: bytes, free_bytes: bytes });
        assert_eq!(device_memory("1=2GiB"), memory(1, 2 << 30));
        assert_eq!(device_memory("2GiB"), memory(0, 2 << 30), "the first device");
        for text in ["x=2GiB", "1=", "1=much"] {
            assert!(device_memory(text).is_err(), "{text}");
        }
    }
}
