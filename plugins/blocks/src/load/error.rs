//! What can be wrong with a checkpoint.

use std::path::PathBuf;

/// Faults that a message spells out; the others are counted.
const TOLD: usize = 8;

/// Why a checkpoint cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A file cannot be read.
    #[error("'{}' cannot be read: {reason}", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why, as the system or the parser says.
        reason: String,
    },
    /// A file's header promises what the file does not hold.
    #[error("'{}' is damaged: {reason}", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What does not fit.
        reason: String,
    },
    /// Tensors are missing, unexpected, of another shape, or hold values that are not numbers.
    #[error("{}", told(.0))]
    Faults(Vec<Fault>),
    /// The load was called off.
    #[error("the load was cancelled")]
    Cancelled,
}

/// One tensor's fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The family needs it and the files have none of this name.
    #[error("missing tensor '{name}' {shape:?}")]
    Missing {
        /// Its name.
        name: String,
        /// The shape it should have.
        shape: Vec<usize>,
    },
    /// The files have it and the family knows none of this name.
    #[error("unexpected tensor '{name}' {shape:?}")]
    Unexpected {
        /// Its name.
        name: String,
        /// The shape it has.
        shape: Vec<usize>,
    },
    /// It has another shape.
    #[error("tensor '{name}' is {found:?}, expected {expected:?}")]
    Shape {
        /// Its name.
        name: String,
        /// The shape it should have.
        expected: Vec<usize>,
        /// The shape it has.
        found: Vec<usize>,
    },
    /// Its numbers have a type that is not read here.
    #[error("tensor '{name}' holds {found}, expected BF16, F16 or F32")]
    Type {
        /// Its name.
        name: String,
        /// Its type.
        found: String,
    },
    /// It holds infinities or NaN.
    #[error("tensor '{name}' holds values that are not finite")]
    NotFinite {
        /// Its name.
        name: String,
    },
}

impl From<Fault> for LoadError {
    fn from(fault: Fault) -> Self {
        LoadError::Faults(vec![fault])
    }
}

/// The first faults in full, and how many more there are.
fn told(faults: &[Fault]) -> String {
    let mut text = faults.iter().take(TOLD).map(Fault::to_string).collect::<Vec<_>>().join("; ");
    if faults.len() > TOLD {
        text.push_str(&format!("; and {} more", faults.len() - TOLD));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_faults_are_named_and_the_rest_counted() {
        let fault = |number: usize| Fault::NotFinite { name: format!("t{number}") };
        let text = LoadError::Faults((0..10).map(fault).collect()).to_string();
        assert!(text.starts_with("tensor 't0' holds values that are not finite; "), "{text}");
        assert!(text.ends_with("; and 2 more"), "{text}");
    }
}
