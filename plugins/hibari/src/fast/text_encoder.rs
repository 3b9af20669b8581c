//! The phoneme encoder over rows.

use super::convnext::FastConvNext;
use super::tensor::{Norm, Rows, values};
use super::transformer::FastTransformer;
use crate::nn::TextEncoder;

/// The encoder of [`crate::nn::text_encoder`]; its matrices are shared with the module.
pub struct FastTextEncoder {
    /// `[symbols, width]`.
    embedding: Vec<f32>,
    width: usize,
    blocks: Vec<FastConvNext>,
    layer: FastTransformer,
    passes: usize,
    norm: Norm,
}

impl FastTextEncoder {
    /// Prepares a module.
    pub fn new(module: &TextEncoder) -> Self {
        let [_, width] = module.embedding.weight.dims();
        Self {
            embedding: values(&module.embedding.weight),
            width,
            blocks: module.blocks.iter().map(FastConvNext::new).collect(),
            layer: FastTransformer::new(&module.layer),
            passes: module.passes,
            norm: Norm::new(&module.norm),
        }
    }

    /// Encodes a sequence of ids, at least one and each below the number of symbols.
    ///
    /// # Shapes
    /// - result: `[ids, width]`
    pub fn whole(&self, ids: &[u8]) -> Rows {
        let vectors = ids.iter().flat_map(|id| &self.embedding[usize::from(*id) * self.width..][..self.width]);
        let mut x = Rows::new(vectors.copied().collect(), self.width);
        for block in &self.blocks {
            x = block.whole(x.values());
        }
        for _ in 0..self.passes {
            x = self.layer.whole(x.values());
        }
        self.norm.apply(x.values_mut());
        x
    }
}
