//! Variables of custom-voice servers: `TTS_` and the name of a flag of `serve` that takes a value, such as `TTS_MODEL` for `--model`. Their
//! deployments are set up by variables alone and go on working; what we have no flag for is told, not passed over.

use clap::{Arg, ArgAction, Command, CommandFactory};

use super::Cli;

/// How they begin.
const TTS: &str = "TTS_";
/// The command that has them.
const SERVE: &str = "serve";

/// The command line, whose flags of `serve` can be given as variables too. A flag wins over its variable.
pub fn command() -> Command {
    Cli::command().mut_subcommand(SERVE, |serve| {
        serve.mut_args(|arg| match variable(&arg) {
            Some(variable) => arg.env(variable).hide_env(true),
            None => arg,
        })
    })
}

/// The variable of a flag, unless it has one of its own or takes no value.
fn variable(arg: &Arg) -> Option<String> {
    let takes_value = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    let name = arg.get_long().filter(|_| takes_value && arg.get_env().is_none() && !arg.is_hide_set())?;
    Some(format!("{TTS}{}", name.to_uppercase().replace('-', "_")))
}

/// Which of these variables begin as they do and stand for no flag.
pub fn unread(names: impl Iterator<Item = String>) -> Vec<String> {
    let command = command();
    let flags = command.find_subcommand(SERVE).into_iter().flat_map(Command::get_arguments);
    let read: Vec<&str> = flags.filter_map(Arg::get_env).filter_map(|name| name.to_str()).collect();
    names.filter(|name| name.starts_with(TTS) && !read.contains(&name.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_that_takes_a_value_has_a_variable_and_others_are_told() {
        let names =
            ["TTS_HOST", "TTS_PROFILES_DIR", "TTS_MODEL", "TTS_MAX_QUEUE", "TTS_DTYPE", "TTS_WORKERS", "TTS_OMNI", "TTS_DOWNLOAD", "PATH"];
        assert_eq!(unread(names.map(str::to_owned).into_iter()), ["TTS_WORKERS", "TTS_OMNI", "TTS_DOWNLOAD"]);
    }

    #[test]
    fn a_secret_is_not_shown_by_the_help() {
        let serve = command();
        let serve = serve.find_subcommand(SERVE).expect("it is there");
        let has_key = |arg: &&Arg| arg.get_long() == Some("api-key");
        let key = serve.get_arguments().find(has_key).expect("it is there");
        assert!(key.get_env().is_some_and(|name| name == "TTS_API_KEY") && key.is_hide_env_set());
    }
}
