//! `omni-host plugins list` and `omni-host plugins inspect`

use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand};
use omni_plugin_api::{FamilyInfo, INTERFACE_VERSION, ModelSource, Placement, Services, VoiceInfo, contain};
use serde_json::{Value, json};

use super::{Failure, Outcome, output};
use crate::observe::{self, LogSettings};
use crate::plugin::{self, Discovered, PluginSpec, discover, limited};

/// How long a family that carries its weights may take to load, to be asked for its voices.
const OPEN_LIMIT: Duration = Duration::from_secs(60);

const EXAMPLES: &str = "\
Examples:
  omni-host plugins list
  omni-host plugins inspect hibari
  omni-host plugins inspect plugins/libqwen3_tts.so --json";

/// What to show of the plugins.
#[derive(Debug, Subcommand)]
pub enum PluginsCommand {
    /// The families that can be loaded by name
    List(ListArgs),
    /// All that a family says of itself
    #[command(after_help = EXAMPLES)]
    Inspect(InspectArgs),
}

/// Options of `plugins list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Options of `plugins inspect`.
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// A family's bare name or a library's path
    #[arg(value_name = "NAME|PATH")]
    plugin: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(command: &PluginsCommand) -> Outcome {
    observe::start(&LogSettings::text("warn")).map_err(Failure)?;
    match command {
        PluginsCommand::List(args) => list(args),
        PluginsCommand::Inspect(args) => inspect(args),
    }
}

fn list(args: &ListArgs) -> Outcome {
    let files = plugin::list().into_iter().map(|file| PluginSpec::bare(Some(file.display().to_string())));
    let built_in = PluginSpec::bare(None);
    let entries: Vec<Value> = std::iter::once(built_in).chain(files).map(|spec| entry(&spec)).collect();
    if args.json {
        return output::print(&pretty(&Value::Array(entries)));
    }
    let folders: Vec<String> = plugin::search_path().iter().map(|folder| folder.display().to_string()).collect();
    let lines: Vec<String> = entries.iter().map(line).collect();
    output::print(&format!("{}\n\nsearched: {}", lines.join("\n"), folders.join(", ")))
}

fn entry(spec: &PluginSpec) -> Value {
    match discover(spec) {
        Ok(found) => summary(&found, &found.info),
        Err(error) => json!({"file": spec.plugin, "error": error.to_string()}),
    }
}

fn summary(found: &Discovered, info: &FamilyInfo) -> Value {
    json!({
        "name": info.name,
        "version": info.version,
        "description": info.description,
        "file": found.file,
        "build": found.build,
        "interface": INTERFACE_VERSION,
        "weights_license": info.weights_license,
    })
}

fn line(entry: &Value) -> String {
    let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
    match entry["error"].as_str() {
        Some(error) => format!("refused: {}", error.replace('\n', "\n         ")),
        None => {
            let file = entry["file"].as_str().unwrap_or("built in");
            format!("{:<16} {:<10} {file}\n{:<27} {}", text("name"), text("version"), "", text("description"))
        }
    }
}

fn inspect(args: &InspectArgs) -> Outcome {
    let spec = PluginSpec::bare(Some(args.plugin.clone()));
    let found = discover(&spec).map_err(|error| Failure(error.to_string()))?;
    let info = &found.info;
    let voices = voices(&found)?;
    let document = document(&found, info, voices.as_deref());
    output::print(&if args.json { pretty(&document) } else { page(&document, info, voices.as_deref()) })
}

/// The voices of a family that carries its weights; of any other they are known once a checkpoint is loaded.
fn voices(found: &Discovered) -> Result<Option<Vec<VoiceInfo>>, Failure> {
    if !found.info.checkpoints.is_empty() {
        return Ok(None);
    }
    let unknown = |reason: String| Failure(format!("its voices are not known, since it does not load: {reason}"));
    let family = Arc::clone(&found.family);
    let open = move || contain("open", || Ok(family.open(&ModelSource::BuiltIn, &Placement::default(), Services::silent())?.info()));
    let info = limited("open model", OPEN_LIMIT, open).map_err(|overrun| unknown(overrun.to_string()))?;
    info.map(|info| Some(info.voices)).map_err(|error| unknown(error.to_string()))
}

fn document(found: &Discovered, info: &FamilyInfo, voices: Option<&[VoiceInfo]>) -> Value {
    let mut document = summary(found, info);
    for (name, value) in [
        ("checkpoints", json!(info.checkpoints)),
        ("sample_rate", json!(info.sample_rate_hz)),
        ("channels", json!(info.channels)),
        ("abilities", json!(info.abilities)),
        ("text", json!(info.text)),
        ("stages", json!(info.stages)),
        ("voices", json!(voices)),
        ("request_schema", info.request_schema.clone()),
    ] {
        document[name] = value;
    }
    document
}

/// The document for people.
fn page(document: &Value, info: &FamilyInfo, voices: Option<&[VoiceInfo]>) -> String {
    let text = |name: &str| document[name].as_str().unwrap_or("built in").to_owned();
    let stages: Vec<String> = info.stages.iter().map(|stage| format!("{} ({:?} to {:?})", stage.name, stage.input, stage.output)).collect();
    let abilities = [("streams", info.abilities.streams), ("speed", info.abilities.native_speed), ("clones voices", info.abilities.clones)];
    let abilities: Vec<&str> = abilities.iter().filter(|(_, able)| *able).map(|(name, _)| *name).collect();
    let rows = [
        ("family", format!("{} {}", info.name, info.version)),
        ("", info.description.clone()),
        ("file", text("file")),
        ("build", text("build")),
        ("interface", INTERFACE_VERSION.to_owned()),
        ("licence", info.weights_license.clone()),
        ("audio", format!("{} Hz, {} channel(s)", info.sample_rate_hz, info.channels)),
        ("abilities", abilities.join(", ")),
        ("stages", stages.join(", then ")),
        ("voices", voices.map_or("known once a checkpoint is loaded".to_owned(), voice_lines)),
        ("fields", pretty(&info.request_schema)),
    ];
    rows.map(|(name, value)| format!("{name:<10} {}", value.replace('\n', "\n           "))).join("\n")
}

fn voice_lines(voices: &[VoiceInfo]) -> String {
    let lines = voices.iter().map(|voice| format!("{} [{}] {}", voice.name, voice.languages.join(", "), voice.description));
    lines.collect::<Vec<_>>().join("\n")
}

fn pretty(document: &Value) -> String {
    format!("{document:#}")
}
