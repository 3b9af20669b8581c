//! `omni-host voices precompute`

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use omni_plugin_api::{ModelSource, NamedTensor};

use super::{Failure, Outcome, output, read};
use crate::cli::models::ModelArgs;
use crate::engine::{Engine, EngineSettings, ModelState, Served};
use crate::observe;
use crate::reference::{Clip, DecodeLimits, decode};
use crate::voices::precomputed::{Mode, Precomputed, write};
use crate::voices::{NameError, VoiceName};

/// How long a model may take to load, and to encode a clip.
const PATIENCE: Duration = Duration::from_secs(600);

/// Options of `voices precompute`.
#[derive(Debug, Args)]
pub struct PrecomputeArgs {
    /// Voices and their clips; what is said in a clip is read from a file beside it that ends with .txt, if there is one
    #[arg(required = true, value_name = "NAME=FILE")]
    voices: Vec<ClipArg>,
    /// The folder, which may hold other voices already
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// How the voices are to be used; by default in the fullest way that the family and the clip allow
    #[arg(long, value_enum)]
    mode: Option<Mode>,
    /// What is said in the only clip
    #[arg(long)]
    ref_text: Option<String>,
    /// The checkpoint of the only --plugin: a directory, or a model id of the local hub cache
    #[arg(long, value_name = "DIR|ID")]
    model: Option<String>,
    #[command(flatten)]
    models: ModelArgs,
}

/// A voice and its clip.
#[derive(Debug, Clone)]
struct ClipArg {
    name: VoiceName,
    file: PathBuf,
}

impl std::str::FromStr for ClipArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, file) = text.split_once('=').ok_or("NAME=FILE is expected")?;
        let name = VoiceName::read(name).map_err(|error: NameError| format!("the name {error}"))?;
        Ok(Self { name, file: PathBuf::from(file) })
    }
}

/// Prepares voices.
pub fn run(args: &PrecomputeArgs) -> Outcome {
    if args.ref_text.is_some() && args.voices.len() > 1 {
        return Err(Failure("--ref-text belongs to one clip; with several put each text into a file beside its clip".to_owned()));
    }
    let plugins = args.models.resolve(args.model.as_deref())?;
    let runtime = crate::cli::runtime(crate::cli::EDGE_THREADS)?;
    let outcome = runtime.block_on(async {
        let engine = Engine::new(EngineSettings { max_queue: 1, watchdog: PATIENCE, load_timeout: PATIENCE, ..EngineSettings::default() });
        engine.load(plugins, observe::progress());
        prepare_all(args, &loaded(&engine).await?).await
    });
    runtime.shutdown_background();
    outcome
}

/// The only model, when it can be asked.
async fn loaded(engine: &Engine) -> Result<std::sync::Arc<Served>, Failure> {
    engine.loaded().await;
    for status in engine.status() {
        if let ModelState::Failed(reason) = status.state {
            return Err(Failure(format!("the model '{}' could not be loaded: {reason}", status.model)));
        }
    }
    let mut served = engine.served();
    match (served.pop(), served.is_empty()) {
        (Some(model), true) if model.info.abilities.clones => Ok(model),
        (Some(model), true) => Err(Failure(format!("the family '{}' cannot clone a voice: there is nothing to prepare", model.info.name))),
        _ => Err(Failure("voices are prepared for one model: give one --plugin".to_owned())),
    }
}

async fn prepare_all(args: &PrecomputeArgs, model: &std::sync::Arc<Served>) -> Outcome {
    let bar = bar(args.voices.len() as u64);
    for voice in &args.voices {
        bar.set_message(voice.name.shown().to_owned());
        let (mode, seconds) = prepare(args, voice, model).await?;
        bar.inc(1);
        bar.suspend(|| output::print(&format!("prepared {} ({}, {seconds:.1} s)", voice.name.shown(), mode.name())))?;
    }
    bar.finish_and_clear();
    Ok(())
}

/// A bar on a terminal, nothing elsewhere: there each voice has its line.
fn bar(voices: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(voices), ProgressDrawTarget::stderr());
    bar.set_style(ProgressStyle::with_template("[{bar:30}] {pos}/{len} {msg}").unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

async fn prepare(args: &PrecomputeArgs, voice: &ClipArg, model: &std::sync::Arc<Served>) -> Result<(Mode, f64), Failure> {
    let of_file = |reason: String| Failure(format!("'{}': {reason}", voice.file.display()));
    let clip = decode(read(&voice.file)?, &DecodeLimits::default()).map_err(|error| of_file(error.to_string()))?;
    let transcript = transcript(args, &voice.file)?;
    let seconds = clip.seconds();
    let tensors = encode(model, clip, transcript.clone()).await.map_err(|reason| of_file(reason.0))?;
    let mode = mode(args.mode, &tensors, transcript.is_some()).map_err(of_file)?;
    let tensors = tensors.into_iter().filter(|tensor| mode.tensors().contains(&tensor.name.as_str())).collect();
    let prepared = Precomputed { name: voice.name.shown().to_owned(), mode, tensors, transcript, description: None };
    let source = match &model.source {
        ModelSource::Directory(folder) => folder.to_str(),
        ModelSource::BuiltIn => None,
    };
    write(&args.out, &model.info.name, source, &prepared).map_err(|error| Failure(format!("'{}': {error}", args.out.display())))?;
    Ok((mode, seconds))
}

async fn encode(model: &std::sync::Arc<Served>, clip: Clip, transcript: Option<String>) -> Result<Vec<NamedTensor>, Failure> {
    model.encode_reference(clip, transcript).await.map_err(|error| Failure(error.to_string()))
}

/// What is said in a clip.
fn transcript(args: &PrecomputeArgs, clip: &Path) -> Result<Option<String>, Failure> {
    let beside = clip.with_extension("txt");
    let text = match &args.ref_text {
        Some(text) => text.clone(),
        None if beside.is_file() => String::from_utf8(read(&beside)?).map_err(|_| Failure(format!("'{}' is no text", beside.display())))?,
        None => return Ok(None),
    };
    Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty()))
}

/// The mode that was asked for, if the family's tensors meet it; else the fullest that they meet.
fn mode(wanted: Option<Mode>, tensors: &[NamedTensor], has_transcript: bool) -> Result<Mode, String> {
    let made = || tensors.iter().map(|tensor| tensor.name.as_str()).collect::<Vec<_>>().join(", ");
    let can = |mode: Mode| mode.is_met_by(tensors) && (has_transcript || !mode.needs_transcript());
    match wanted {
        Some(mode) if can(mode) => Ok(mode),
        Some(mode) if mode.is_met_by(tensors) => Err(format!("mode '{}' needs what is said in the clip", mode.name())),
        Some(mode) => Err(format!("mode '{}' needs {}; the family makes {}", mode.name(), mode.tensors().join(" and "), made())),
        None => [Mode::Icl, Mode::Xvec, Mode::RefContinuation, Mode::Reference, Mode::Continuation]
            .into_iter()
            .find(|mode| can(*mode))
            .ok_or_else(|| format!("the family makes {}, which is not enough for any mode", made())),
    }
}
