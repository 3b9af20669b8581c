//! Golden files and comparisons shared by the tests.

#![allow(dead_code, reason = "each test uses its part")]

use std::path::PathBuf;

use safetensors::SafeTensors;

/// One file of `tests/golden`.
pub struct Golden(Vec<u8>);

impl Golden {
    /// Opens `tests/golden/{name}.safetensors`.
    pub fn open(name: &str) -> Self {
        Self(std::fs::read(path(&format!("{name}.safetensors"))).expect("a golden file"))
    }

    fn bytes(&self, name: &str) -> Vec<[u8; 4]> {
        let file = SafeTensors::deserialize(&self.0).expect("a safetensors file");
        file.tensor(name).expect("a golden tensor").data().as_chunks::<4>().0.to_vec()
    }

    /// An f32 tensor's values.
    pub fn f32(&self, name: &str) -> Vec<f32> {
        self.bytes(name).into_iter().map(f32::from_le_bytes).collect()
    }

    /// An i32 tensor's values, none negative.
    pub fn indices(&self, name: &str) -> Vec<usize> {
        self.bytes(name).into_iter().map(|bytes| i32::from_le_bytes(bytes) as usize).collect()
    }

    /// The phoneme ids.
    pub fn ids(&self) -> Vec<u8> {
        self.indices("ids").into_iter().map(|id| id as u8).collect()
    }
}

/// A file of `tests/golden`.
pub fn path(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests/golden", name].iter().collect()
}

/// Largest absolute difference.
pub fn gap(left: &[f32], right: &[f32]) -> f32 {
    assert_eq!(left.len(), right.len());
    left.iter().zip(right).map(|(left, right)| (left - right).abs()).fold(0.0, f32::max)
}

/// Norm of the difference relative to the norm of `right`.
pub fn relative(left: &[f32], right: &[f32]) -> f64 {
    assert_eq!(left.len(), right.len());
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>().sqrt();
    let difference = norm(&mut left.iter().zip(right).map(|(left, right)| f64::from(left - right)));
    difference / norm(&mut right.iter().map(|value| f64::from(*value)))
}
