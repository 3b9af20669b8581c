//! A linear layer that keeps the checkpoint's rows.

use burn::tensor::{Device, Tensor};

use crate::load::{LoadError, Reader};

/// `y = x Wᵀ + b` with `W` as checkpoints hold it, `[out, in]`: a kernel that walks rows and this module share one buffer.
#[derive(Debug, Clone)]
pub struct Proj {
    weight: Tensor<2>,
    bias: Option<Tensor<1>>,
    /// Rows of the batch are multiplied one by one. On the CPU the order of a sum depends on how many rows a product has, and a row's
    /// result may not depend on its neighbours.
    is_row_by_row: bool,
}

impl Proj {
    /// Reads `<name>.weight` `[outputs, inputs]` and, if there is one, `<name>.bias`.
    pub fn load(reader: &Reader, name: &str, inputs: usize, outputs: usize) -> Result<Self, LoadError> {
        Self::stacked(reader, &[name], inputs, outputs)
    }

    /// Reads several layers of the same input as one, their outputs one after the other; `outputs` is the sum.
    pub fn stacked(reader: &Reader, names: &[&str], inputs: usize, outputs: usize) -> Result<Self, LoadError> {
        let of = |part: &str| names.iter().map(|name| format!("{name}.{part}")).collect::<Vec<_>>();
        let (weights, biases) = (of("weight"), of("bias"));
        let weight = reader.rows(&weights, [outputs, inputs])?;
        let has_bias = biases.first().is_some_and(|name| reader.has(name));
        let bias = if has_bias { Some(reader.rows(&biases, [outputs])?) } else { None };
        Ok(Self::new(weight, bias))
    }

    /// A layer of tensors that are already on their device.
    pub fn new(weight: Tensor<2>, bias: Option<Tensor<1>>) -> Self {
        let is_row_by_row = is_host(&weight.device());
        Self { weight, bias, is_row_by_row }
    }

    /// Computes the layer.
    ///
    /// # Shapes
    /// - `x`: `[R, T, in]`
    /// - result: `[R, T, out]`
    pub fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let [rows, time, inputs] = x.dims();
        let [outputs, _] = self.weight.dims();
        let weight = self.weight.clone();
        let y = match self.is_row_by_row {
            // The matrix on the left: its rows are then read as they lie, ten times as fast for a single position.
            true => weight.unsqueeze::<3>().matmul(x.swap_dims(1, 2)).swap_dims(1, 2),
            false => x.reshape([rows * time, inputs]).matmul(weight.transpose()).reshape([rows, time, outputs]),
        };
        match &self.bias {
            Some(bias) => y + bias.clone().unsqueeze(),
            None => y,
        }
    }

    /// The matrix, `[out, in]`.
    pub fn weight(&self) -> &Tensor<2> {
        &self.weight
    }

    /// The bias, `[out]`.
    pub fn bias(&self) -> Option<&Tensor<1>> {
        self.bias.as_ref()
    }
}

/// Whether a device is the host's processor.
pub(crate) fn is_host(device: &Device) -> bool {
    *device == Device::flex()
}
