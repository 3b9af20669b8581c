//! What an operator should know of a configuration that is good enough to run.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;

use serde::Serialize;

use super::Origin;

/// What sort of finding it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// A key that nobody reads, probably misspelt. Refused with `--strict-config`.
    UnknownKey,
    /// A value that was changed or left out because it cannot be as written.
    Adjusted,
    /// A value that is understood and does nothing here.
    NoEffect,
}

impl FindingKind {
    /// Whether it is worth a warning; the rest is a note.
    pub fn is_warning(self) -> bool {
        !matches!(self, Self::NoEffect)
    }
}

/// A finding: where, which key, and what about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What sort of finding it is.
    pub kind: FindingKind,
    /// Where it stands.
    pub origin: Origin,
    /// The key with the keys above it.
    pub key: String,
    /// What about it.
    pub message: String,
    /// In how many further places the same is true.
    pub further: usize,
}

impl Finding {
    /// A finding at one place.
    pub fn new(kind: FindingKind, origin: &Origin, key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind, origin: origin.clone(), key: key.into(), message: message.into(), further: 0 }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = if self.kind.is_warning() { "warning" } else { "note" };
        write!(formatter, "{level}: {}: {}: {}", self.origin, self.key, self.message)?;
        match self.further {
            0 => Ok(()),
            1 => formatter.write_str(" (and in 1 further place)"),
            further => write!(formatter, " (and in {further} further places)"),
        }
    }
}

/// Folds notes that say the same of the same key, so that each is said once, and puts the warnings first.
pub(crate) fn fold(findings: Vec<Finding>) -> Vec<Finding> {
    let mut folded: Vec<Finding> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for finding in findings {
        match known.entry(identity(&finding)) {
            Entry::Vacant(place) => {
                place.insert(folded.len());
                folded.push(finding);
            }
            Entry::Occupied(place) => {
                let first = &mut folded[*place.get()];
                first.further += usize::from(first.origin != finding.origin);
            }
        }
    }
    folded.sort_by_key(|finding| finding.kind);
    folded
}

/// What a finding says; a warning is said of every place.
fn identity(finding: &Finding) -> String {
    let last = finding.key.rsplit('.').next().unwrap_or_default();
    let place = if finding.kind.is_warning() { finding.origin.to_string() } else { String::new() };
    format!("{place}\n{last}\n{}", finding.message)
}
