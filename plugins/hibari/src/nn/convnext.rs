//! The block every part of the voice is built of ([ConvNeXt](https://arxiv.org/abs/2201.03545) over time): depthwise convolution,
//! layer normalisation, dense, GELU, dense, a learned gain, and the input added.

use burn::module::{Module, Param};
use burn::nn::conv::Conv1d;
use burn::nn::{LayerNorm, Linear};
use burn::tensor::Tensor;
use burn::tensor::activation::gelu;

use super::layers::{ConvShape, Loader, over_time};
use crate::weights::LoadError;

/// The shape of a block.
#[derive(Clone, Copy)]
pub struct ConvNextConfig {
    /// Channels in and out.
    pub width: usize,
    /// Channels between the two dense layers.
    pub hidden: usize,
    /// Length of the depthwise kernel, odd.
    pub kernel: usize,
    /// Distance of the kernel's taps.
    pub dilation: usize,
}

/// One block.
#[derive(Module, Debug)]
pub struct ConvNext {
    /// Depthwise convolution, `[width, 1, kernel]`.
    pub depthwise: Conv1d,
    /// Normalisation of its output.
    pub norm: LayerNorm,
    /// Dense, `[width, hidden]`.
    pub up: Linear,
    /// Dense, `[hidden, width]`.
    pub down: Linear,
    /// Gain of each channel, `[width]`.
    pub gamma: Param<Tensor<1>>,
}

impl ConvNextConfig {
    /// Reads the block `name` of a checkpoint.
    pub fn load(&self, loader: &Loader, name: &str) -> Result<ConvNext, LoadError> {
        Ok(ConvNext {
            depthwise: loader.conv(&format!("{name}.depthwise"), ConvShape::depthwise(self.width, self.kernel, self.dilation))?,
            norm: loader.layer_norm(&format!("{name}.norm"), self.width)?,
            up: loader.linear(&format!("{name}.up"), self.width, self.hidden)?,
            down: loader.linear(&format!("{name}.down"), self.hidden, self.width)?,
            gamma: loader.param(&format!("{name}.gamma"), [self.width])?,
        })
    }
}

impl ConvNext {
    /// Computes the block over a whole sequence, zeros before and after it.
    ///
    /// # Shapes
    /// - `x` and the result: `[batch, time, width]`
    pub fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let h = self.norm.forward(over_time(&self.depthwise, x.clone()));
        let h = self.down.forward(gelu(self.up.forward(h)));
        x + h * self.gamma.val().unsqueeze::<3>()
    }
}
