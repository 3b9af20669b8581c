//! What is set over the files: variables of the environment and flags, in order of rank.

use std::collections::BTreeMap;

use super::flags::{ConfigArgs, Scoped};
use super::node::{Map, Node, Value};
use super::stage_flags::StageFlag;
use super::{ConfigError, Origin, environment, yaml};

/// One rank of values that are set over the files.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Override {
    /// Keys of the whole pipeline.
    pub top: Map,
    /// Keys that every stage gets.
    pub every_stage: Map,
    /// Keys of single stages.
    pub stages: BTreeMap<u32, Map>,
}

/// For which family flags are read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Scope<'a> {
    /// Its name; empty when no family is known.
    pub family: &'a str,
    /// How many families the host has.
    pub families: usize,
}

/// Keys of a flag or variable for everything: those of the whole pipeline.
pub(crate) const FOR_PIPELINE: [&str; 3] = ["active_stream_window", "async_chunk", "custom_voice_dir"];
/// Keys of a flag or variable for everything: those of every stage.
pub(crate) const FOR_EVERY_STAGE: [&str; 12] = [
    "devices",
    "dtype",
    "enforce_eager",
    "gpu_memory_utilization",
    "kv_cache_memory_bytes",
    "max_model_len",
    "max_num_batched_tokens",
    "max_num_seqs",
    "quantization",
    "request_batch_max_wait_ms",
    "trust_remote_code",
    "tts_max_instructions_length",
];

impl Override {
    /// Sets a key of everything.
    pub(crate) fn set(&mut self, key: &str, node: Node) {
        let map = if FOR_PIPELINE.contains(&key) { &mut self.top } else { &mut self.every_stage };
        map.insert(key.to_owned(), node);
    }
}

/// All that is set over the files, the lowest rank first: variables for everything, variables for one stage, flags for everything,
/// flags for one stage.
pub fn overrides(
    args: &ConfigArgs,
    stage_flags: &[StageFlag],
    variables: &[(String, String)],
    scope: Scope<'_>,
) -> Result<Vec<Override>, ConfigError> {
    let [everywhere, single] = environment::overrides(variables)?;
    refuse_unscoped(scope, single.stages.values().flat_map(Map::values).next())?;
    let flags = from_stage_flags(stage_flags)?;
    refuse_unscoped(scope, flags.values().flat_map(Map::values).next())?;
    let mut stages = BTreeMap::new();
    for json in args.stage_overrides.iter().filter(|scoped| scoped.is_for(scope.family)) {
        add(&mut stages, from_json(json, scope, "--stage-overrides")?)?;
    }
    for json in args.default_sampling_params.iter().filter(|scoped| scoped.is_for(scope.family)) {
        let sampling = from_json(json, scope, "--default-sampling-params")?;
        add(&mut stages, sampling.into_iter().map(|(id, values)| (id, as_sampling(values))).collect())?;
    }
    add(&mut stages, flags)?;
    Ok(vec![everywhere, single, args.everywhere(), Override { stages, ..Override::default() }])
}

fn refuse_unscoped(scope: Scope<'_>, first: Option<&Node>) -> Result<(), ConfigError> {
    match first {
        Some(node) if scope.families > 1 => {
            let message = "expected the family whose stage is meant, since there are several: --stage-overrides FAMILY=JSON";
            Err(ConfigError::new(super::ConfigErrorKind::Selection, &node.origin, "", message))
        }
        _ => Ok(()),
    }
}

/// Sampling values as the key of a stage that holds them.
fn as_sampling(values: Map) -> Map {
    let origin = values.values().next().map(|node| node.origin.clone()).unwrap_or_default();
    Map::from([("default_sampling_params".to_owned(), Node::new(Value::Map(values), &origin))])
}

fn from_json(scoped: &Scoped, scope: Scope<'_>, flag: &str) -> Result<BTreeMap<u32, Map>, ConfigError> {
    let origin = Origin::Flag(flag.to_owned());
    let json = serde_json::from_str(&scoped.value).map_err(|error| {
        ConfigError::value(&origin, "", format!("expected a JSON object of stage numbers, such as {{\"0\": {{…}}}}, found: {error}"))
    })?;
    let root = Node::from_json(json, &origin);
    if scoped.family.is_none() {
        refuse_unscoped(scope, Some(&root))?;
    }
    let Some(map) = root.as_map() else {
        return Err(ConfigError::value(
            &origin,
            "",
            format!("expected a JSON object with a stage number a key, found {}", root.describe()),
        ));
    };
    map.iter().map(|(key, stage)| stage_of_json(key, stage)).collect()
}

fn stage_of_json(key: &str, stage: &Node) -> Result<(u32, Map), ConfigError> {
    let id = key.parse::<u32>().ok().filter(|id| id.to_string() == key);
    match (id, stage.as_map()) {
        (Some(id), Some(map)) => Ok((id, map.clone())),
        (None, _) => Err(ConfigError::key(&stage.origin, key, "expected a stage number as key, found something else")),
        (_, None) => Err(ConfigError::value(&stage.origin, key, format!("expected an object of keys, found {}", stage.describe()))),
    }
}

fn from_stage_flags(flags: &[StageFlag]) -> Result<BTreeMap<u32, Map>, ConfigError> {
    let mut stages = BTreeMap::new();
    for flag in flags {
        let origin = Origin::Flag(flag.flag.clone());
        let node = yaml::parse_value(&flag.value, &origin)?;
        let stage = BTreeMap::from([(flag.stage, Map::from([(flag.key.clone(), node)]))]);
        add(&mut stages, stage)?;
    }
    Ok(stages)
}

/// Adds keys of the same rank, which may say the same twice and not two things.
fn add(stages: &mut BTreeMap<u32, Map>, more: BTreeMap<u32, Map>) -> Result<(), ConfigError> {
    for (id, keys) in more {
        agree(stages.entry(id).or_default(), keys, &format!("stages.{id}"))?;
    }
    Ok(())
}

fn agree(map: &mut Map, more: Map, path: &str) -> Result<(), ConfigError> {
    for (key, node) in more {
        let path = format!("{path}.{key}");
        match (map.get_mut(&key), node) {
            (None, node) => drop(map.insert(key, node)),
            (Some(Node { value: Value::Map(known), .. }), Node { value: Value::Map(inner), .. }) => agree(known, inner, &path)?,
            (Some(known), node) if known.same_value(&node) => {}
            (Some(known), node) => {
                let message = format!("expected one value, found {} here and {} by {}", node.describe(), known.describe(), known.origin);
                return Err(ConfigError::conflict(&node.origin, path, message));
            }
        }
    }
    Ok(())
}
