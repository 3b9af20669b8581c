//! Rows in and out of Burn tensors without a copy, and parameters as the row loops want them.

use burn::module::Param;
use burn::nn::{LayerNorm, Linear};
use burn::tensor::{Tensor, TensorData};

use super::rows;

/// Rows `[n, width]` that belong to us.
///
/// Values stay in whatever allocation made them, a vector or a matrix product's output, so nothing is copied on the way in or out.
pub struct Rows(TensorData);

impl Rows {
    /// Takes a vector of whole rows.
    pub fn new(values: Vec<f32>, width: usize) -> Self {
        let rows = values.len() / width;
        Self(TensorData::new(values, [rows, width]))
    }

    /// The values, row by row.
    pub fn values(&self) -> &[f32] {
        self.0.as_slice().expect("rows hold f32")
    }

    /// The values, to change in place.
    pub fn values_mut(&mut self) -> &mut [f32] {
        self.0.as_mut_slice().expect("rows hold f32")
    }

    /// The product with a weight `[width, out]`. What a row gives does not depend on how many there are: where processors have the widest
    /// vectors, the library adds up the product of a single row in another order, so that is made as one of two.
    #[must_use]
    pub fn matmul(self, weight: &Tensor<2>) -> Self {
        let is_single = self.0.shape[0] == 1;
        let x = Tensor::<2>::from_data(self.0, &weight.device());
        Self(match is_single {
            true => x.repeat_dim(0, 2).matmul(weight.clone()).narrow(0, 0, 1).into_data(),
            false => x.matmul(weight.clone()).into_data(),
        })
    }
}

/// A dense layer whose bias is added by what follows it. The matrix is shared with the module it came from.
pub struct Dense {
    /// The matrix `[in, out]`.
    pub weight: Tensor<2>,
    /// Its bias `[out]`.
    pub bias: Vec<f32>,
}

impl Dense {
    /// Shares the matrix of a module.
    pub fn new(module: &Linear) -> Self {
        Self { weight: module.weight.val(), bias: module.bias.as_ref().map(values).unwrap_or_default() }
    }
}

/// A layer normalisation's parameters.
pub struct Norm {
    weight: Vec<f32>,
    bias: Vec<f32>,
}

impl Norm {
    /// Copies a module's parameters.
    pub fn new(module: &LayerNorm) -> Self {
        Self { weight: values(&module.gamma), bias: module.beta.as_ref().map(values).unwrap_or_default() }
    }

    /// Normalises rows in place.
    pub fn apply(&self, x: &mut [f32]) {
        rows::layer_norm(x, &self.weight, &self.bias);
    }

    /// Normalised copies of rows.
    pub fn of(&self, x: &[f32]) -> Rows {
        let mut normed = x.to_vec();
        self.apply(&mut normed);
        Rows::new(normed, self.weight.len())
    }
}

/// A copy of a parameter's values.
pub fn values<const D: usize>(param: &Param<Tensor<D>>) -> Vec<f32> {
    param.val().to_data().as_slice().expect("a parameter holds f32").to_vec()
}

/// `[out, in, kernel]` to `[kernel, in, out]`.
pub fn taps_first(weight: &[f32], [out, input, kernel]: [usize; 3]) -> Vec<f32> {
    let at = |k, i, o| weight[(o * input + i) * kernel + k];
    (0..kernel).flat_map(|k| (0..input).flat_map(move |i| (0..out).map(move |o| at(k, i, o)))).collect()
}
