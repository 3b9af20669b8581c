//! `omni-host batch`: speaks everything in a manifest.

mod item;
mod journal;
mod manifest;
mod run;

use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use self::run::{Plan, Summary};
use super::models::ModelArgs;
use super::{Failure, Outcome, output};
use crate::audio::Format;
use crate::engine::{Engine, EngineSettings, ModelState};
use crate::http::{self, ApiSettings, Guard, Limits};
use crate::observe::{self, LogSettings};
use crate::reference::{ReferenceSettings, References};

const EXAMPLES: &str = "\
Examples:
  omni-host batch --manifest lines.jsonl -o clips
  omni-host batch --manifest lines.csv -o clips --url http://127.0.0.1:8091 --concurrency 16
  omni-host batch --manifest book.json -o book --plugin qwen3_tts=/models/Qwen3-TTS-12Hz-1.7B-CustomVoice --format mp3

A manifest holds one request an item, with the fields of POST /v1/audio/speech (`text` stands for `input`) and `output`, the name of its file:
  JSON    a list of objects, or an object whose `items` is one and whose other members stand for every item
  JSONL   one object a line
  CSV     a header with the names of the fields, then one item a line

Run it again after an interruption: what report.jsonl says was spoken is not spoken again unless the item was changed.";

/// Options of `batch`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct BatchArgs {
    /// The manifest: a .json, .jsonl or .csv file
    #[arg(long, value_name = "FILE")]
    manifest: PathBuf,
    /// Directory for the audio and for report.jsonl; created if needed
    #[arg(short, long, value_name = "DIR", default_value = "batch")]
    output_dir: PathBuf,
    /// Items that are spoken at once
    #[arg(short, long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=512))]
    concurrency: u16,
    /// Format of items that name none, neither in a field nor by the end of their file's name
    #[arg(long, value_name = "FORMAT", default_value = "wav", value_parser = format)]
    format: Format,
    /// Voice of items that name none
    #[arg(short, long)]
    voice: Option<String>,
    /// Model of items that name none
    #[arg(short, long)]
    model: Option<String>,
    /// Ask this server instead of speaking in this process
    #[arg(long, value_name = "SERVER", conflicts_with = "plugin")]
    url: Option<String>,
    /// Where uploaded voices are kept: a folder, or s3://BUCKET/PREFIX; SPEAKER_SAMPLES_DIR without it
    #[arg(long, value_name = "PLACE", conflicts_with = "url")]
    voices: Option<String>,
    /// Folder of speakers' vectors, one .safetensors file a speaker, which items name as voices
    #[arg(long, value_name = "DIR", env = "TTS_PROFILES_DIR")]
    speaker_profiles: Option<PathBuf>,
    /// Speak every item, also those that were spoken before
    #[arg(long)]
    restart: bool,
    #[command(flatten)]
    models: ModelArgs,
}

fn format(text: &str) -> Result<Format, String> {
    let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
    Format::of_name(text).ok_or_else(|| format!("expected one of {}", names.join(", ")))
}

/// Speaks everything in a manifest.
pub fn run(args: &BatchArgs) -> Outcome {
    observe::start(&LogSettings::text("warn,omni_host::observe::progress=off")).map_err(Failure)?;
    let items = manifest::read(&args.manifest, &defaults(args))?;
    let plan = Plan::new(items, args.format, &args.output_dir, args.restart)?;
    let summary = match &args.url {
        Some(server) => plan.run(server, args.concurrency.into())?,
        None => run_here(args, plan)?,
    };
    told(&summary, args)
}

/// What stands for every item.
fn defaults(args: &BatchArgs) -> Map<String, Value> {
    let fields = [("voice", &args.voice), ("model", &args.model)];
    fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), json!(value.as_ref()?)))).collect()
}

fn told(summary: &Summary, args: &BatchArgs) -> Outcome {
    let Summary { spoken, skipped, failed, .. } = *summary;
    let (seconds, folder) = (summary.seconds, args.output_dir.display());
    output::print(&format!("{spoken} spoken, {skipped} spoken before, {failed} failed in {seconds:.1} s; see {folder}/{}", journal::NAME))?;
    match failed {
        0 => Ok(()),
        failed => Err(Failure(format!("{failed} of {} items failed; the first: {}", spoken + skipped + failed, summary.first_failure))),
    }
}

/// Loads the models in this process and speaks with them, as a server of its own on a port that nobody else knows.
fn run_here(args: &BatchArgs, plan: Plan) -> Result<Summary, Failure> {
    let plugins = args.models.resolve(None)?;
    let runtime = super::runtime(super::EDGE_THREADS)?;
    let engine = Engine::new(EngineSettings { max_queue: usize::from(args.concurrency) * 2, ..EngineSettings::default() });
    engine.load(plugins, observe::progress());
    let server = runtime.block_on(serve(args, &engine, &runtime))?;
    let summary = plan.run(&server, args.concurrency.into());
    runtime.shutdown_background();
    summary
}

/// Serves an engine on the loopback and gives its address, once its models are loaded.
async fn serve(args: &BatchArgs, engine: &Engine, runtime: &Runtime) -> Result<String, Failure> {
    engine.loaded().await;
    for status in engine.status() {
        if let ModelState::Failed(reason) = status.state {
            return Err(Failure(format!("the model '{}' could not be loaded: {reason}", status.model)));
        }
    }
    let references = References::new(ReferenceSettings { profiles: args.speaker_profiles.clone(), ..ReferenceSettings::default() });
    let app = super::stored::app(args.voices.as_deref(), engine.clone(), references, ApiSettings::default()).await?;
    let nowhere = |error: std::io::Error| Failure(format!("no port for the batch's own server: {error}"));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(nowhere)?;
    let address = listener.local_addr().map_err(nowhere)?;
    let router = http::router(app, Guard::default());
    runtime.spawn(http::run(listener, router, Limits::default(), std::future::pending()));
    Ok(format!("http://{address}"))
}
