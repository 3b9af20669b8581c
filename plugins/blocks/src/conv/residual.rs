//! The residual unit of the decoder stacks.

use burn::tensor::Tensor;

use super::carry::Carry;
use super::causal::{Conv, ConvSpec};
use super::snake::SnakeBeta;
use crate::load::{LoadError, Reader};

/// `x + mix(snake(conv(snake(x))))`: a causal convolution and one over single inputs.
#[derive(Debug, Clone)]
pub struct ResidualUnit {
    before: SnakeBeta,
    conv: Conv,
    between: SnakeBeta,
    mix: Conv,
}

impl ResidualUnit {
    /// Reads `act1`, `conv1.conv`, `act2`, `conv2.conv`.
    pub fn load(reader: &Reader, channels: usize, kernel: usize, dilation: usize) -> Result<Self, LoadError> {
        Ok(Self {
            before: SnakeBeta::load(reader, "act1", channels)?,
            conv: Conv::load(reader, "conv1.conv", ConvSpec::full(channels, channels, kernel).dilation(dilation), true)?,
            between: SnakeBeta::load(reader, "act2", channels)?,
            mix: Conv::load(reader, "conv2.conv", ConvSpec::full(channels, channels, 1), true)?,
        })
    }

    /// Values of state a stream.
    pub fn carried(&self) -> usize {
        self.conv.carried()
    }

    /// # Shapes
    /// - `x` and the result: `[rows, time, channels]`
    pub fn push(&self, carry: &mut Carry, x: Tensor<3>) -> Tensor<3> {
        let h = self.conv.push(carry, self.before.forward(x.clone()));
        x + self.mix.push(carry, self.between.forward(h))
    }
}
