//! Burn's own layers filled from a checkpoint.

use burn::module::{Param, ParamId};
use burn::nn::conv::{Conv1d, Conv1dConfig};
use burn::nn::{Embedding, LayerNorm, LayerNormConfig, Linear, PaddingConfig1d};
use burn::tensor::{Device, Tensor, TensorData};

use crate::weights::{LoadError, Weights};

/// A checkpoint being read onto a device.
pub struct Loader<'a> {
    weights: Weights<'a>,
    device: Device,
}

/// The shape of a convolution over time, stride 1, padded so that its output is as long as its input.
#[derive(Clone, Copy)]
pub struct ConvShape {
    /// Channels in.
    pub input: usize,
    /// Channels out.
    pub output: usize,
    /// Kernel length, odd.
    pub kernel: usize,
    /// Distance of the kernel's taps.
    pub dilation: usize,
    /// Groups of channels: 1, or `input` for a depthwise convolution.
    pub groups: usize,
}

impl ConvShape {
    /// A full convolution.
    pub fn full(input: usize, output: usize, kernel: usize) -> Self {
        Self { input, output, kernel, dilation: 1, groups: 1 }
    }

    /// A depthwise convolution.
    pub fn depthwise(width: usize, kernel: usize, dilation: usize) -> Self {
        Self { input: width, output: width, kernel, dilation, groups: width }
    }
}

impl<'a> Loader<'a> {
    /// Reads a safetensors file for a device.
    pub fn read(bytes: &'a [u8], device: &Device) -> Result<Self, LoadError> {
        Ok(Self { weights: Weights::read(bytes)?, device: device.clone() })
    }

    /// A parameter of this shape.
    pub fn param<const D: usize>(&self, name: &str, shape: [usize; D]) -> Result<Param<Tensor<D>>, LoadError> {
        Ok(self.parameter(self.weights.f32(name, &shape)?, shape))
    }

    /// A dense layer `[.., input] -> [.., output]` with bias.
    pub fn linear(&self, name: &str, input: usize, output: usize) -> Result<Linear, LoadError> {
        let weight = self.parameter(self.weights.dense(name, [input, output])?, [input, output]);
        Ok(Linear { weight, bias: Some(self.param(&format!("{name}.bias"), [output])?) })
    }

    /// A layer normalisation over the last axis, epsilon 1e-5.
    pub fn layer_norm(&self, name: &str, width: usize) -> Result<LayerNorm, LoadError> {
        let mut norm = LayerNormConfig::new(width).init(&self.device);
        norm.gamma = self.param(&format!("{name}.weight"), [width])?;
        norm.beta = Some(self.param(&format!("{name}.bias"), [width])?);
        Ok(norm)
    }

    /// A table of `count` vectors.
    pub fn embedding(&self, name: &str, count: usize, width: usize) -> Result<Embedding, LoadError> {
        Ok(Embedding { weight: self.param(&format!("{name}.weight"), [count, width])? })
    }

    /// A convolution over `[batch, channels, time]`.
    pub fn conv(&self, name: &str, shape: ConvShape) -> Result<Conv1d, LoadError> {
        let side = shape.kernel / 2 * shape.dilation;
        let config = Conv1dConfig::new(shape.input, shape.output, shape.kernel)
            .with_dilation(shape.dilation)
            .with_groups(shape.groups)
            .with_padding(PaddingConfig1d::Explicit(side, side));
        let mut conv = config.init(&self.device);
        conv.weight = self.param(&format!("{name}.weight"), [shape.output, shape.input / shape.groups, shape.kernel])?;
        conv.bias = Some(self.param(&format!("{name}.bias"), [shape.output])?);
        Ok(conv)
    }

    /// Ends the reading: every tensor must have found its place.
    pub fn finish(self) -> Result<(), LoadError> {
        self.weights.finish()
    }

    fn parameter<const D: usize>(&self, values: Vec<f32>, shape: [usize; D]) -> Param<Tensor<D>> {
        Param::initialized(ParamId::new(), Tensor::from_data(TensorData::new(values, shape), &self.device))
    }
}

/// Applies a convolution to `[batch, time, channels]`.
pub fn over_time(conv: &Conv1d, x: Tensor<3>) -> Tensor<3> {
    conv.forward(x.swap_dims(1, 2)).swap_dims(1, 2)
}
