//! A transformer layer over rows.

use burn::tensor::{Tensor, TensorData};

use super::rows;
use super::tensor::{Dense, Norm, Rows};
use crate::nn::TransformerLayer;

/// The layer of [`crate::nn::transformer`]; its matrices are shared with the module.
pub struct FastTransformer {
    heads: usize,
    norm1: Norm,
    qkv: Dense,
    out: Dense,
    norm2: Norm,
    up: Dense,
    down: Dense,
}

impl FastTransformer {
    /// Prepares a module.
    pub fn new(module: &TransformerLayer) -> Self {
        Self {
            heads: module.heads,
            norm1: Norm::new(&module.norm1),
            qkv: Dense::new(&module.qkv),
            out: Dense::new(&module.out),
            norm2: Norm::new(&module.norm2),
            up: Dense::new(&module.up),
            down: Dense::new(&module.down),
        }
    }

    /// Computes the layer.
    ///
    /// # Shapes
    /// - `x` and the result: `[time, width]`
    pub fn whole(&self, x: &[f32]) -> Rows {
        let mut qkv = self.norm1.of(x).matmul(&self.qkv.weight);
        rows::add_bias(qkv.values_mut(), &self.qkv.bias);
        let mut x_attended = self.attend(qkv.values()).matmul(&self.out.weight);
        rows::bias_add(x_attended.values_mut(), &self.out.bias, x);
        let mut h = self.norm2.of(x_attended.values()).matmul(&self.up.weight);
        rows::bias_gelu(h.values_mut(), &self.up.bias);
        let mut h = h.matmul(&self.down.weight);
        rows::bias_add(h.values_mut(), &self.down.bias, x_attended.values());
        h
    }

    /// `[time, 3 * width]` to `[time, width]`, head by head.
    fn attend(&self, qkv: &[f32]) -> Rows {
        let width = self.out.bias.len();
        let head = width / self.heads;
        let device = self.out.weight.device();
        let columns = |from: usize| -> Tensor<2> {
            let values: Vec<f32> = qkv.chunks_exact(3 * width).flat_map(|row| &row[from..from + head]).copied().collect();
            let time = values.len() / head;
            Tensor::from_data(TensorData::new(values, [time, head]), &device)
        };
        let mut mixed = vec![0.0; qkv.len() / 3];
        for from in (0..width).step_by(head) {
            let mut scores = columns(from).matmul(columns(width + from).transpose()).into_data();
            let time = scores.shape[0];
            rows::softmax(scores.as_mut_slice().expect("scores are f32"), time, 1.0 / (head as f32).sqrt());
            let values = Tensor::<2>::from_data(scores, &device).matmul(columns(2 * width + from)).into_data();
            let values: &[f32] = values.as_slice().expect("values are f32");
            for (row, values) in mixed.chunks_exact_mut(width).zip(values.chunks_exact(head)) {
                row[from..from + head].copy_from_slice(values);
            }
        }
        Rows::new(mixed, width)
    }
}
