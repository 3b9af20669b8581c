//! `omni-host checkpoint`

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use omni_plugin_api::{Blueprint, BlueprintRequest, contain};
use serde_json::json;

use super::{Failure, Outcome, output};
use crate::checkpoint::{Made, Written, write};
use crate::observe::{self, LogSettings};
use crate::plugin::{PluginSpec, discover};

const EXAMPLES: &str = "\
Examples:
  omni-host checkpoint qwen3_tts --variant 1.7B-CustomVoice --out /tmp/made
  omni-host checkpoint qwen3_tts --variant 0.6B-Base --tiny --out /tmp/tiny
  omni-host checkpoint qwen3_tts --variant 1.7B-Base --out /tmp/made --texts-from /models/tokenizer
  omni-host serve --plugin qwen3_tts --model /tmp/made

It speaks noise. Names, shapes and element types are those of the published checkpoint, so loading, memory and speed are too.";

/// Options of `checkpoint`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CheckpointArgs {
    /// The family: a library's path or its bare name
    #[arg(value_name = "PATH|NAME")]
    plugin: String,
    /// The published variant; an unknown one is answered with the known ones
    #[arg(long, value_name = "VARIANT")]
    variant: String,
    /// The folder to write; made if missing, refused if it holds something
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The same names with small shapes: loads in a moment on any machine
    #[arg(long)]
    tiny: bool,
    /// Same seed, same numbers
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Take configuration and tokenizer files from this folder where it has them, instead of made ones
    #[arg(long, value_name = "DIR")]
    texts_from: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Writes the checkpoint.
pub fn run(args: &CheckpointArgs) -> Outcome {
    observe::start(&LogSettings::text("warn")).map_err(Failure)?;
    let started = Instant::now();
    let blueprint = blueprint(args)?;
    let made = Made { folder: &args.out, seed: args.seed, texts_from: args.texts_from.as_deref() };
    let written = write(&blueprint, &made).map_err(|error| Failure(error.to_string()))?;
    let seconds = started.elapsed().as_secs_f64();
    if args.json {
        return output::print(&format!("{:#}", json!({"folder": args.out, "weights": written, "seconds": seconds})));
    }
    let lines = written.iter().map(line).chain([format!("{} is written, {seconds:.1} s", args.out.display())]);
    output::print(&lines.collect::<Vec<_>>().join("\n"))
}

fn blueprint(args: &CheckpointArgs) -> Result<Blueprint, Failure> {
    let spec = PluginSpec::bare(Some(args.plugin.clone()));
    let found = discover(&spec).map_err(|error| Failure(error.to_string()))?;
    let request = BlueprintRequest { variant: args.variant.clone(), is_tiny: args.tiny };
    contain("blueprint", || found.family.blueprint(&request)).map_err(|error| Failure(error.to_string()))
}

fn line(file: &Written) -> String {
    format!("{}: {} tensors, {} numbers, {} bytes", file.path, file.tensors, file.numbers, file.bytes)
}
