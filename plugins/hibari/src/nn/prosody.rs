//! How the phonemes are said: how long each lasts, and pitch and energy over time.
//!
//! The predictor has a text encoder of its own. A convolution head gives a log duration a phoneme, in frames of 25 ms; the encoder's
//! output, each phoneme repeated for its frames, goes through six dilated ConvNeXt blocks to two pitch and two energy values a frame:
//! one pair each half frame.

use burn::module::Module;
use burn::nn::conv::Conv1d;
use burn::tensor::activation::gelu;
use burn::tensor::{Device, Tensor};

use super::convnext::{ConvNext, ConvNextConfig};
use super::layers::{ConvShape, Loader, over_time};
use super::text_encoder::{TextEncoder, TextEncoderConfig};
use crate::weights::LoadError;

/// Channels of the predictor.
const WIDTH: usize = 192;
/// Dilations of its blocks.
const DILATIONS: [usize; 6] = [1, 2, 4, 8, 1, 2];

/// Prosody predictor.
#[derive(Module, Debug)]
pub struct Prosody {
    /// Its own phoneme encoder.
    pub text: TextEncoder,
    /// Duration head: convolution, GELU, convolution.
    pub duration: Vec<Conv1d>,
    /// Into the frame blocks, kernel 1.
    pub input: Conv1d,
    /// Frame blocks, kernel 7.
    pub blocks: Vec<ConvNext>,
    /// To 4 channels, kernel 1.
    pub output: Conv1d,
}

impl Prosody {
    /// Reads the predictor of a checkpoint.
    pub fn load(loader: &Loader, symbols: usize) -> Result<Self, LoadError> {
        let block = |(i, dilation)| {
            let config = ConvNextConfig { width: WIDTH, hidden: 2 * WIDTH, kernel: 7, dilation };
            config.load(loader, &format!("prosody.blocks.{i}"))
        };
        Ok(Self {
            text: TextEncoderConfig { symbols, width: WIDTH, passes: 6 }.load(loader, "prosody.text")?,
            duration: vec![
                loader.conv("prosody.duration.0", ConvShape::full(WIDTH, WIDTH, 3))?,
                loader.conv("prosody.duration.1", ConvShape::full(WIDTH, 1, 1))?,
            ],
            input: loader.conv("prosody.input", ConvShape::full(WIDTH, WIDTH, 1))?,
            blocks: DILATIONS.into_iter().enumerate().map(block).collect::<Result<_, _>>()?,
            output: loader.conv("prosody.output", ConvShape::full(WIDTH, 4, 1))?,
        })
    }

    /// Encodes the phonemes and predicts their log durations.
    ///
    /// # Shapes
    /// - result: text `[1, ids, 192]` and `ln(1 + frames)` at speed 1, `[1, ids, 1]`
    pub fn durations(&self, ids: &[i32], device: &Device) -> (Tensor<3>, Tensor<3>) {
        let text = self.text.forward(ids, device);
        let hidden = gelu(over_time(&self.duration[0], text.clone()));
        (text, over_time(&self.duration[1], hidden))
    }

    /// Pitch and energy of a text already stretched over time.
    ///
    /// # Shapes
    /// - `text`: `[1, frames, 192]`
    /// - result: `[1, frames, 4]`, pitch of the two half frames in 100 Hz, then energy of both in fifths
    pub fn contour(&self, text: Tensor<3>) -> Tensor<3> {
        let mut h = over_time(&self.input, text);
        for block in &self.blocks {
            h = block.forward(h);
        }
        over_time(&self.output, h)
    }
}
