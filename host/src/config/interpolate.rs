//! Interpolations: `${key}` and `${oc.env:NAME}` inside values, resolved over the tree of one file.
//!
//! | form | gives |
//! |---|---|
//! | `${a.b}`, `${stages.0.x}`, `${stages[0].x}` | the value at that key of the file |
//! | `${.x}`, `${..x}` | the value at a key beside this one, or beside its parent |
//! | `${oc.env:NAME}`, `${oc.env:NAME,default}` | an environment variable |
//! | `${oc.select:key,default}` | the value at a key, or the default when there is none |
//! | `${oc.decode:text}` | the text read as YAML |
//! | `\${` | the two characters themselves |
//!
//! A value that is one interpolation and nothing else keeps its type; a variable or a default is read as a YAML value then. Inside a longer
//! text everything becomes text. Forms nest.

use super::expression::{Piece, pieces};
use super::node::{Map, Node, Value};
use super::{ConfigError, yaml};

/// Values of one file that are worked out at most, counted with repetition.
const MAX_STEPS: usize = 40_000;
/// Bytes of text that interpolation may make of one file.
const MAX_BYTES: usize = yaml::MAX_BYTES;
/// Values inside each other, counted along the keys that are looked up.
const MAX_DEPTH: usize = 64;
/// Braces inside each other.
const MAX_NESTED: usize = 8;

/// The variables of the environment.
pub type Variables<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// Resolves every interpolation of a file.
pub fn interpolate(root: &Node, variables: &Variables<'_>) -> Result<Node, ConfigError> {
    let mut work = Work { root, variables, stack: Vec::new(), steps: 0, bytes: 0, nested: 0 };
    work.node(root, &mut Vec::new())
}

struct Work<'a> {
    root: &'a Node,
    variables: &'a Variables<'a>,
    /// Keys that are being looked up, the outermost first.
    stack: Vec<Vec<String>>,
    steps: usize,
    bytes: usize,
    /// Braces that are open around the current ones.
    nested: usize,
}

impl Work<'_> {
    fn node(&mut self, node: &Node, path: &mut Vec<String>) -> Result<Node, ConfigError> {
        if path.len() + self.stack.len() > MAX_DEPTH {
            return Err(at(node, path, format!("expected at most {MAX_DEPTH} interpolations inside each other, found more")));
        }
        self.spend(node, path, 0)?;
        let value = match &node.value {
            Value::Text(text) if text.contains("${") => return self.text(text, node, path),
            Value::List(items) => Value::List(self.items(items, path)?),
            Value::Map(map) => Value::Map(self.entries(map, path)?),
            scalar => scalar.clone(),
        };
        Ok(Node::new(value, &node.origin))
    }

    fn items(&mut self, items: &[Node], path: &mut Vec<String>) -> Result<Vec<Node>, ConfigError> {
        let mut resolved = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            path.push(index.to_string());
            resolved.push(self.node(item, path)?);
            path.pop();
        }
        Ok(resolved)
    }

    fn entries(&mut self, map: &Map, path: &mut Vec<String>) -> Result<Map, ConfigError> {
        let mut resolved = Map::new();
        for (key, value) in map {
            path.push(key.clone());
            resolved.insert(key.clone(), self.node(value, path)?);
            path.pop();
        }
        Ok(resolved)
    }

    /// A text with interpolations: one alone keeps its type, several are joined.
    fn text(&mut self, text: &str, node: &Node, path: &[String]) -> Result<Node, ConfigError> {
        let parts = pieces(text).map_err(|reason| at(node, path, reason))?;
        if let [Piece::Expression(inner)] = parts.as_slice() {
            let found = self.expression(inner, node, path)?;
            return Ok(Node::new(found.value, &node.origin));
        }
        let joined = self.join(&parts, node, path)?;
        Ok(Node::new(Value::Text(joined), &node.origin))
    }

    fn join(&mut self, parts: &[Piece], node: &Node, path: &[String]) -> Result<String, ConfigError> {
        let mut joined = String::new();
        for part in parts {
            match part {
                Piece::Text(text) => joined.push_str(text),
                Piece::Expression(inner) => joined.push_str(&plain(&self.expression(inner, node, path)?, node, path)?),
            }
            self.spend(node, path, joined.len())?;
        }
        Ok(joined)
    }

    /// What stands between the braces.
    fn expression(&mut self, inner: &str, node: &Node, path: &[String]) -> Result<Node, ConfigError> {
        let inner = self.inside(inner, node, path)?;
        let Some((resolver, arguments)) = inner.split_once(':') else {
            return self.lookup(inner.trim(), node, path)?.ok_or_else(|| missing(inner.trim(), node, path));
        };
        let (first, default) = match arguments.split_once(',') {
            Some((first, default)) => (first.trim(), Some(default.trim())),
            None => (arguments.trim(), None),
        };
        match resolver.trim() {
            "oc.env" => self.variable(first, default, node, path),
            "oc.select" => self.select(first, default, node, path),
            "oc.decode" => yaml::parse_value(arguments.trim(), &node.origin),
            other => Err(at(node, path, format!("expected oc.env, oc.select or oc.decode before the colon, found '{other}'"))),
        }
    }

    /// The text between the braces once the interpolations inside it are replaced.
    fn inside(&mut self, inner: &str, node: &Node, path: &[String]) -> Result<String, ConfigError> {
        if self.nested == MAX_NESTED {
            return Err(at(node, path, format!("expected at most {MAX_NESTED} braces inside each other, found more")));
        }
        let parts = pieces(inner).map_err(|reason| at(node, path, reason))?;
        self.nested += 1;
        let joined = self.join(&parts, node, path);
        self.nested -= 1;
        joined
    }

    fn variable(&mut self, name: &str, default: Option<&str>, node: &Node, path: &[String]) -> Result<Node, ConfigError> {
        match ((self.variables)(name), default) {
            (Some(text), _) => Ok(as_value(&text, node)),
            (None, Some(text)) => Ok(as_value(text, node)),
            (None, None) => {
                Err(at(node, path, format!("expected the environment variable {name}, which is not set, and there is no default")))
            }
        }
    }

    fn select(&mut self, key: &str, default: Option<&str>, node: &Node, path: &[String]) -> Result<Node, ConfigError> {
        let found = self.lookup(key, node, path)?.filter(|found| !found.is_null());
        Ok(found.unwrap_or_else(|| as_value(default.unwrap_or("null"), node)))
    }

    /// The value at a key, itself resolved.
    fn lookup(&mut self, key: &str, node: &Node, path: &[String]) -> Result<Option<Node>, ConfigError> {
        let target = absolute(key, path).ok_or_else(|| missing(key, node, path))?;
        let Some(found) = find(self.root, &target) else { return Ok(None) };
        let is_around = |looked: &Vec<String>| target.starts_with(looked) || looked.starts_with(&target);
        if path.starts_with(&target) || self.stack.iter().any(is_around) {
            return Err(at(node, path, format!("expected a value, found a circle: '{key}' is made of itself")));
        }
        self.stack.push(path.to_vec());
        let mut target = target;
        let resolved = self.node(found, &mut target);
        self.stack.pop();
        resolved.map(Some)
    }

    fn spend(&mut self, node: &Node, path: &[String], bytes: usize) -> Result<(), ConfigError> {
        self.steps += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        if self.steps > MAX_STEPS || self.bytes > MAX_BYTES {
            return Err(at(
                node,
                path,
                "expected a file that stays small once its interpolations are replaced, found one that does not".into(),
            ));
        }
        Ok(())
    }
}

