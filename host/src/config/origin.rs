//! Where a value comes from.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// Where a value comes from; its text is what messages and reports show.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Origin {
    /// Nobody set it.
    #[default]
    Default,
    /// A place in a file.
    File {
        /// The file as messages name it.
        file: Arc<str>,
        /// Line, counted from 1; 0 when only the file is known.
        line: u64,
        /// Column, counted from 1.
        column: u64,
    },
    /// An environment variable.
    Environment(String),
    /// A command-line flag as it was typed.
    Flag(String),
}

impl Origin {
    /// A file as a whole.
    pub fn file(file: &Arc<str>) -> Self {
        Self::at(file, 0, 0)
    }

    /// A place in a file.
    pub fn at(file: &Arc<str>, line: u64, column: u64) -> Self {
        Self::File { file: Arc::clone(file), line, column }
    }

    /// Whether somebody set the value, anywhere.
    pub fn is_set(&self) -> bool {
        *self != Self::Default
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => formatter.write_str("default"),
            Self::File { file, line: 0, .. } => formatter.write_str(file),
            Self::File { file, line, column } => write!(formatter, "{file}:{line}:{column}"),
            Self::Environment(name) => write!(formatter, "environment {name}"),
            Self::Flag(flag) => formatter.write_str(flag),
        }
    }
}

impl Serialize for Origin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A value with its origin.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// Who set it.
    pub origin: Origin,
}

impl<T> Setting<T> {
    /// A value that somebody set.
    pub fn new(value: T, origin: Origin) -> Self {
        Self { value, origin }
    }

    /// A value that nobody set.
    pub fn default_of(value: T) -> Self {
        Self { value, origin: Origin::Default }
    }

    /// The same origin with another value.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Setting<U> {
        Setting { value: change(self.value), origin: self.origin }
    }
}
