//! Half frames of text, pitch and energy to the five spectra the waveform is made of.
//!
//! Everything but the convolutions works on one half frame alone, so the receptive field is nine kernels of 7: 27 half frames on either
//! side. [`crate::fast::decoder`] computes the same on pieces of a sequence.

use burn::module::Module;
use burn::nn::conv::Conv1d;
use burn::nn::{LayerNorm, Linear};
use burn::tensor::Tensor;

use super::convnext::{ConvNext, ConvNextConfig};
use super::layers::{ConvShape, Loader, over_time};
use crate::dsp::BINS;
use crate::weights::LoadError;

/// Channels a half frame: 128 of text, log pitch, energy.
pub const INPUT: usize = 130;
/// Channels of the blocks.
pub const WIDTH: usize = 256;
/// Channels inside the blocks.
pub const HIDDEN: usize = 768;
/// Blocks.
pub const BLOCKS: usize = 8;
/// Kernel length of the input convolution and of every block.
pub const KERNEL: usize = 7;
/// Values a half frame: five spectra of [`BINS`].
pub const OUTPUT: usize = 5 * BINS;

/// Decoder from conditions to spectra.
#[derive(Module, Debug)]
pub struct Decoder {
    /// Convolution `[256, 130, 7]`.
    pub input: Conv1d,
    /// Eight blocks.
    pub blocks: Vec<ConvNext>,
    /// Normalisation before the head.
    pub norm: LayerNorm,
    /// Dense, `[256, 5 * 601]`.
    pub head: Linear,
}

impl Decoder {
    /// Reads the decoder of a checkpoint.
    pub fn load(loader: &Loader) -> Result<Self, LoadError> {
        let block = ConvNextConfig { width: WIDTH, hidden: HIDDEN, kernel: KERNEL, dilation: 1 };
        Ok(Self {
            input: loader.conv("decoder.input", ConvShape::full(INPUT, WIDTH, KERNEL))?,
            blocks: (0..BLOCKS).map(|i| block.load(loader, &format!("decoder.blocks.{i}"))).collect::<Result<_, _>>()?,
            norm: loader.layer_norm("decoder.norm", WIDTH)?,
            head: loader.linear("decoder.head", WIDTH, OUTPUT)?,
        })
    }

    /// Computes the spectra of a whole sequence.
    ///
    /// # Shapes
    /// - `x`: `[batch, half frames, 130]`
    /// - result: `[batch, half frames, 5 * 601]`: log harmonic magnitude, harmonic angle, log noise magnitude, log free magnitude, free
    ///   phase
    pub fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let mut x = over_time(&self.input, x);
        for block in &self.blocks {
            x = block.forward(x);
        }
        self.head.forward(self.norm.forward(x))
    }
}
