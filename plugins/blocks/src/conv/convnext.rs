//! The [ConvNeXt](https://arxiv.org/abs/2201.03545) block over time, causal.

use burn::tensor::Tensor;
use burn::tensor::activation::gelu;

use super::carry::Carry;
use super::causal::{Conv, ConvSpec};
use super::dense::Dense;
use crate::load::{LoadError, Reader};
use crate::nn::{Norm, NormConfig};

/// `x + gain * down(gelu(up(norm(depthwise(x)))))`; the gain is part of `down`.
#[derive(Debug, Clone)]
pub struct ConvNext {
    depthwise: Conv,
    norm: Norm,
    up: Dense,
    down: Dense,
}

impl ConvNext {
    /// Reads `dwconv.conv`, `norm`, `pwconv1`, `pwconv2` and `gamma`; four times as many channels inside.
    pub fn load(reader: &Reader, channels: usize, kernel: usize) -> Result<Self, LoadError> {
        let hidden = 4 * channels;
        let gain = reader.values("gamma", &[channels])?;
        let mut rows = reader.values("pwconv2.weight", &[channels, hidden])?;
        let mut bias = reader.values("pwconv2.bias", &[channels])?;
        for ((row, bias), gain) in rows.chunks_exact_mut(hidden).zip(&mut bias).zip(&gain) {
            row.iter_mut().for_each(|weight| *weight *= gain);
            *bias *= gain;
        }
        Ok(Self {
            depthwise: Conv::load(reader, "dwconv.conv", ConvSpec::depthwise(channels, kernel), true)?,
            norm: NormConfig::layer(1e-6).load(reader, "norm", channels)?,
            up: Dense::load(reader, "pwconv1", channels, hidden, true)?,
            down: Dense::new(&rows, [channels, hidden], Some(bias), reader.device()),
        })
    }

    /// Values of state a stream.
    pub fn carried(&self) -> usize {
        self.depthwise.carried()
    }

    /// # Shapes
    /// - `x` and the result: `[rows, time, channels]`
    pub fn push(&self, carry: &mut Carry, x: Tensor<3>) -> Tensor<3> {
        let h = self.norm.forward(self.depthwise.push(carry, x.clone()));
        x + self.down.forward(gelu(self.up.forward(h)))
    }
}