fn at(node: &Node, path: &[String], message: String) -> ConfigError {
    ConfigError::value(&node.origin, path.join("."), message)
}

fn missing(key: &str, node: &Node, path: &[String]) -> ConfigError {
    at(node, path, format!("expected a key of this file between the braces, found '{key}', which it does not have"))
}

/// A text read as a YAML value, or the text itself when it is none.
fn as_value(text: &str, node: &Node) -> Node {
    yaml::parse_value(text, &node.origin).unwrap_or_else(|_| Node::new(Value::Text(text.to_owned()), &node.origin))
}

/// A value as a part of a text.
fn plain(value: &Node, node: &Node, path: &[String]) -> Result<String, ConfigError> {
    match &value.value {
        Value::Text(text) => Ok(text.clone()),
        Value::Bool(value) => Ok(value.to_string()),
        Value::Int(value) => Ok(value.to_string()),
        Value::Float(value) => Ok(value.to_string()),
        Value::Null => Ok("null".to_owned()),
        Value::List(_) | Value::Map(_) => {
            Err(at(node, path, format!("expected a number or a text inside a longer text, found {}", value.describe())))
        }
    }
}

/// The keys of `a.b[0]` from the root; leading dots count up from where the interpolation stands.
fn absolute(key: &str, path: &[String]) -> Option<Vec<String>> {
    let dots = key.len() - key.trim_start_matches('.').len();
    let mut target = match dots {
        0 => Vec::new(),
        up => path.get(..path.len().checked_sub(up)?)?.to_vec(),
    };
    let tail = key[dots..].replace('[', ".").replace(']', "");
    target.extend(tail.split('.').map(|part| part.trim().to_owned()));
    (!tail.is_empty() && target.iter().all(|part| !part.is_empty())).then_some(target)
}

fn find<'a>(root: &'a Node, path: &[String]) -> Option<&'a Node> {
    path.iter().try_fold(root, |node, key| match &node.value {
        Value::Map(map) => map.get(key),
        Value::List(items) => items.get(key.parse::<usize>().ok()?),
        _ => None,
    })
}
