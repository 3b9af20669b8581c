//! Keys that nobody knows and values that do nothing here, each with its place.

use super::finding::{Finding, FindingKind};
use super::keys::{self, Keys, Use};
use super::layer::Layer;
use super::node::{Map, Node, Value};

/// Looks through a merged layer. Of the sections for other platforms only the keys that nobody knows are worth a word.
pub(crate) fn inspect(layer: &Layer, platform: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    table(&layer.top, keys::TOP, "", &mut findings);
    connectors(&layer.top, &mut findings);
    edges(&layer.top, &mut findings);
    stages(layer, "stages", &mut findings);
    for (name, patch) in &layer.platforms {
        let mut found = Vec::new();
        table(&patch.top, keys::PLATFORM, &format!("platforms.{name}"), &mut found);
        stages(patch, &format!("platforms.{name}.stages"), &mut found);
        found.retain(|finding| name == platform || finding.kind == FindingKind::UnknownKey);
        findings.extend(found);
    }
    findings
}

fn stages(layer: &Layer, path: &str, findings: &mut Vec<Finding>) {
    for (id, stage) in &layer.stages {
        self::stage(stage, &format!("{path}.{id}"), findings);
    }
}

/// Looks through a stage.
pub(crate) fn stage(stage: &Map, path: &str, findings: &mut Vec<Finding>) {
    table(stage, keys::STAGE, path, findings);
    let inner =
        [("default_sampling_params", keys::SAMPLING), ("subtalker_sampling_params", keys::SUBTALKER), ("engine_extras", keys::STAGE)];
    for (name, keys) in inner {
        if let Some(map) = stage.get(name).and_then(Node::as_map) {
            table(map, keys, &format!("{path}.{name}"), findings);
        }
    }
    for side in ["output_connectors", "input_connectors"] {
        let ends = stage.get(side).and_then(Node::as_map).into_iter().flatten();
        for (name, end) in ends {
            connector(end, &format!("{path}.{side}.{name}"), findings);
        }
    }
}

fn connectors(top: &Map, findings: &mut Vec<Finding>) {
    for (name, node) in top.get("connectors").and_then(Node::as_map).into_iter().flatten() {
        connector(node, &format!("connectors.{name}"), findings);
    }
}

fn connector(node: &Node, path: &str, findings: &mut Vec<Finding>) {
    let Some(map) = node.as_map() else { return };
    table(map, keys::CONNECTOR, path, findings);
    if let Some(extra) = map.get("extra").and_then(Node::as_map) {
        table(extra, keys::EXTRA, &format!("{path}.extra"), findings);
    }
}

fn edges(top: &Map, findings: &mut Vec<Finding>) {
    let Some(Value::List(edges)) = top.get("edges").map(|node| &node.value) else { return };
    for (index, edge) in edges.iter().enumerate() {
        if let Some(map) = edge.as_map() {
            table(map, keys::EDGE, &format!("edges.{index}"), findings);
        }
    }
}

fn table(map: &Map, keys: Keys, path: &str, findings: &mut Vec<Finding>) {
    for (name, node) in map {
        let key = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let finding = match keys::find(keys, name) {
            None => (FindingKind::UnknownKey, format!("nobody reads this key{}", keys::suggestion(keys, name))),
            Some(Use::Inert(reason)) if !node.is_null() => (FindingKind::NoEffect, format!("has no effect here: {reason}")),
            Some(Use::OnlyOff(reason)) if !is_off(node) => (FindingKind::NoEffect, format!("has no effect here: {reason}")),
            Some(_) => continue,
        };
        findings.push(Finding::new(finding.0, &node.origin, key, finding.1));
    }
}

fn is_off(node: &Node) -> bool {
    match &node.value {
        Value::Null | Value::Bool(false) | Value::Int(0) => true,
        Value::Map(map) => map.is_empty(),
        Value::List(items) => items.is_empty(),
        _ => false,
    }
}
