//! A ConvNeXt block over rows.

use super::rows;
use super::tail::Tail;
use super::tensor::{Dense, Norm, Rows, taps_first, values};
use crate::nn::ConvNext;

/// The block of [`crate::nn::convnext`] with its small parameters laid out for row loops; the matrices are shared with the module.
pub struct FastConvNext {
    width: usize,
    kernel: usize,
    dilation: usize,
    /// `[kernel, width]`.
    taps: Vec<f32>,
    bias: Vec<f32>,
    norm: Norm,
    up: Dense,
    down: Dense,
    gamma: Vec<f32>,
}

impl FastConvNext {
    /// Prepares a module.
    pub fn new(module: &ConvNext) -> Self {
        let [width, _, kernel] = module.depthwise.weight.dims();
        Self {
            width,
            kernel,
            dilation: module.depthwise.dilation,
            taps: taps_first(&values(&module.depthwise.weight), [width, 1, kernel]),
            bias: module.depthwise.bias.as_ref().map(values).unwrap_or_default(),
            norm: Norm::new(&module.norm),
            up: Dense::new(&module.up),
            down: Dense::new(&module.down),
            gamma: values(&module.gamma),
        }
    }

    /// The state of the block before a sequence.
    pub fn tail(&self) -> Tail {
        Tail::new(self.width, self.kernel / 2 * self.dilation)
    }

    /// Computes the block for the next rows of a sequence; what needs rows still to come is left for later.
    ///
    /// # Shapes
    /// - `rows`: `[n, width]`; result: `[m, width]`
    pub fn push(&self, tail: &mut Tail, rows: &[f32], last: bool) -> Option<Rows> {
        let padded = tail.push(rows, last)?;
        Some(self.forward(&padded, tail.centre(&padded)))
    }

    /// Computes the block over a whole sequence, which must not be empty.
    pub fn whole(&self, rows: &[f32]) -> Rows {
        self.push(&mut self.tail(), rows, true).expect("the end of a sequence gives its rows")
    }

    /// # Shapes
    /// - `padded`: `centre` with its context before and after it, `centre` and result: `[n, width]`
    fn forward(&self, padded: &[f32], centre: &[f32]) -> Rows {
        let mut h = vec![0.0; centre.len()];
        rows::depthwise(padded, &self.taps, &self.bias, self.dilation, &mut h);
        self.norm.apply(&mut h);
        let mut h = Rows::new(h, self.width).matmul(&self.up.weight);
        rows::bias_gelu(h.values_mut(), &self.up.bias);
        let mut h = h.matmul(&self.down.weight);
        rows::scale_add(h.values_mut(), &self.down.bias, &self.gamma, centre);
        h
    }
}
