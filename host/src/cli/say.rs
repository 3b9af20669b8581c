//! `omni-host say`

use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde_json::{Map, Value, json};

use super::models::ModelArgs;
use super::{Failure, Outcome, output, play, remote};
use crate::audio::Format;
use crate::engine::{Engine, EngineSettings, ModelState};
use crate::http::speech::{Clip, SpeechForm, accept, collect};
use crate::http::{ApiError, ApiSettings};
use crate::observe::{self, LogSettings};
use crate::plugin::PluginSpec;
use crate::reference::References;

const EXAMPLES: &str = "\
Examples:
  omni-host say \"hello\"
  omni-host say \"hello\" -o hello.wav
  echo \"hello\" | omni-host say - -o - | aplay
  omni-host say \"hello\" --seed 7 --speed 1.2 -v heart
  omni-host say \"hello\" --model /models/Qwen3-TTS-12Hz-1.7B-CustomVoice
  omni-host say \"hello\" --url http://127.0.0.1:8091";

/// Most bytes of text from standard input.
const MAX_STDIN_BYTES: u64 = 16 << 20;
/// What is logged: what is odd, but not the failed load, which is the command's own error.
const LOGGED: &str = "warn,omni_host::observe::progress=off";
/// Time for a model to load, and for its plugin to work without a sign of life.
const PATIENCE: Duration = Duration::from_secs(600);

/// Options of `say`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SayArgs {
    /// The text; - reads it from standard input
    text: String,
    /// File to save to; the end of its name is the format: .wav .flac .mp3 .opus .aac, or .pcm for bare 16-bit samples. - writes WAV to standard output. Without it the text is played
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The voice
    #[arg(short, long)]
    voice: Option<String>,
    /// The model: a checkpoint's folder or its id of the hub, or a name that the server or the only --plugin knows
    #[arg(short, long)]
    model: Option<String>,
    /// Ask this server instead of speaking in this process
    #[arg(long, value_name = "SERVER", conflicts_with = "plugin")]
    url: Option<String>,
    /// The seed; with the same one the same text sounds the same
    #[arg(long, allow_negative_numbers = true)]
    seed: Option<i64>,
    /// Speaking rate, 0.25 to 4
    #[arg(long, value_parser = speed)]
    speed: Option<f64>,
    #[command(flatten)]
    models: ModelArgs,
}

/// Speaks.
pub fn run(args: &SayArgs) -> Outcome {
    observe::start(&LogSettings::text(LOGGED)).map_err(Failure)?;
    let target = Target::of(args.output.as_deref())?;
    let text = text(&args.text)?;
    let bytes = match &args.url {
        Some(url) => remote::speak(url, &request(args, args.model.as_deref(), &text, target.format()))?,
        None => speak_here(args, &text, target.format())?,
    };
    target.deliver(&bytes)
}

fn speed(text: &str) -> Result<f64, String> {
    let speed = text.parse().ok().filter(|speed| (0.25..=4.0).contains(speed));
    speed.ok_or_else(|| "a number from 0.25 to 4 is expected".to_owned())
}

fn text(argument: &str) -> Result<String, Failure> {
    if argument != "-" {
        return Ok(argument.to_owned());
    }
    let mut text = String::new();
    let read = io::stdin().lock().take(MAX_STDIN_BYTES).read_to_string(&mut text);
    read.map_err(|error| Failure(format!("no text from standard input: {error}")))?;
    Ok(text)
}

