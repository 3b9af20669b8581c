//! Laying one layer over another.
//!
//! A key of the higher layer wins. What happens when both sides hold a mapping depends on the key and on what is laid over what; see
//! [`Depth`]. Within trees in which a key is either always a mapping or never, every rule is associative, except that a patch of depth one
//! must be laid over a file and not over another patch.

use super::finding::{Finding, FindingKind};
use super::layer::Layer;
use super::node::{Map, Node, Value};

/// What happens to a mapping under a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// The higher one replaces the lower one.
    Replace,
    /// The higher one's keys are laid over the lower one's, and replace what is there.
    One,
    /// They are merged key by key, at every depth.
    Full,
}

/// Which rule holds for a stage's keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// A file over the file that it names as its base.
    Child,
    /// A platform's section over the file.
    Platform,
    /// Flags and variables over everything.
    Override,
}

/// Keys of a stage whose mappings are merged when a file is laid over its base.
const MERGED_KEYS: [&str; 4] = ["default_sampling_params", "default_pooling_params", "subtalker_sampling_params", "engine_extras"];

impl Rule {
    fn of_stage_key(self, key: &str) -> Depth {
        match self {
            Rule::Override => Depth::Full,
            Rule::Child if MERGED_KEYS.contains(&key) => Depth::Full,
            Rule::Platform if MERGED_KEYS.contains(&key) || key == "env" => Depth::One,
            Rule::Child | Rule::Platform => Depth::Replace,
        }
    }

    fn of_top_key(self, key: &str) -> Depth {
        match self {
            Rule::Override => Depth::Full,
            Rule::Child | Rule::Platform if key == "connectors" => Depth::Full,
            Rule::Child | Rule::Platform => Depth::Replace,
        }
    }
}

/// Lays a file over its base, platform sections included.
pub fn over_base(mut base: Layer, child: Layer, findings: &mut Vec<Finding>) -> Layer {
    overlay(&mut base.top, child.top, "", &|key| Rule::Child.of_top_key(key), findings);
    for (id, stage) in child.stages {
        over_stage(base.stages.entry(id).or_default(), stage, Rule::Child, &format!("stages.{id}"), findings);
    }
    for (name, patch) in child.platforms {
        let below = base.platforms.remove(&name).unwrap_or_default();
        base.platforms.insert(name, over_base(below, patch, findings));
    }
    base
}

/// Lays a platform's section, or flags, over the stages there are. Gives the stages that are not there.
pub fn over_existing(below: &mut Layer, patch: Layer, rule: Rule, findings: &mut Vec<Finding>) -> Vec<(u32, Map)> {
    overlay(&mut below.top, patch.top, "", &|key| rule.of_top_key(key), findings);
    let mut without = Vec::new();
    for (id, stage) in patch.stages {
        match below.stages.get_mut(&id) {
            Some(there) => over_stage(there, stage, rule, &format!("stages.{id}"), findings),
            None => without.push((id, stage)),
        }
    }
    without
}

/// Lays keys over a stage.
pub fn over_stage(below: &mut Map, above: Map, rule: Rule, key: &str, findings: &mut Vec<Finding>) {
    overlay(below, above, key, &|name| rule.of_stage_key(name), findings);
}

fn overlay(below: &mut Map, above: Map, path: &str, depth: &dyn Fn(&str) -> Depth, findings: &mut Vec<Finding>) {
    for (key, higher) in above {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        let merged = match below.remove(&key) {
            Some(lower) => over_value(lower, higher, depth(&key), &path, findings),
            None => higher,
        };
        below.insert(key, merged);
    }
}

fn over_value(lower: Node, higher: Node, depth: Depth, path: &str, findings: &mut Vec<Finding>) -> Node {
    if lower.as_map().is_some() != higher.as_map().is_some() && !lower.is_null() && !higher.is_null() {
        let message = format!("replaces {} of {} by {}", lower.describe(), lower.origin, higher.describe());
        findings.push(Finding::new(FindingKind::Adjusted, &higher.origin, path, message));
    }
    let below = match depth {
        Depth::Replace => return higher,
        Depth::One => Depth::Replace,
        Depth::Full => Depth::Full,
    };
    match (lower.value, higher.value) {
        (Value::Map(mut map), Value::Map(above)) => {
            overlay(&mut map, above, path, &|_| below, findings);
            Node { value: Value::Map(map), origin: higher.origin }
        }
        (_, value) => Node { value, origin: higher.origin },
    }
}
