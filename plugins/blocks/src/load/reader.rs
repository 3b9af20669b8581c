//! Tensors from a checkpoint onto a device.

use std::cell::Cell;

use burn::tensor::{AllocationProperty, Bytes, DType, Device, Tensor, TensorData};
use safetensors::Dtype;

use super::{Checkpoint, Fault, LoadError, RawTensor, convert};

/// Told the bytes that were read so far; says whether to go on.
pub type Progress<'a> = dyn Fn(u64) -> bool + 'a;

/// Reads tensors whose names begin with a prefix.
///
/// Matrices take the reader's element type, everything else that decides precision (norms, biases, codebooks, convolutions) is read
/// as `f32` by [`Reader::f32`]. Whether values are numbers is not looked at: [`Checkpoint::check_finite`] does that for all of them.
pub struct Reader<'a> {
    checkpoint: &'a Checkpoint,
    prefix: String,
    device: &'a Device,
    dtype: DType,
    progress: &'a Progress<'a>,
    done: &'a Cell<u64>,
}

impl<'a> Reader<'a> {
    /// A reader of the whole checkpoint. `dtype` is `F32` or `BF16`; `done` counts bytes, over several readers if they share it.
    pub fn new(checkpoint: &'a Checkpoint, device: &'a Device, dtype: DType, progress: &'a Progress<'a>, done: &'a Cell<u64>) -> Self {
        Self { checkpoint, prefix: String::new(), device, dtype, progress, done }
    }

    /// The reader of the part `name`: its names begin with this one's prefix, `name` and a dot.
    #[must_use]
    pub fn part(&self, name: impl std::fmt::Display) -> Reader<'a> {
        Reader { prefix: format!("{}{name}.", self.prefix), ..*self }
    }

    /// The same tensors in another element type.
    #[must_use]
    pub fn with_dtype(&self, dtype: DType) -> Reader<'a> {
        Reader { prefix: self.prefix.clone(), dtype, ..*self }
    }

    /// Where tensors go.
    pub fn device(&self) -> &'a Device {
        self.device
    }

    /// The element type of matrices.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Whether the checkpoint has `name` under this prefix.
    pub fn has(&self, name: &str) -> bool {
        self.checkpoint.get(&self.full(name)).is_some()
    }

    /// A tensor of this shape in the reader's element type.
    pub fn tensor<const D: usize>(&self, name: &str, shape: [usize; D]) -> Result<Tensor<D>, LoadError> {
        self.rows(&[name], shape)
    }

    /// Matrices one below the other as one tensor: `shape` is the whole's, its first axis the sum of theirs.
    pub fn rows<const D: usize>(&self, names: &[impl AsRef<str>], shape: [usize; D]) -> Result<Tensor<D>, LoadError> {
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        if let Some(whole) = self.shared(&names, &shape, self.dtype)? {
            return Ok(whole);
        }
        let data = match self.dtype {
            DType::BF16 => TensorData::new(self.joined(&names, &shape, convert::to_bf16)?, shape),
            _ => TensorData::new(self.joined(&names, &shape, convert::to_f32)?, shape),
        };
        Ok(Tensor::from_data(data, (self.device, self.dtype)))
    }

    /// A tensor of this shape in `f32` on the device.
    pub fn f32<const D: usize>(&self, name: &str, shape: [usize; D]) -> Result<Tensor<D>, LoadError> {
        if let Some(tensor) = self.shared(&[name], &shape, DType::F32)? {
            return Ok(tensor);
        }
        let data = TensorData::new(self.values(name, &shape)?, shape);
        Ok(Tensor::from_data(data, (self.device, DType::F32)))
    }

    /// Checks a tensor of this shape that stays in its file, to be read row by row later.
    pub fn check(&self, name: &str, shape: &[usize]) -> Result<(), LoadError> {
        let raw = self.find(name, shape, true)?;
        self.count(raw.bytes.len())
    }

    /// The values of a tensor of this shape on the host, for transforms.
    pub fn values(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, LoadError> {
        self.joined(&[name], shape, convert::to_f32)
    }

    /// Tensors of the file's own type, which a device copies from where they lie, one below the other; none where they have to be read.
    /// The processor works on copies: it would have to map a file for as long as it computes.
    fn shared<const D: usize>(&self, names: &[&str], shape: &[usize; D], dtype: DType) -> Result<Option<Tensor<D>>, LoadError> {
        let is_device = *self.device != Device::flex() && cfg!(target_endian = "little");
        let is_as_wanted = |name: &&str| self.checkpoint.get(&self.full(name)).is_some_and(|raw| is_of(raw.dtype, dtype));
        if !is_device || !names.iter().all(is_as_wanted) {
            return Ok(None);
        }
        let parts = names.iter().map(|name| self.part_of(name, shape, names.len() == 1, dtype)).collect::<Result<Vec<_>, _>>()?;
        let whole = Tensor::cat(parts, 0);
        if whole.dims() != *shape {
            let found = whole.dims().to_vec();
            return Err(Fault::Shape { name: self.full(&names.join("+")), expected: shape.to_vec(), found }.into());
        }
        Ok(Some(whole))
    }

    fn part_of<const D: usize>(&self, name: &str, shape: &[usize], is_whole: bool, dtype: DType) -> Result<Tensor<D>, LoadError> {
        let raw = self.find(name, shape, is_whole)?;
        let missing = || Fault::Missing { name: self.full(name), shape: shape.to_vec() };
        let bytes = self.checkpoint.share(&self.full(name)).ok_or_else(missing)?;
        self.count(bytes.len())?;
        let data = TensorData::from_bytes(Bytes::from_shared(bytes, AllocationProperty::File), raw.shape, dtype);
        Ok(Tensor::from_data(data, (self.device, dtype)))
    }

    fn joined<T>(&self, names: &[&str], shape: &[usize], read: fn(Dtype, &[u8]) -> Option<Vec<T>>) -> Result<Vec<T>, LoadError> {
        let mut all = Vec::new();
        for name in names {
            let raw = self.find(name, shape, names.len() == 1)?;
            let values = read(raw.dtype, raw.bytes);
            let values = values.ok_or_else(|| Fault::Type { name: self.full(name), found: format!("{:?}", raw.dtype) })?;
            self.count(raw.bytes.len())?;
            if all.is_empty() { all = values } else { all.extend(values) }
        }
        if all.len() != shape.iter().product::<usize>() {
            let found = vec![all.len()];
            return Err(Fault::Shape { name: self.full(&names.join("+")), expected: shape.to_vec(), found }.into());
        }
        Ok(all)
    }

    /// A tensor that is there and of the right shape. Of stacked tensors only the inner axes must agree.
    fn find(&self, name: &str, shape: &[usize], is_whole: bool) -> Result<RawTensor<'a>, LoadError> {
        let full = self.full(name);
        let raw = self.checkpoint.get(&full);
        let raw = raw.ok_or_else(|| Fault::Missing { name: full.clone(), shape: shape.to_vec() })?;
        let agrees = if is_whole { raw.shape == shape } else { raw.shape.get(1..) == shape.get(1..) };
        if !agrees {
            return Err(Fault::Shape { name: full, expected: shape.to_vec(), found: raw.shape.to_vec() }.into());
        }
        Ok(raw)
    }

    fn count(&self, bytes: usize) -> Result<(), LoadError> {
        self.done.set(self.done.get() + bytes as u64);
        if (self.progress)(self.done.get()) { Ok(()) } else { Err(LoadError::Cancelled) }
    }

    fn full(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }
}

