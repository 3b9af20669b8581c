//! YAML text to a value tree with the place of every value.

use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Options, Spanned};

use super::error::ConfigErrorKind;
use super::node::{Map, Node, Value};
use super::{ConfigError, Origin};

/// Largest deploy file in bytes.
pub(crate) const MAX_BYTES: usize = 1 << 20;

/// Reads a document. An empty one is an empty mapping.
pub(crate) fn parse(text: &str, file: &Arc<str>) -> Result<Node, ConfigError> {
    if text.len() > MAX_BYTES {
        return Err(syntax(&Origin::file(file), format!("expected at most {MAX_BYTES} bytes, found {}", text.len())));
    }
    let raw: Spanned<Raw> = serde_saphyr::from_str_with_options(text, options()).map_err(|error| refused(&error, file))?;
    let place = origin(&raw, file);
    let node = raw.value.into_node(file, place);
    Ok(if node.is_null() { Node::new(Value::Map(Map::new()), &node.origin) } else { node })
}

/// Reads a single value that did not come from a file.
pub(crate) fn parse_value(text: &str, origin: &Origin) -> Result<Node, ConfigError> {
    let file: Arc<str> = "".into();
    let within = text.len() <= MAX_BYTES;
    let raw = within.then(|| serde_saphyr::from_str_with_options::<Raw>(text, options()));
    match raw {
        Some(Ok(raw)) => Ok(relocate(raw.into_node(&file, Origin::Default), origin)),
        Some(Err(error)) => Err(syntax(origin, format!("expected a YAML value, found {}: {}", super::node::quoted(text), cause(&error)))),
        None => Err(syntax(origin, format!("expected at most {MAX_BYTES} bytes, found {}", text.len()))),
    }
}

/// Limits under which no document can take long or much, however it is built.
fn options() -> Options {
    serde_saphyr::options! {
        with_snippet: false,
        budget: serde_saphyr::budget! {
            max_depth: 32,
            flow_nesting_limit: 32,
            max_events: 40_000,
            max_nodes: 20_000,
            max_aliases: 500,
            max_anchors: 500,
            max_merge_keys: 100,
            max_total_scalar_bytes: MAX_BYTES,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 20_000,
            max_replay_stack_depth: 16,
            max_alias_expansions_per_anchor: 200,
        },
    }
}

fn refused(error: &serde_saphyr::Error, file: &Arc<str>) -> ConfigError {
    let place = error.location().map_or_else(|| Origin::file(file), |place| Origin::at(file, place.line(), place.column()));
    syntax(&place, format!("expected YAML, found what is none: {}", cause(error)))
}

/// The parser's own words without the place, which the message has already, and without advice to programmers.
fn cause(error: &serde_saphyr::Error) -> String {
    let text = error.without_snippet().to_string();
    let line = text.lines().next().unwrap_or_default();
    if ["budget breached", "limit exceeded", "expansion limit"].iter().any(|limit| line.contains(limit)) {
        return "it has more values, aliases or levels than a deploy file may have".to_owned();
    }
    let end = [" at line ", ", set ", "; use "].iter().filter_map(|tail| line.find(tail)).min().unwrap_or(line.len());
    line[..end].trim_end_matches([',', '.']).to_owned()
}

fn syntax(origin: &Origin, message: String) -> ConfigError {
    ConfigError::new(ConfigErrorKind::Syntax, origin, "", message)
}

fn origin<T>(spanned: &Spanned<T>, file: &Arc<str>) -> Origin {
    Origin::at(file, spanned.referenced.line(), spanned.referenced.column())
}

fn relocate(mut node: Node, origin: &Origin) -> Node {
    node.origin = origin.clone();
    node.value = match node.value {
        Value::List(items) => Value::List(items.into_iter().map(|item| relocate(item, origin)).collect()),
        Value::Map(map) => Value::Map(map.into_iter().map(|(key, item)| (key, relocate(item, origin))).collect()),
        scalar => scalar,
    };
    node
}

/// A value as the parser hands it over.
enum Raw {
    Scalar(Value),
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<String>, Raw)>),
}

impl Raw {
    fn into_node(self, file: &Arc<str>, place: Origin) -> Node {
        let value = match self {
            Raw::Scalar(value) => value,
            Raw::List(items) => Value::List(items.into_iter().map(|item| item_node(item, file)).collect()),
            Raw::Map(entries) => Value::Map(entries.into_iter().map(|(key, value)| entry_node(key, value, file)).collect()),
        };
        Node { value, origin: place }
    }
}

fn item_node(item: Spanned<Raw>, file: &Arc<str>) -> Node {
    let place = origin(&item, file);
    item.value.into_node(file, place)
}

fn entry_node(key: Spanned<String>, value: Raw, file: &Arc<str>) -> (String, Node) {
    let place = origin(&key, file);
    (key.value, value.into_node(file, place))
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Scalar(Value::Null))
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Scalar(Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        Raw::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Scalar(Value::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Scalar(Value::Int(value.into())))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Scalar(Value::Int(value.into())))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Raw, E> {
        Ok(Raw::Scalar(Value::Int(value)))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Raw, E> {
        Ok(Raw::Scalar(i128::try_from(value).map_or(Value::Float(value as f64), Value::Int)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Raw, E> {
        Ok(Raw::Scalar(Value::Float(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw::Scalar(Value::Text(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Raw, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Raw::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Raw, A::Error> {
        let mut list = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            list.push(entry);
        }
        Ok(Raw::Map(list))
    }
}
