//! Reads the embedded checkpoints: safetensors whose names mirror the module tree of [`crate::nn`].
//!
//! Every tensor is taken once, by name and shape; a missing, unexpected, misshapen or non-finite one is an error that names it. The
//! acoustic model's dense weights are stored as `I8` beside one f32 scale (`weight` and `scale`), `W = q * scale`, as published.

use std::cell::RefCell;
use std::collections::BTreeSet;

use safetensors::tensor::{Dtype, SafeTensors, TensorView};

/// Why a checkpoint cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The file is not a safetensors file.
    #[error("the weights are not a safetensors file: {0}")]
    Container(String),
    /// A tensor the model needs is not there.
    #[error("tensor {0} is missing")]
    Missing(String),
    /// Tensors nothing in the model has a place for.
    #[error("unexpected tensor {0}")]
    Unexpected(String),
    /// A tensor has another shape.
    #[error("tensor {name} has shape {found:?}, expected {expected:?}")]
    Shape {
        /// Its name.
        name: String,
        /// The shape the model needs.
        expected: Vec<usize>,
        /// The shape in the file.
        found: Vec<usize>,
    },
    /// A tensor has another element type.
    #[error("tensor {name} holds {found}, expected {expected}")]
    Type {
        /// Its name.
        name: String,
        /// The type the model needs.
        expected: &'static str,
        /// The type in the file.
        found: String,
    },
    /// A tensor holds an infinity or a not-a-number.
    #[error("tensor {0} holds a value that is not finite")]
    NotFinite(String),
    /// A table beside the weights cannot be read.
    #[error("{name} cannot be read: {reason}")]
    Table {
        /// Which table.
        name: &'static str,
        /// What is wrong with it.
        reason: String,
    },
}

/// A checkpoint being read.
pub struct Weights<'a> {
    file: SafeTensors<'a>,
    left: RefCell<BTreeSet<String>>,
}

impl<'a> Weights<'a> {
    /// Parses the header of a safetensors file.
    pub fn read(bytes: &'a [u8]) -> Result<Self, LoadError> {
        let file = SafeTensors::deserialize(bytes).map_err(|error| LoadError::Container(error.to_string()))?;
        let left = RefCell::new(file.names().into_iter().map(str::to_owned).collect());
        Ok(Self { file, left })
    }

    /// An f32 tensor of this shape, row-major.
    pub fn f32(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, LoadError> {
        let view = self.take(name, shape, Dtype::F32, "F32")?;
        let values: Vec<f32> = view.data().as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        if values.iter().any(|value| !value.is_finite()) {
            return Err(LoadError::NotFinite(name.to_owned()));
        }
        Ok(values)
    }

    /// The dense weight `{name}.weight`, of this shape: f32, or 8 bits times `{name}.scale`.
    pub fn dense(&self, name: &str, shape: [usize; 2]) -> Result<Vec<f32>, LoadError> {
        let weight = format!("{name}.weight");
        if self.file.tensor(&weight).is_ok_and(|view| view.dtype() == Dtype::F32) {
            return self.f32(&weight, &shape);
        }
        let scale = self.f32(&format!("{name}.scale"), &[1])?[0];
        let view = self.take(&weight, &shape, Dtype::I8, "I8 or F32")?;
        Ok(view.data().iter().map(|byte| f32::from(byte.cast_signed()) * scale).collect())
    }

    /// Ends the reading: every tensor of the file must have been taken.
    pub fn finish(self) -> Result<(), LoadError> {
        match self.left.into_inner().pop_first() {
            Some(name) => Err(LoadError::Unexpected(name)),
            None => Ok(()),
        }
    }

    fn take(&self, name: &str, shape: &[usize], dtype: Dtype, expected: &'static str) -> Result<TensorView<'_>, LoadError> {
        let view = self.file.tensor(name).map_err(|_| LoadError::Missing(name.to_owned()))?;
        if view.shape() != shape {
            return Err(LoadError::Shape { name: name.to_owned(), expected: shape.to_vec(), found: view.shape().to_vec() });
        }
        if view.dtype() != dtype {
            return Err(LoadError::Type { name: name.to_owned(), expected, found: format!("{:?}", view.dtype()) });
        }
        self.left.borrow_mut().remove(name);
        Ok(view)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(tensors: &[(&str, Dtype, Vec<usize>, Vec<u8>)]) -> Vec<u8> {
        let views = tensors.iter().map(|(name, dtype, shape, data)| (*name, TensorView::new(*dtype, shape.clone(), data).expect("a view")));
        safetensors::serialize(views, None).expect("a file")
    }

    fn bytes(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    #[test]
    fn a_quantised_weight_is_its_bytes_times_its_scale() {
        let scale = ("a.scale", Dtype::F32, vec![1], bytes(&[0.25]));
        let blob = file(&[("a.weight", Dtype::I8, vec![1, 3], vec![0x80, 0, 0x7F]), scale]);
        let weights = Weights::read(&blob).expect("readable");
        assert_eq!(weights.dense("a", [1, 3]), Ok(vec![-32.0, 0.0, 31.75]));
        assert_eq!(weights.finish(), Ok(()));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let blob = file(&[("a", Dtype::F32, vec![2], bytes(&[1.0, f32::NAN])), ("b", Dtype::F32, vec![1], bytes(&[1.0]))]);
        let weights = Weights::read(&blob).expect("readable");
        assert_eq!(weights.f32("c", &[1]), Err(LoadError::Missing("c".into())));
        assert_eq!(weights.f32("a", &[2]), Err(LoadError::NotFinite("a".into())));
        let shape = weights.f32("b", &[2]).expect_err("misshapen").to_string();
        assert_eq!(shape, "tensor b has shape [1], expected [2]");
        assert_eq!(weights.finish(), Err(LoadError::Unexpected("b".into())));
        assert!(matches!(Weights::read(&blob[..20]), Err(LoadError::Container(_))));
    }
}
