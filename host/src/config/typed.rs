//! From a value tree to typed settings, through figment, which knows for every value who set it.

use std::collections::HashMap;

use figment::error::{Actual, Kind};
use figment::value::magic::Tagged;
use figment::value::{Dict, Map as Profiles, Tag, Value as Flat};
use figment::{Figment, Metadata, Profile, Provider};
use serde::de::DeserializeOwned;

use super::node::{Map, Node, Value};
use super::{ConfigError, Origin, Setting};

/// A typed part of a configuration, with the origin of each of its values.
pub(crate) struct Section<T> {
    /// The typed values.
    pub typed: T,
    /// The keys above it, for messages.
    pub path: String,
    figment: Figment,
    origins: HashMap<String, Origin>,
}

impl<T: DeserializeOwned> Section<T> {
    /// Reads the keys of `names` from a mapping.
    pub fn read(map: &Map, names: &[&str], path: &str) -> Result<Self, ConfigError> {
        let mut figment = Figment::new();
        let mut origins = HashMap::new();
        for (name, node) in map.iter().filter(|(name, node)| names.contains(&name.as_str()) && !node.is_null()) {
            origins.insert(node.origin.to_string(), node.origin.clone());
            figment = figment.merge(Leaf { name, node });
        }
        match figment.extract() {
            Ok(typed) => Ok(Self { typed, path: path.to_owned(), figment, origins }),
            Err(error) => Err(refused(error, map, path)),
        }
    }
}

impl<T> Section<T> {
    /// A value with its origin.
    pub fn setting<V: Clone>(&self, value: &Option<Tagged<V>>) -> Option<Setting<V>> {
        value.as_ref().map(|tagged| Setting::new(V::clone(tagged), self.origin(tagged.tag())))
    }

    /// A value with its origin, or the default.
    pub fn setting_or<V: Clone>(&self, value: &Option<Tagged<V>>, default: V) -> Setting<V> {
        self.setting(value).unwrap_or_else(|| Setting::default_of(default))
    }

    /// The full name of one of its keys.
    pub fn key(&self, name: &str) -> String {
        join(&self.path, name)
    }

    fn origin(&self, tag: Tag) -> Origin {
        let name = self.figment.get_metadata(tag).map(|metadata| metadata.name.as_ref());
        name.and_then(|name| self.origins.get(name)).cloned().unwrap_or_default()
    }
}

/// One key and its value, as figment wants a source of values.
struct Leaf<'a> {
    name: &'a str,
    node: &'a Node,
}

impl Provider for Leaf<'_> {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.node.origin.to_string())
    }

    fn data(&self) -> Result<Profiles<Profile, Dict>, figment::Error> {
        let dict = Dict::from([(self.name.to_owned(), flat(self.node))]);
        Ok(Profile::Default.collect(dict))
    }
}

fn flat(node: &Node) -> Flat {
    let tag = Tag::Default;
    match &node.value {
        Value::Null => Flat::Empty(tag, figment::value::Empty::None),
        Value::Bool(value) => Flat::Bool(tag, *value),
        Value::Int(value) => whole(*value),
        Value::Float(value) => Flat::from(*value),
        Value::Text(text) => Flat::String(tag, text.clone()),
        Value::List(items) => Flat::Array(tag, items.iter().map(flat).collect()),
        Value::Map(map) => Flat::Dict(tag, map.iter().map(|(key, node)| (key.clone(), flat(node))).collect()),
    }
}

/// The narrowest whole number, since a type that wants 32 bits does not look at one of 128.
fn whole(value: i128) -> Flat {
    match (i64::try_from(value), u64::try_from(value)) {
        (Ok(value), _) => Flat::from(value),
        (_, Ok(value)) => Flat::from(value),
        _ => Flat::from(value),
    }
}

fn refused(error: figment::Error, map: &Map, path: &str) -> ConfigError {
    let mut node = None;
    let mut key = path.to_owned();
    // Figment hands a value with its origin over as a mapping of its own, which is no key of anybody's.
    for part in error.path.iter().filter(|part| !part.starts_with("___figment")) {
        key = join(&key, part);
        let inner = node.map_or(Some(map), Node::as_map).and_then(|map| map.get(part));
        node = inner.or(node);
    }
    let origin = node.map(|node| node.origin.clone()).unwrap_or_default();
    ConfigError::value(&origin, key, message(&error.kind))
}

fn message(kind: &Kind) -> String {
    match kind {
        Kind::InvalidType(found, expected) | Kind::InvalidValue(found, expected) => {
            format!("expected {}, found {}", wanted(expected), actual(found))
        }
        Kind::UnknownVariant(found, expected) => format!("expected one of {}, found '{found}'", expected.join(", ")),
        Kind::InvalidLength(found, expected) => format!("expected {}, found {found} values", wanted(expected)),
        other => other.to_string(),
    }
}

fn wanted(expected: &str) -> &str {
    match expected {
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number from 0 up",
        "i64" => "a whole number",
        "f64" => "a number",
        "a boolean" => "true or false",
        "a string" => "a text",
        "a sequence" => "a list",
        other => other,
    }
}

fn actual(found: &Actual) -> String {
    match found {
        Actual::Bool(value) => value.to_string(),
        Actual::Unsigned(value) => format!("the number {value}"),
        Actual::Signed(value) => format!("the number {value}"),
        Actual::Float(value) => format!("the number {value}"),
        Actual::Str(text) => format!("the text {}", super::node::quoted(text)),
        Actual::Seq => "a list".to_owned(),
        Actual::Map => "a mapping".to_owned(),
        other => other.to_string(),
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
