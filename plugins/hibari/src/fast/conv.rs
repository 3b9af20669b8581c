//! A full convolution over rows as one matrix product: neighbouring rows are contiguous, so a kernel's window is one long row.

use burn::nn::conv::Conv1d;
use burn::tensor::{Tensor, TensorData};

use super::rows;
use super::tail::Tail;
use super::tensor::{Dense, Rows, taps_first, values};

/// A convolution of kernel length `kernel`, stride and dilation 1.
pub struct FastConv {
    input: usize,
    kernel: usize,
    /// `[kernel * input, output]`.
    dense: Dense,
}

impl FastConv {
    /// Prepares a module.
    pub fn new(module: &Conv1d) -> Self {
        let [output, input, kernel] = module.weight.dims();
        let taps = taps_first(&values(&module.weight), [output, input, kernel]);
        let weight = Tensor::from_data(TensorData::new(taps, [kernel * input, output]), &module.weight.val().device());
        let bias = module.bias.as_ref().map(values).unwrap_or_default();
        Self { input, kernel, dense: Dense { weight, bias } }
    }

    /// The state before a sequence.
    pub fn tail(&self) -> Tail {
        Tail::new(self.input, self.kernel / 2)
    }

    /// Convolves the next rows of a sequence; what needs rows still to come is left for later.
    ///
    /// # Shapes
    /// - `rows`: `[n, input]`; result: `[m, output]`
    pub fn push(&self, tail: &mut Tail, rows: &[f32], last: bool) -> Option<Rows> {
        let padded = tail.push(rows, last)?;
        let window = self.kernel * self.input;
        let patches: Vec<f32> = padded.windows(window).step_by(self.input).flatten().copied().collect();
        let mut out = Rows::new(patches, window).matmul(&self.dense.weight);
        rows::add_bias(out.values_mut(), &self.dense.bias);
        Some(out)
    }

    /// Convolves a whole sequence, which must not be empty.
    pub fn whole(&self, rows: &[f32]) -> Rows {
        self.push(&mut self.tail(), rows, true).expect("the end of a sequence gives its rows")
    }
}
