//! The command line: `serve`, `say`, `batch`, `check`, `checkpoint`, `plugins`, `voices`.

mod api;
mod batch;
mod check;
mod checkpoint;
mod deploy;
mod heap;
mod media;
mod models;
mod operate;
mod output;
mod play;
mod plugins;
mod remote;
mod say;
mod serve;
mod signals;
mod stored;
mod variables;
mod voices;

use std::process::ExitCode;

use clap::{FromArgMatches, Parser, Subcommand};
use tokio::runtime::{Builder, Runtime};

use crate::config::extract_stage_flags;

const EXAMPLES: &str = "\
Examples:
  omni-host say \"hello\"                        speak with the built-in voice
  omni-host say \"hello\" -o hello.wav           save it
  omni-host serve                              serve the built-in voice on http://127.0.0.1:8091
  omni-host serve --plugin qwen3_tts=/models/Qwen3-TTS-12Hz-1.7B-Base
  omni-host check deploy.yaml                  what a deploy file comes to
  omni-host check --model /models/some         what of a checkpoint loads
  omni-host plugins inspect hibari             what a family is and takes
  omni-host voices add anne anne.wav           store a voice to clone";

/// A text-to-speech server with the OpenAI-compatible speech API.
#[derive(Debug, Parser)]
#[command(name = "omni-host", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the speech API over HTTP.
    Serve(Box<serve::ServeArgs>),
    /// Speak a text, aloud or into a file.
    Say(say::SayArgs),
    /// Speak everything in a manifest into files.
    Batch(batch::BatchArgs),
    /// Check a deploy file, what a family would be served with, and which tensors of a checkpoint load, without loading a model.
    Check(check::CheckArgs),
    /// Write a checkpoint of random numbers with the published names and shapes, to try a family without trained weights.
    Checkpoint(checkpoint::CheckpointArgs),
    /// Show the model families there are.
    #[command(subcommand)]
    Plugins(plugins::PluginsCommand),
    /// Manage uploaded voices, here or on a server, and prepare voices for a model.
    #[command(subcommand)]
    Voices(Box<voices::VoicesCommand>),
}

/// Why a command did not do what it was asked: one message for standard error.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
struct Failure(String);

type Outcome = Result<(), Failure>;

/// Runs the command line of the process.
pub fn main() -> ExitCode {
    heap::settle();
    let outcome = run();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output::complain(&format!("error: {failure}"));
            ExitCode::FAILURE
        }
    }
}

/// Takes the flags of single stages out, parses the rest, and does what is asked.
fn run() -> Outcome {
    let (arguments, stage_flags) = extract_stage_flags(std::env::args_os()).map_err(|error| Failure(error.to_string()))?;
    let matches = variables::command().get_matches_from(arguments);
    match Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit()).command {
        Command::Serve(args) => serve::run(&args, stage_flags),
        Command::Check(args) => check::run(&args, &stage_flags),
        Command::Checkpoint(args) => checkpoint::run(&args),
        Command::Say(args) => say::run(&args),
        Command::Batch(args) => batch::run(&args),
        Command::Plugins(command) => plugins::run(&command),
        Command::Voices(command) => voices::run(&command),
    }
}

/// Threads of the edge. Two are enough: what computes has threads of its own.
const EDGE_THREADS: usize = 2;

/// The runtime of the edge.
fn runtime(threads: usize) -> Result<Runtime, Failure> {
    let built = Builder::new_multi_thread().worker_threads(threads).thread_name("edge").enable_all().build();
    built.map_err(|error| Failure(format!("the threads of the server cannot be started: {error}")))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_arguments_are_consistent() {
        super::variables::command().debug_assert();
    }
}
