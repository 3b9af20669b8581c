//! Golden files, random checkpoints and comparisons shared by the tests and the bench.

#![allow(dead_code, reason = "each test uses its part")]

use std::cell::Cell;
use std::path::{Path, PathBuf};

use burn::tensor::{DType, Device, Tensor, TensorData};
use omni_blocks::load::{Checkpoint, Manifest, Reader};
use safetensors::tensor::{Dtype, TensorView, serialize_to_file};

/// A folder of `tests/golden`.
pub fn folder(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests/golden", name].iter().collect()
}

/// A file of tensors: weights or recorded values.
pub struct Stored(Checkpoint);

impl Stored {
    /// Opens `{folder}/{stem}.safetensors`.
    pub fn open(folder: &Path, stem: &str) -> Self {
        Self(Checkpoint::open(folder, stem).expect("a file of tensors"))
    }

    /// The file.
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.0
    }

    /// Gives a reader of it to `take`.
    pub fn read<T>(&self, device: &Device, take: impl FnOnce(&Reader) -> T) -> T {
        take(&Reader::new(&self.0, device, DType::F32, &|_| true, &Cell::new(0)))
    }

    /// The shape of a tensor.
    pub fn shape(&self, name: &str) -> Vec<usize> {
        self.0.get(name).unwrap_or_else(|| panic!("no tensor {name}")).shape.to_vec()
    }

    /// The values of an f32 tensor.
    pub fn f32(&self, name: &str) -> Vec<f32> {
        self.bytes(name, Dtype::F32).into_iter().map(f32::from_le_bytes).collect()
    }

    /// The values of an i32 tensor.
    pub fn i32(&self, name: &str) -> Vec<i32> {
        self.bytes(name, Dtype::I32).into_iter().map(i32::from_le_bytes).collect()
    }

    fn bytes(&self, name: &str, dtype: Dtype) -> Vec<[u8; 4]> {
        let tensor = self.0.get(name).unwrap_or_else(|| panic!("no tensor {name}"));
        assert_eq!(tensor.dtype, dtype, "{name}");
        tensor.bytes.as_chunks::<4>().0.to_vec()
    }
}

/// Writes a checkpoint of the tensors a manifest uses, filled at random: matrices keep a signal's size, the rest is near one.
pub fn write_random(manifest: &Manifest, folder: &Path, stem: &str) {
    let mut random = Random(7);
    let bytes: Vec<(String, Vec<usize>, Vec<u8>)> = manifest
        .tensors()
        .map(|(name, shape)| {
            let spread = if shape.len() > 1 { 1.0 / (shape[1..].iter().product::<usize>() as f32).sqrt() } else { 0.1 };
            let around =
                if shape.len() > 1 || name.ends_with("bias") || name.ends_with("alpha") || name.ends_with("beta") { 0.0 } else { 1.0 };
            let values = (0..shape.iter().product::<usize>()).flat_map(|_| (around + spread * random.next()).to_le_bytes());
            (name.to_owned(), shape.to_vec(), values.collect())
        })
        .collect();
    let views = bytes.iter().map(|(name, shape, data)| (name.as_str(), TensorView::new(Dtype::F32, shape.clone(), data).expect("a view")));
    serialize_to_file(views, None, &folder.join(format!("{stem}.safetensors"))).expect("a file");
}

/// Numbers between -1 and 1.
pub struct Random(pub u64);

impl Random {
    /// The next one.
    pub fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }

    /// Several.
    pub fn many(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.next()).collect()
    }

    /// Codes below `entries`.
    pub fn codes(&mut self, count: usize, entries: usize) -> Vec<i32> {
        (0..count).map(|_| ((self.next() + 1.0) / 2.0 * entries as f32) as i32).map(|code| code.min(entries as i32 - 1)).collect()
    }
}

/// Puts values on the CPU.
pub fn tensor<const D: usize>(values: Vec<f32>, shape: [usize; D]) -> Tensor<D> {
    Tensor::from_data(TensorData::new(values, shape), &Device::flex())
}

/// Reads values back.
pub fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_to_vec().expect("f32")
}

/// Largest absolute difference.
pub fn gap(left: &[f32], right: &[f32]) -> f32 {
    assert_eq!(left.len(), right.len());
    let largest = |most: f32, difference: f32| if difference > most || difference.is_nan() { difference } else { most };
    left.iter().zip(right).map(|(left, right)| (left - right).abs()).fold(0.0, largest)
}

/// Norm of the difference relative to the norm of `right`.
pub fn relative(left: &[f32], right: &[f32]) -> f64 {
    assert_eq!(left.len(), right.len());
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>().sqrt();
    let difference = norm(&mut left.iter().zip(right).map(|(left, right)| f64::from(left - right)));
    difference / norm(&mut right.iter().map(|value| f64::from(*value)))
}
