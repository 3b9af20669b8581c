//! Which connector joins two stages. Inside one process a connector is a bounded queue; what counts is its `extra`.

use std::collections::BTreeMap;

use super::layer::expect_map;
use super::node::{Map, Node, Value};
use super::{ConfigError, Origin};

/// The only transport there is.
const IN_MEMORY: &str = "SharedMemoryConnector";

/// What joins two stages.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Connector {
    /// Its name in the file; empty for one that nobody named.
    pub name: String,
    /// Where its keys stand, for messages.
    pub path: String,
    /// Chunk policy and family keys.
    pub extra: Map,
}

/// Checks every connector and edge of a pipeline and gives the connector of each stage to the next.
pub(crate) fn connect(top: &Map, stages: &BTreeMap<u32, Map>) -> Result<BTreeMap<u32, Connector>, ConfigError> {
    let named = named(top)?;
    let ids: Vec<u32> = stages.keys().copied().collect();
    check_edges(top, &ids)?;
    for (id, stage) in stages {
        check_ends(*id, stage, &ids)?;
    }
    let mut joined = BTreeMap::new();
    for pair in ids.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        joined.insert(from, between(from, to, stages, &named)?);
    }
    Ok(joined)
}

fn named(top: &Map) -> Result<BTreeMap<String, Connector>, ConfigError> {
    let Some(node) = top.get("connectors") else { return Ok(BTreeMap::new()) };
    let (map, _) = expect_map(node.clone(), "connectors")?;
    map.into_iter().map(|(name, node)| Ok((name.clone(), inline(node, &name, &format!("connectors.{name}"))?))).collect()
}

fn inline(node: Node, name: &str, path: &str) -> Result<Connector, ConfigError> {
    let (mut map, _) = expect_map(node, path)?;
    if let Some(transport) = map.remove("name") {
        check_transport(&transport, path)?;
    }
    let extra = match map.remove("extra") {
        Some(extra) if !extra.is_null() => expect_map(extra, &format!("{path}.extra"))?.0,
        _ => Map::new(),
    };
    Ok(Connector { name: name.to_owned(), path: format!("{path}.extra"), extra })
}

fn check_transport(transport: &Node, path: &str) -> Result<(), ConfigError> {
    if transport.as_text() == Some(IN_MEMORY) {
        return Ok(());
    }
    let message = format!("expected {IN_MEMORY}, since all stages run in one process, found {}", transport.describe());
    Err(ConfigError::value(&transport.origin, format!("{path}.name"), message))
}

/// The connector of an edge, as both of its ends say.
fn between(from: u32, to: u32, stages: &BTreeMap<u32, Map>, named: &BTreeMap<String, Connector>) -> Result<Connector, ConfigError> {
    let sender = end(stages.get(&from), "output_connectors", &format!("to_stage_{to}"), from, named)?;
    let receiver = end(stages.get(&to), "input_connectors", &format!("from_stage_{from}"), to, named)?;
    match (sender, receiver) {
        (Some((sender, _)), Some((receiver, origin))) if sender.name != receiver.name => {
            let key = format!("stages.{to}.input_connectors.from_stage_{from}");
            let message = format!("expected '{}' as at the other end, found '{}'", sender.name, receiver.name);
            Err(ConfigError::conflict(&origin, key, message))
        }
        (Some((connector, _)), _) | (None, Some((connector, _))) => Ok(connector),
        (None, None) => Ok(Connector { path: format!("connectors.{from}_to_{to}.extra"), ..Connector::default() }),
    }
}

/// One end of an edge: the connector that a stage names for it, or writes in place.
fn end(
    stage: Option<&Map>,
    side: &str,
    name: &str,
    id: u32,
    named: &BTreeMap<String, Connector>,
) -> Result<Option<(Connector, Origin)>, ConfigError> {
    let ends = stage.and_then(|stage| stage.get(side)).and_then(Node::as_map);
    let Some(node) = ends.and_then(|ends| ends.get(name)).filter(|node| !node.is_null()) else { return Ok(None) };
    let key = format!("stages.{id}.{side}.{name}");
    let connector = match &node.value {
        Value::Map(_) => inline(node.clone(), "", &key)?,
        Value::Text(wanted) => named.get(wanted).cloned().ok_or_else(|| undefined(wanted, node, &key, named))?,
        _ => return Err(ConfigError::value(&node.origin, key, format!("expected a connector's name, found {}", node.describe()))),
    };
    Ok(Some((connector, node.origin.clone())))
}

fn undefined(wanted: &str, node: &Node, key: &str, named: &BTreeMap<String, Connector>) -> ConfigError {
    let known: Vec<&str> = named.keys().map(String::as_str).collect();
    let known = if known.is_empty() { "there are none".to_owned() } else { format!("there are {}", known.join(", ")) };
    ConfigError::key(&node.origin, key, format!("expected the name of a connector, found '{wanted}'; {known}"))
}

/// Checks that a stage's ends name neighbours.
fn check_ends(id: u32, stage: &Map, ids: &[u32]) -> Result<(), ConfigError> {
    for (side, prefix) in [("output_connectors", "to_stage_"), ("input_connectors", "from_stage_")] {
        let Some(node) = stage.get(side) else { continue };
        let path = format!("stages.{id}.{side}");
        let (ends, _) = expect_map(node.clone(), &path)?;
        for (name, end) in ends {
            let other = name.strip_prefix(prefix).and_then(|number| number.parse::<u32>().ok());
            let follows = other.is_some_and(|other| if side == "output_connectors" { next(ids, id, other) } else { next(ids, other, id) });
            if !follows {
                let message = format!("expected {prefix}N with the number of the stage beside stage {id}, found '{name}'");
                return Err(ConfigError::key(&end.origin, path, message));
            }
        }
    }
    Ok(())
}

fn check_edges(top: &Map, ids: &[u32]) -> Result<(), ConfigError> {
    let Some(node) = top.get("edges") else { return Ok(()) };
    let Value::List(edges) = &node.value else {
        return Err(ConfigError::value(&node.origin, "edges", format!("expected a list of edges, found {}", node.describe())));
    };
    for (index, edge) in edges.iter().enumerate() {
        let path = format!("edges.{index}");
        let (map, origin) = expect_map(edge.clone(), &path)?;
        let stage = |name: &str| match map.get(name).map(|node| &node.value) {
            Some(Value::Int(number)) => u32::try_from(*number).ok(),
            _ => None,
        };
        let follows = stage("from").zip(stage("to")).is_some_and(|(from, to)| next(ids, from, to));
        if !follows {
            return Err(ConfigError::value(&origin, path, "expected 'from' a stage 'to' the next one, found something else"));
        }
    }
    Ok(())
}

/// Whether one stage comes right after another.
fn next(ids: &[u32], from: u32, to: u32) -> bool {
    ids.windows(2).any(|pair| pair == [from, to])
}
