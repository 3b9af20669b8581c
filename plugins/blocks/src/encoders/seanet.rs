//! The convolutional half of a [SEANet](https://arxiv.org/abs/2009.02095) encoder, causal: samples to features.

use burn::tensor::{Device, Tensor};

use crate::conv::{Carry, Conv, ConvSpec};
use crate::load::{LoadError, Reader};

/// The shape of an encoder of mono audio.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeanetSpec {
    /// Channels after the first convolution, doubled by each stage.
    pub filters: usize,
    /// Taps of the first convolution.
    pub kernel: usize,
    /// Taps of the last.
    pub last_kernel: usize,
    /// Taps of a residual unit's first.
    pub unit_kernel: usize,
    /// Dilation of each residual unit of a stage.
    pub dilations: Vec<usize>,
    /// How many times fewer channels are inside a residual unit.
    pub compress: usize,
    /// Stride of each stage.
    pub strides: Vec<usize>,
    /// Channels out.
    pub output: usize,
}

/// The encoder: a convolution, stages of residual units and a strided convolution, a convolution, ELU before all but the first.
#[derive(Debug, Clone)]
pub struct Seanet {
    first: Conv,
    stages: Vec<Stage>,
    last: Conv,
    device: Device,
}

#[derive(Debug, Clone)]
struct Stage {
    units: Vec<(Conv, Conv)>,
    down: Conv,
}

impl Seanet {
    /// Reads `layers.{n}`; activations take numbers too.
    pub fn load(reader: &Reader, spec: &SeanetSpec) -> Result<Self, LoadError> {
        let first = Conv::load(reader, "layers.0.conv", ConvSpec::full(1, spec.filters, spec.kernel), true)?;
        let mut stages = Vec::with_capacity(spec.strides.len());
        let (mut channels, mut layer) = (spec.filters, 1);
        for stride in &spec.strides {
            stages.push(Stage::load(reader, layer, channels, *stride, spec)?);
            channels *= 2;
            layer += spec.dilations.len() + 2;
        }
        let last = ConvSpec::full(channels, spec.output, spec.last_kernel);
        let last = Conv::load(reader, &format!("layers.{}.conv", layer + 1), last, true)?;
        Ok(Self { first, stages, last, device: reader.device().clone() })
    }

    /// Where its weights are.
    pub fn device(&self) -> Device {
        self.device.clone()
    }

    /// Values of state a stream.
    pub fn carried(&self) -> usize {
        self.first.carried() + self.stages.iter().map(Stage::carried).sum::<usize>() + self.last.carried()
    }

    /// The next piece of streams, a multiple of all strides long unless it is the last.
    ///
    /// # Shapes
    /// - `x`: `[rows, samples, 1]`, result: `[rows, ceil(samples / strides), output]`
    pub fn push(&self, carry: &mut Carry, x: Tensor<3>) -> Tensor<3> {
        let x = self.first.push(carry, x);
        let x = self.stages.iter().fold(x, |x, stage| stage.push(carry, x));
        self.last.push(carry, elu(x))
    }
}

impl Stage {
    fn load(reader: &Reader, layer: usize, channels: usize, stride: usize, spec: &SeanetSpec) -> Result<Self, LoadError> {
        let inner = channels / spec.compress;
        let unit = |(n, dilation): (usize, &usize)| {
            let reader = reader.part(format_args!("layers.{}.block", layer + n));
            let conv = ConvSpec::full(channels, inner, spec.unit_kernel).dilation(*dilation);
            Ok((Conv::load(&reader, "1.conv", conv, true)?, Conv::load(&reader, "3.conv", ConvSpec::full(inner, channels, 1), true)?))
        };
        let units = spec.dilations.iter().enumerate().map(unit).collect::<Result<Vec<_>, LoadError>>()?;
        let down = ConvSpec::full(channels, 2 * channels, 2 * stride).stride(stride);
        let down = Conv::load(reader, &format!("layers.{}.conv", layer + units.len() + 1), down, true)?;
        Ok(Self { units, down })
    }

    fn carried(&self) -> usize {
        self.units.iter().map(|(conv, mix)| conv.carried() + mix.carried()).sum::<usize>() + self.down.carried()
    }

    fn push(&self, carry: &mut Carry, x: Tensor<3>) -> Tensor<3> {
        let x = self.units.iter().fold(x, |x, (conv, mix)| {
            let h = conv.push(carry, elu(x.clone()));
            x + mix.push(carry, elu(h))
        });
        self.down.push(carry, elu(x))
    }
}

/// `x` where positive, else `e^x - 1`.
fn elu(x: Tensor<3>) -> Tensor<3> {
    burn::tensor::activation::elu(x, 1.0)
}