/// Whether a file's elements are those of a tensor's type, bit for bit.
fn is_of(found: Dtype, wanted: DType) -> bool {
    matches!((found, wanted), (Dtype::BF16, DType::BF16) | (Dtype::F32, DType::F32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Manifest;
    use safetensors::tensor::{TensorView, serialize_to_file};

    fn checkpoint(tensors: &[(&str, &[usize], &[f32])]) -> Checkpoint {
        let directory = tempfile::tempdir().expect("a directory");
        let bytes: Vec<Vec<u8>> =
            tensors.iter().map(|(.., values)| values.iter().flat_map(|value| value.to_le_bytes()).collect()).collect();
        let views = tensors.iter().zip(&bytes).map(|((name, shape, _), bytes)| {
            (*name, TensorView::new(Dtype::F32, shape.to_vec(), bytes).expect("the bytes fill the shape"))
        });
        serialize_to_file(views, None, &directory.path().join("model.safetensors")).expect("it is written");
        Checkpoint::open(directory.path(), "model").expect("it opens")
    }

    #[test]
    fn stacked_matrices_lie_one_below_the_other_and_bytes_are_counted() {
        let checkpoint = checkpoint(&[("l.q", &[1, 2], &[1.0, 2.0]), ("l.k", &[2, 2], &[3.0, 4.0, 5.0, 6.0])]);
        let (device, done) = (Device::flex(), Cell::new(0));
        let reader = Reader::new(&checkpoint, &device, DType::F32, &|_| true, &done);
        let stacked = reader.part("l").rows(&["q", "k"], [3, 2]).expect("they fit");
        assert_eq!(stacked.into_data().try_to_vec::<f32>().expect("floats"), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(done.get(), 24);
        let cancelled = Reader::new(&checkpoint, &device, DType::BF16, &|_| false, &done).tensor("l.q", [1, 2]);
        assert!(matches!(cancelled, Err(LoadError::Cancelled)));
    }

    #[test]
    fn every_fault_is_named() {
        let checkpoint = checkpoint(&[("a", &[2], &[1.0, f32::NAN]), ("b", &[2], &[f32::INFINITY, 0.0]), ("x", &[1], &[0.0])]);
        let mut manifest = Manifest::default();
        manifest.load("a", &[2]);
        manifest.load("b", &[3]);
        manifest.load("c", &[1, 4]);
        let text = manifest.check(&checkpoint).expect_err("three faults").to_string();
        assert_eq!(text, "tensor 'b' is [2], expected [3]; missing tensor 'c' [1, 4]; unexpected tensor 'x' [1]");
        let error = checkpoint.check_finite().expect_err("a NaN");
        assert_eq!(error.to_string(), "tensor 'a' holds values that are not finite; tensor 'b' holds values that are not finite");
    }
}
