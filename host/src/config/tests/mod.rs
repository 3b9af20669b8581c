//! Tests of the configuration as a whole.

mod chunk_policy;
mod connectors;
mod fitting;
mod flags;
mod hostile;
mod interpolation;
mod merging;
mod precedence;
mod selection;
mod shipped;
mod unknown_keys;
mod variables;

use clap::Parser;
use omni_plugin_api::{Abilities, Checkpoint as Known, DataKind, FamilyInfo, StageInfo, TextRules};

use super::{ConfigArgs, ConfigError, Given, Machine, Plan, Source, extract_stage_flags};

/// A command line with the configuration's flags and nothing else.
#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    config: ConfigArgs,
}

/// Names and values of an environment.
fn variables(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// The plan of a file under a command line and an environment.
fn plan_of(source: &Source, argv: &[&str], environment: &[(&str, &str)]) -> Result<Plan, ConfigError> {
    plan_for(source, None, argv, environment)
}

fn plan_for(source: &Source, family: Option<&FamilyInfo>, argv: &[&str], environment: &[(&str, &str)]) -> Result<Plan, ConfigError> {
    let (rest, stage_flags) = extract_stage_flags(argv.iter().map(Into::into))?;
    let args = Cli::try_parse_from(std::iter::once("test".into()).chain(rest)).expect("flags that are known").config;
    let (variables, machine) = (variables(environment), Machine::default());
    Given { args: &args, stage_flags: &stage_flags, variables: &variables, machine: &machine }.plan(Some(source), family, 1)
}

/// The plan of a text, or the message that refuses it.
fn plan(text: &str) -> Result<Plan, String> {
    plan_of(&Source::of_test("test.yaml", text), &[], &[]).map_err(|error| error.to_string())
}

/// The message that refuses a text.
fn refusal(text: &str) -> String {
    plan(text).expect_err("the text is refused")
}

/// A family with two stages.
fn family(name: &str, checkpoint: Known) -> FamilyInfo {
    let stage = |name: &str, input, output| StageInfo { name: name.to_owned(), input, output };
    FamilyInfo {
        name: name.to_owned(),
        title: String::new(),
        version: "1.0.0".to_owned(),
        description: String::new(),
        weights_license: String::new(),
        checkpoints: vec![checkpoint],
        request_schema: serde_json::json!({}),
        sample_rate_hz: 24_000,
        channels: 1,
        stages: vec![stage("talker", DataKind::Prompt, DataKind::Codes), stage("codec", DataKind::Codes, DataKind::Pcm)],
        abilities: Abilities { streams: true, ..Abilities::default() },
        text: TextRules::default(),
        deploy: String::new(),
        settings: Vec::new(),
    }
}
