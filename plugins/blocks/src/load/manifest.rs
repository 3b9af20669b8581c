//! What a family expects to find in a checkpoint, tensor by tensor.

use std::collections::BTreeMap;

use super::{Checkpoint, Fault, LoadError};

/// Every tensor of a checkpoint with its shape, and whether it is used.
#[derive(Debug, Clone, Default)]
pub struct Manifest {
    expected: BTreeMap<String, Expected>,
}

#[derive(Debug, Clone)]
struct Expected {
    shape: Vec<usize>,
    is_used: bool,
}

/// How much of a checkpoint is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Tensors that are read.
    pub used: usize,
    /// Tensors that are known and left where they are.
    pub skipped: usize,
    /// Numbers in all tensors.
    pub numbers: u64,
}

impl Manifest {
    /// Expects a tensor and uses it.
    pub fn load(&mut self, name: impl Into<String>, shape: &[usize]) {
        self.expected.insert(name.into(), Expected { shape: shape.to_vec(), is_used: true });
    }

    /// Knows a tensor and does not use it; it may also be absent.
    pub fn skip(&mut self, name: impl Into<String>, shape: &[usize]) {
        self.expected.insert(name.into(), Expected { shape: shape.to_vec(), is_used: false });
    }

    /// Every tensor in order of name: its name, its shape, and whether it is used.
    pub fn all(&self) -> impl Iterator<Item = (&str, &[usize], bool)> {
        self.expected.iter().map(|(name, expected)| (name.as_str(), expected.shape.as_slice(), expected.is_used))
    }

    /// Names and shapes of the tensors that are used, in order of name.
    pub fn tensors(&self) -> impl Iterator<Item = (&str, &[usize])> {
        self.all().filter(|(.., is_used)| *is_used).map(|(name, shape, _)| (name, shape))
    }

    /// Compares a checkpoint with it; all faults are told at once.
    pub fn check(&self, checkpoint: &Checkpoint) -> Result<Tally, LoadError> {
        let mut faults = Vec::new();
        let mut tally = Tally::default();
        for (name, expected) in &self.expected {
            match checkpoint.get(name) {
                None if expected.is_used => faults.push(Fault::Missing { name: name.clone(), shape: expected.shape.clone() }),
                None => {}
                Some(found) if found.shape != expected.shape => {
                    faults.push(Fault::Shape { name: name.clone(), expected: expected.shape.clone(), found: found.shape.to_vec() });
                }
                Some(_) => tally.add(expected),
            }
        }
        let unknown = checkpoint.names().filter(|name| !self.expected.contains_key(*name));
        faults.extend(unknown.map(|name| Fault::Unexpected {
            name: name.to_owned(),
            shape: checkpoint.get(name).map(|tensor| tensor.shape.to_vec()).unwrap_or_default(),
        }));
        if faults.is_empty() { Ok(tally) } else { Err(LoadError::Faults(faults)) }
    }
}

impl Tally {
    fn add(&mut self, expected: &Expected) {
        self.used += usize::from(expected.is_used);
        self.skipped += usize::from(!expected.is_used);
        self.numbers += expected.shape.iter().map(|size| *size as u64).product::<u64>();
    }
}
