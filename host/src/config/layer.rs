//! One file, or one set of flags, in the shape in which layers are merged: top-level keys, stages by number, patches by platform.

use std::collections::BTreeMap;

use super::node::{Map, Node, Value};
use super::{ConfigError, Origin};

/// Most stages a pipeline may have.
const MAX_STAGES: usize = 32;
/// Older shapes of a stage, whose keys are read as if they stood in the stage itself.
const NESTED_SHAPES: [&str; 2] = ["engine_args", "runtime"];

/// A layer of configuration.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Layer {
    /// Keys of the whole pipeline.
    pub top: Map,
    /// Keys of each stage.
    pub stages: BTreeMap<u32, Map>,
    /// What a platform changes.
    pub platforms: BTreeMap<String, Layer>,
}

impl Layer {
    /// Reads a file's tree.
    pub fn read(root: Node) -> Result<Self, ConfigError> {
        let (mut top, origin) = expect_map(root, "")?;
        if let Some(old) = top.get("stage_args") {
            let message = "expected the keys of each stage under 'stages', found the older layout, which the reference refuses too";
            return Err(ConfigError::key(&old.origin, "stage_args", message));
        }
        let platforms = match top.remove("platforms") {
            Some(node) if !node.is_null() => platforms(node)?,
            _ => BTreeMap::new(),
        };
        let stages = stages(top.remove("stages"), "stages")?;
        too_many(&stages, &origin)?;
        Ok(Self { top, stages, platforms })
    }
}

/// Checks that a value is a mapping and takes it apart.
pub(crate) fn expect_map(node: Node, key: &str) -> Result<(Map, Origin), ConfigError> {
    let Node { value, origin } = node;
    match value {
        Value::Map(map) => Ok((map, origin)),
        other => {
            let found = Node::new(other, &origin).describe();
            Err(ConfigError::value(&origin, key, format!("expected a mapping, found {found}")))
        }
    }
}

fn platforms(node: Node) -> Result<BTreeMap<String, Layer>, ConfigError> {
    let (map, _) = expect_map(node, "platforms")?;
    map.into_iter().filter(|(_, patch)| !patch.is_null()).map(|(name, patch)| Ok((name.clone(), platform(&name, patch)?))).collect()
}

fn platform(name: &str, node: Node) -> Result<Layer, ConfigError> {
    let key = format!("platforms.{name}");
    let (mut top, _) = expect_map(node, &key)?;
    let stages = stages(top.remove("stages"), &format!("{key}.stages"))?;
    Ok(Layer { top, stages, platforms: BTreeMap::new() })
}

fn stages(node: Option<Node>, key: &str) -> Result<BTreeMap<u32, Map>, ConfigError> {
    let Some(node) = node.filter(|node| !node.is_null()) else { return Ok(BTreeMap::new()) };
    let Node { value, origin } = node;
    let Value::List(items) = value else {
        let found = Node::new(value, &origin).describe();
        return Err(ConfigError::value(&origin, key, format!("expected a list of stages, found {found}")));
    };
    let mut stages: BTreeMap<u32, Map> = BTreeMap::new();
    for (index, item) in items.into_iter().enumerate() {
        let (id, place, stage) = stage(item, &format!("{key}[{index}]"))?;
        if stages.insert(id, stage).is_some() {
            return Err(ConfigError::conflict(&place, key, format!("expected every stage_id once, found {id} twice")));
        }
    }
    Ok(stages)
}

fn stage(node: Node, key: &str) -> Result<(u32, Origin, Map), ConfigError> {
    let (mut map, origin) = expect_map(node, key)?;
    let Some(id) = map.remove("stage_id") else {
        return Err(ConfigError::key(&origin, key, "expected a stage_id, found none"));
    };
    let number = match id.value {
        Value::Int(number) => u32::try_from(number).ok(),
        _ => None,
    };
    let number = number.ok_or_else(|| {
        ConfigError::value(&id.origin, format!("{key}.stage_id"), format!("expected a stage number from 0 up, found {}", id.describe()))
    })?;
    for shape in NESTED_SHAPES {
        flatten(&mut map, shape, key)?;
    }
    Ok((number, id.origin, map))
}

/// Moves the keys of an older, nested shape up into the stage.
fn flatten(stage: &mut Map, shape: &str, key: &str) -> Result<(), ConfigError> {
    let Some(node) = stage.remove(shape).filter(|node| !node.is_null()) else { return Ok(()) };
    let (inner, _) = expect_map(node, &format!("{key}.{shape}"))?;
    for (name, value) in inner {
        match stage.get(&name) {
            Some(flat) if !flat.same_value(&value) => {
                let message = format!("expected one value, found {} here and {} at {}", value.describe(), flat.describe(), flat.origin);
                return Err(ConfigError::conflict(&value.origin, format!("{key}.{shape}.{name}"), message));
            }
            Some(_) => {}
            None => drop(stage.insert(name, value)),
        }
    }
    Ok(())
}

fn too_many(stages: &BTreeMap<u32, Map>, origin: &Origin) -> Result<(), ConfigError> {
    if stages.len() <= MAX_STAGES {
        return Ok(());
    }
    Err(ConfigError::value(origin, "stages", format!("expected at most {MAX_STAGES} stages, found {}", stages.len())))
}