/// The request as the server's API has it, so that both ways of speaking obey the same rules.
fn request(args: &SayArgs, model: Option<&str>, text: &str, format: Format) -> Map<String, Value> {
    let fields = [
        ("input", json!(text)),
        ("model", json!(model)),
        ("voice", json!(args.voice)),
        ("seed", json!(args.seed)),
        ("speed", json!(args.speed)),
        ("response_format", json!(format.name())),
    ];
    fields.into_iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Loads a model in this process and speaks with it.
fn speak_here(args: &SayArgs, text: &str, format: Format) -> Result<Vec<u8>, Failure> {
    let is_checkpoint = match args.models.plugin.as_slice() {
        [] => args.model.as_deref().is_some_and(is_checkpoint),
        [plugin] => plugin.model.is_none(),
        _ => false,
    };
    let (checkpoint, name) = if is_checkpoint { (args.model.as_deref(), None) } else { (None, args.model.as_deref()) };
    let plugins = args.models.resolve(checkpoint)?;
    let form = SpeechForm::read(request(args, name, text, format)).map_err(|error| refused(&error))?;
    let runtime = super::runtime(super::EDGE_THREADS)?;
    let clip = runtime.block_on(speak(plugins, form));
    runtime.shutdown_background();
    let clip = clip?;
    for warning in &clip.head.warnings {
        output::complain(&format!("warning: {warning}"));
    }
    Ok(clip.bytes)
}

/// Whether a model's name is a folder or an id of the hub: models are not called with a slash.
fn is_checkpoint(model: &str) -> bool {
    model.contains('/') || Path::new(model).is_dir()
}

async fn speak(plugins: Vec<PluginSpec>, form: SpeechForm) -> Result<Clip, Failure> {
    let engine = Engine::new(EngineSettings { max_queue: 1, watchdog: PATIENCE, load_timeout: PATIENCE, ..EngineSettings::default() });
    engine.load(plugins, observe::progress());
    engine.loaded().await;
    for status in engine.status() {
        if let ModelState::Failed(reason) = status.state {
            return Err(Failure(format!("the model '{}' could not be loaded: {reason}", status.model)));
        }
    }
    let app = super::stored::app(None, engine, References::default(), ApiSettings::default()).await?;
    let accepted = accept(&app, form).await.map_err(|error| refused(&error))?;
    let stream = accepted.speak(&app).await.map_err(|error| refused(&error))?;
    collect(stream, accepted.wanted, None).await.map_err(|error| refused(&error))
}

fn refused(error: &ApiError) -> Failure {
    Failure(error.message().to_owned())
}

/// Where the audio goes.
enum Target {
    File(PathBuf, Format),
    Stdout,
    Player(Vec<play::Player>),
}

impl Target {
    /// Decided, and refused, before anything is spoken.
    fn of(output: Option<&Path>) -> Result<Self, Failure> {
        match output {
            None => Ok(Self::Player(play::players()?)),
            Some(path) if path.as_os_str() == "-" && io::stdout().is_terminal() => {
                Err(Failure("standard output is a terminal, which cannot take audio; redirect it, or use -o FILE".to_owned()))
            }
            Some(path) if path.as_os_str() == "-" => Ok(Self::Stdout),
            Some(path) => Ok(Self::File(path.to_owned(), format_of(path)?)),
        }
    }

    fn format(&self) -> Format {
        match self {
            Target::File(_, format) => *format,
            Target::Stdout | Target::Player(_) => Format::Wav,
        }
    }

    fn deliver(&self, bytes: &[u8]) -> Outcome {
        match self {
            Target::File(path, _) => {
                std::fs::write(path, bytes).map_err(|error| Failure(format!("'{}' cannot be written: {error}", path.display())))
            }
            Target::Stdout => output::write(bytes),
            Target::Player(players) => play::play(players, bytes),
        }
    }
}

/// The format of a file by the end of its name; WAV where the end says nothing.
fn format_of(path: &Path) -> Result<Format, Failure> {
    let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default().to_ascii_lowercase();
    match end.as_str() {
        "pcm" | "raw" => Ok(Format::Pcm),
        "ogg" => Ok(Format::Opus),
        "m4a" | "mp4" | "webm" => {
            Err(Failure(format!("'{}': {end} is not a format of this server; use one of {}", path.display(), formats())))
        }
        name => Ok(Format::of_name(name).unwrap_or_default()),
    }
}

fn formats() -> String {
    Format::ALL.iter().map(|format| format!(".{}", format.name())).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_name_is_the_format() {
        for (name, wanted) in [
            ("a.wav", Format::Wav),
            ("a", Format::Wav),
            ("a.PCM", Format::Pcm),
            ("a.raw", Format::Pcm),
            ("a.MP3", Format::Mp3),
            ("a.ogg", Format::Opus),
        ] {
            assert_eq!(format_of(Path::new(name)), Ok(wanted), "{name}");
        }
        assert!(format_of(Path::new("a.m4a")).is_err());
    }
}
