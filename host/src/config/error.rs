//! Why a configuration is refused.

use std::fmt;
use std::sync::Arc;

use super::Origin;

/// What sort of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigErrorKind {
    /// A file is missing or cannot be read.
    File,
    /// The text is not YAML, or more of it than a deploy file may be.
    Syntax,
    /// A key is unknown, missing, or stands where it may not.
    Key,
    /// A value has the wrong type or is out of range.
    Value,
    /// Two places say different things.
    Conflict,
    /// No family, or more than one, is meant.
    Selection,
    /// The plan needs more than the machine has.
    Fit,
}

/// An error of the configuration: where, which key, and one sentence on what was expected and what was found.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigError {
    /// What sort of failure it is.
    pub kind: ConfigErrorKind,
    /// Where the value at fault stands.
    pub origin: Origin,
    /// The key at fault with the keys above it, such as `stages.0.max_num_seqs`; empty when the file as a whole is at fault.
    pub key: String,
    /// What was expected and what was found.
    pub message: String,
}

impl ConfigError {
    /// An error at a key.
    pub fn new(kind: ConfigErrorKind, origin: &Origin, key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind, origin: origin.clone(), key: key.into(), message: message.into() }
    }

    /// A value of the wrong type or out of range.
    pub fn value(origin: &Origin, key: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(ConfigErrorKind::Value, origin, key, message)
    }

    /// A key that may not stand there, or is missing.
    pub fn key(origin: &Origin, key: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(ConfigErrorKind::Key, origin, key, message)
    }

    /// Two places that say different things.
    pub fn conflict(origin: &Origin, key: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(ConfigErrorKind::Conflict, origin, key, message)
    }

    /// A file that is missing or cannot be read.
    pub fn file(file: &Arc<str>, message: impl Into<String>) -> Self {
        Self::new(ConfigErrorKind::File, &Origin::file(file), "", message)
    }

    /// No family, or more than one, is meant.
    pub fn selection(message: impl Into<String>) -> Self {
        Self::new(ConfigErrorKind::Selection, &Origin::Default, "", message)
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.origin.is_set() {
            write!(formatter, "{}: ", self.origin)?;
        }
        if !self.key.is_empty() {
            write!(formatter, "{}: ", self.key)?;
        }
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for ConfigError {}
