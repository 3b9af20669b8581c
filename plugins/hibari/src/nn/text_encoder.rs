//! Phoneme ids to one vector a phoneme: embedding, two ConvNeXt blocks, one transformer layer applied several times with the same
//! weights, layer normalisation. No position encoding: the convolutions tell positions apart.

use burn::module::Module;
use burn::nn::{Embedding, LayerNorm};
use burn::tensor::{Device, Int, Tensor};

use super::convnext::{ConvNext, ConvNextConfig};
use super::layers::Loader;
use super::transformer::{TransformerConfig, TransformerLayer};
use crate::weights::LoadError;

/// The shape of an encoder.
#[derive(Clone, Copy)]
pub struct TextEncoderConfig {
    /// Phoneme ids.
    pub symbols: usize,
    /// Channels; twice as many inside the dense parts.
    pub width: usize,
    /// How often the transformer layer is applied.
    pub passes: usize,
}

/// A phoneme encoder.
#[derive(Module, Debug)]
pub struct TextEncoder {
    /// A vector an id, `[symbols, width]`.
    pub embedding: Embedding,
    /// Convolution blocks, kernel 5.
    pub blocks: Vec<ConvNext>,
    /// The shared transformer layer, two heads.
    pub layer: TransformerLayer,
    /// Normalisation of the output.
    pub norm: LayerNorm,
    /// How often `layer` is applied.
    pub passes: usize,
}

impl TextEncoderConfig {
    /// Reads the encoder `name` of a checkpoint.
    pub fn load(&self, loader: &Loader, name: &str) -> Result<TextEncoder, LoadError> {
        let (width, hidden) = (self.width, 2 * self.width);
        let block = ConvNextConfig { width, hidden, kernel: 5, dilation: 1 };
        Ok(TextEncoder {
            embedding: loader.embedding(&format!("{name}.embedding"), self.symbols, width)?,
            blocks: (0..2).map(|i| block.load(loader, &format!("{name}.blocks.{i}"))).collect::<Result<_, _>>()?,
            layer: TransformerConfig { width, hidden, heads: 2 }.load(loader, &format!("{name}.layer"))?,
            norm: loader.layer_norm(&format!("{name}.norm"), width)?,
            passes: self.passes,
        })
    }
}

impl TextEncoder {
    /// Encodes one sequence of ids, each below the number of symbols.
    ///
    /// # Shapes
    /// - result: `[1, ids, width]`
    pub fn forward(&self, ids: &[i32], device: &Device) -> Tensor<3> {
        let ids = Tensor::<1, Int>::from_data(ids, device).unsqueeze::<2>();
        let mut x = self.embedding.forward(ids);
        for block in &self.blocks {
            x = block.forward(x);
        }
        for _ in 0..self.passes {
            x = self.layer.forward(x);
        }
        self.norm.forward(x)
    }
}
