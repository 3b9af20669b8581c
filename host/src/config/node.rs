//! The value tree between text and types: every value knows where it stands.

use std::collections::BTreeMap;

use serde_json::{Number, Value as Json};

use super::Origin;

/// Keys with their values.
pub type Map = BTreeMap<String, Node>;

/// A value and where it stands. The value of a key stands where the key does.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Where it stands.
    pub origin: Origin,
}

/// A value without its place.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing: as if the key were absent.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i128),
    /// Any other number.
    Float(f64),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A mapping.
    Map(Map),
}

impl Node {
    /// A value at a place.
    pub fn new(value: Value, origin: &Origin) -> Self {
        Self { value, origin: origin.clone() }
    }

    /// A value of JSON, all of it from one place.
    pub fn from_json(json: Json, origin: &Origin) -> Self {
        let value = match json {
            Json::Null => Value::Null,
            Json::Bool(value) => Value::Bool(value),
            Json::Number(number) => from_number(&number),
            Json::String(text) => Value::Text(text),
            Json::Array(items) => Value::List(items.into_iter().map(|item| Self::from_json(item, origin)).collect()),
            Json::Object(map) => Value::Map(map.into_iter().map(|(key, value)| (key, Self::from_json(value, origin))).collect()),
        };
        Self::new(value, origin)
    }

    /// The value as JSON, without its places.
    pub fn to_json(&self) -> Json {
        match &self.value {
            Value::Null => Json::Null,
            Value::Bool(value) => Json::Bool(*value),
            Value::Int(value) => to_number(*value),
            Value::Float(value) => Number::from_f64(*value).map_or(Json::Null, Json::Number),
            Value::Text(text) => Json::String(text.clone()),
            Value::List(items) => Json::Array(items.iter().map(Self::to_json).collect()),
            Value::Map(map) => Json::Object(map.iter().map(|(key, node)| (key.clone(), node.to_json())).collect()),
        }
    }

    /// The mapping, if it is one.
    pub fn as_map(&self) -> Option<&Map> {
        match &self.value {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The text, if it is text.
    pub fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether nothing is there.
    pub fn is_null(&self) -> bool {
        self.value == Value::Null
    }

    /// Whether two values are equal wherever they stand.
    pub fn same_value(&self, other: &Self) -> bool {
        self.to_json() == other.to_json()
    }

    /// What it is, for a message: the kind, and the value when it is short.
    pub fn describe(&self) -> String {
        match &self.value {
            Value::Null => "nothing".to_owned(),
            Value::Bool(value) => format!("{value}"),
            Value::Int(value) => format!("the number {value}"),
            Value::Float(value) => format!("the number {value}"),
            Value::Text(text) => format!("the text {}", quoted(text)),
            Value::List(items) => format!("a list of {}", items.len()),
            Value::Map(map) => format!("a mapping of {} keys", map.len()),
        }
    }
}

/// A text in quotes, cut when it is long.
pub(crate) fn quoted(text: &str) -> String {
    const SHOWN: usize = 60;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?} and more", &text[..end]),
        None => format!("{text:?}"),
    }
}

fn from_number(number: &Number) -> Value {
    let whole = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    match whole {
        Some(value) => Value::Int(value),
        None => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
    }
}

fn to_number(value: i128) -> Json {
    match (i64::try_from(value), u64::try_from(value)) {
        (Ok(value), _) => Json::from(value),
        (_, Ok(value)) => Json::from(value),
        _ => Json::String(value.to_string()),
    }
}

/// Drops keys that hold nothing, at every depth.
pub(crate) fn drop_nulls(map: &mut Map) {
    map.retain(|_, node| !node.is_null());
    for node in map.values_mut() {
        if let Value::Map(inner) = &mut node.value {
            drop_nulls(inner);
        }
    }
}
