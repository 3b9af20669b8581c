//! `omni-host voices`: uploaded voices in a store or on a server, and voices prepared for a model.

mod here;
mod precompute;
mod server;
mod show;
mod wav;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Failure, Outcome, output};
use crate::observe::{self, LogSettings};
use here::Here;
use server::Server;

const EXAMPLES: &str = "\
Examples:
  omni-host voices add anne anne.wav --ref-text \"What Anne says in it.\"
  omni-host voices add anne anne.wav --url http://127.0.0.1:8091
  omni-host voices list --voices s3://bucket/voices
  omni-host voices export anne anne.safetensors
  omni-host voices mix \"anne(2)+bob\" --name between
  omni-host voices precompute --plugin qwen3_tts=/models/Base --out /voices --mode icl anne=anne.wav

Without --url and --voices the commands work on the folder that SPEAKER_SAMPLES_DIR names, or the one that a server uses without it.
A running server sees within seconds what changes there.";

/// What to do with voices.
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum VoicesCommand {
    /// Show the uploaded voices
    List {
        #[command(flatten)]
        place: PlaceArgs,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Store a voice: a clip of 1 to 30 seconds, or a speaker's vector
    Add(AddArgs),
    /// Delete voices
    Rm {
        /// The voices
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Write a voice to a file that `import` takes; a server hands no voices out, so it works on a store only
    Export {
        /// The voice
        name: String,
        /// The file
        file: PathBuf,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Store voices from files that `export`, a server or vLLM-Omni wrote
    Import {
        /// The files
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Store a mixture of voices by their speaker vectors: "anne(2)+bob" is two thirds Anne
    Mix {
        /// The mixture
        mixture: String,
        /// What the new voice is called
        #[arg(long)]
        name: String,
        /// The id of its speakers' consent
        #[arg(long, default_value = "mixed")]
        consent: String,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Prepare voices for a model: what it makes of clips is kept in a folder for `custom_voice_dir`
    Precompute(precompute::PrecomputeArgs),
}

/// Where the voices are.
#[derive(Debug, Clone, Args)]
pub struct PlaceArgs {
    /// A running server
    #[arg(long, value_name = "URL", conflicts_with = "voices")]
    url: Option<String>,
    /// A folder, or s3://BUCKET/PREFIX
    #[arg(long, value_name = "PLACE")]
    voices: Option<String>,
}

/// Options of `voices add`.
#[derive(Debug, Args)]
pub struct AddArgs {
    /// What the voice is called
    name: String,
    /// A clip in any common format, or a JSON array of numbers in a file that ends with .json
    file: PathBuf,
    /// What is said in the clip
    #[arg(long)]
    ref_text: Option<String>,
    /// A sentence about the speaker
    #[arg(long)]
    description: Option<String>,
    /// The id of the speaker's consent
    #[arg(long, default_value = "given")]
    consent: String,
    #[command(flatten)]
    place: PlaceArgs,
}

/// A place for voices, as the commands use it.
trait Place {
    /// The uploaded voices, as a server lists them.
    fn list(&self) -> Result<Vec<serde_json::Value>, Failure>;
    /// Stores the voice in a file; says what it is called.
    fn add(&self, args: &AddArgs) -> Result<String, Failure>;
    /// Deletes a voice.
    fn remove(&self, name: &str) -> Outcome;
    /// The file of a voice.
    fn export(&self, name: &str) -> Result<Vec<u8>, Failure>;
    /// Stores the voice of such a file; says what it is called.
    fn import(&self, file: &[u8]) -> Result<String, Failure>;
    /// Stores a mixture.
    fn mix(&self, mixture: &str, name: &str, consent: &str) -> Outcome;
}

impl PlaceArgs {
    fn open(&self) -> Result<Box<dyn Place>, Failure> {
        match &self.url {
            Some(url) => Ok(Box::new(Server::new(url))),
            None => Ok(Box::new(Here::open(self.voices.as_deref())?)),
        }
    }
}

/// Runs the command.
pub fn run(command: &VoicesCommand) -> Outcome {
    observe::start(&LogSettings::text("warn")).map_err(Failure)?;
    match command {
        VoicesCommand::List { place, json } => show::list(&place.open()?.list()?, *json),
        VoicesCommand::Add(args) => stored(&args.place.open()?.add(args)?),
        VoicesCommand::Rm { names, place } => remove(&*place.open()?, names),
        VoicesCommand::Export { name, file, place } => {
            let bytes = place.open()?.export(name)?;
            std::fs::write(file, bytes).map_err(|error| Failure(format!("'{}' cannot be written: {error}", file.display())))
        }
        VoicesCommand::Import { files, place } => import(&*place.open()?, files),
        VoicesCommand::Mix { mixture, name, consent, place } => {
            place.open()?.mix(mixture, name, consent)?;
            stored(name)
        }
        VoicesCommand::Precompute(args) => precompute::run(args),
    }
}

fn stored(name: &str) -> Outcome {
    output::print(&format!("stored {name}"))
}

fn remove(place: &dyn Place, names: &[String]) -> Outcome {
    for name in names {
        place.remove(name)?;
        output::print(&format!("deleted {name}"))?;
    }
    Ok(())
}

fn import(place: &dyn Place, files: &[PathBuf]) -> Outcome {
    for file in files {
        stored(&place.import(&read(file)?)?)?;
    }
    Ok(())
}

/// A file of the user's.
fn read(file: &std::path::Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(file).map_err(|error| Failure(format!("'{}' cannot be read: {error}", file.display())))
}
