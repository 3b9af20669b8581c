//! One table of vectors.

use burn::tensor::{Int, Tensor};

use crate::conv::dense::{product, put, transposed};
use crate::load::{LoadError, Reader};

/// Usage below this counts as this, as in training.
const LEAST_USAGE: f32 = 1e-5;

/// A table of vectors, found by the smallest Euclidean distance in f32; of equals the first.
#[derive(Debug, Clone)]
pub struct Codebook {
    /// `[entries, width]`.
    table: Tensor<2>,
    /// `[width, entries]`.
    columns: Tensor<2>,
    /// Half the square of each vector's norm, `[entries]`.
    half_norms: Tensor<1>,
}

impl Codebook {
    /// Reads what training leaves: running sums `{sums}` `[entries, width]` of the vectors given to each entry, and how many those were,
    /// `cluster_usage` `[entries]`.
    pub fn load(reader: &Reader, sums: &str, entries: usize, width: usize) -> Result<Self, LoadError> {
        let usage = reader.values("cluster_usage", &[entries])?;
        let mut table = reader.values(sums, &[entries, width])?;
        for (row, usage) in table.chunks_exact_mut(width).zip(usage) {
            row.iter_mut().for_each(|value| *value /= usage.max(LEAST_USAGE));
        }
        let half_norms = table.chunks_exact(width).map(|row| row.iter().map(|value| value * value).sum::<f32>() / 2.0).collect();
        Ok(Self {
            columns: put(transposed(&table, entries, width), [width, entries], reader.device()),
            table: put(table, [entries, width], reader.device()),
            half_norms: put(half_norms, [entries], reader.device()),
        })
    }

    /// The vectors, `[entries, width]`.
    pub fn table(&self) -> &Tensor<2> {
        &self.table
    }

    /// The nearest entry to each vector: the one with the largest `x·c - |c|²/2`.
    ///
    /// # Shapes
    /// - `x`: `[n, width]`, result: `[n]`
    pub fn nearest(&self, x: Tensor<2>) -> Tensor<1, Int> {
        (product(x, &self.columns) - self.half_norms.clone().unsqueeze::<2>()).argmax(1).squeeze_dim(1)
    }
}
