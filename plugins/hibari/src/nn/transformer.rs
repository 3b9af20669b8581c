//! A pre-norm transformer layer with self-attention over the whole sequence and a GELU feed-forward part.

use burn::module::Module;
use burn::nn::{LayerNorm, Linear};
use burn::tensor::Tensor;
use burn::tensor::activation::{gelu, softmax};

use super::layers::Loader;
use crate::weights::LoadError;

/// The shape of a layer.
#[derive(Clone, Copy)]
pub struct TransformerConfig {
    /// Channels in and out.
    pub width: usize,
    /// Channels inside the feed-forward part.
    pub hidden: usize,
    /// Attention heads.
    pub heads: usize,
}

/// One layer.
#[derive(Module, Debug)]
pub struct TransformerLayer {
    /// Normalisation before the attention.
    pub norm1: LayerNorm,
    /// Queries, keys and values, `[width, 3 * width]`.
    pub qkv: Linear,
    /// Output of the attention, `[width, width]`.
    pub out: Linear,
    /// Normalisation before the feed-forward part.
    pub norm2: LayerNorm,
    /// Dense, `[width, hidden]`.
    pub up: Linear,
    /// Dense, `[hidden, width]`.
    pub down: Linear,
    /// Attention heads.
    pub heads: usize,
}

impl TransformerConfig {
    /// Reads the layer `name` of a checkpoint.
    pub fn load(&self, loader: &Loader, name: &str) -> Result<TransformerLayer, LoadError> {
        Ok(TransformerLayer {
            norm1: loader.layer_norm(&format!("{name}.norm1"), self.width)?,
            qkv: loader.linear(&format!("{name}.qkv"), self.width, 3 * self.width)?,
            out: loader.linear(&format!("{name}.out"), self.width, self.width)?,
            norm2: loader.layer_norm(&format!("{name}.norm2"), self.width)?,
            up: loader.linear(&format!("{name}.up"), self.width, self.hidden)?,
            down: loader.linear(&format!("{name}.down"), self.hidden, self.width)?,
            heads: self.heads,
        })
    }
}

impl TransformerLayer {
    /// Computes the layer.
    ///
    /// # Shapes
    /// - `x` and the result: `[batch, time, width]`
    pub fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let x = x.clone() + self.attend(self.norm1.forward(x));
        let h = gelu(self.up.forward(self.norm2.forward(x.clone())));
        x + self.down.forward(h)
    }

    fn attend(&self, h: Tensor<3>) -> Tensor<3> {
        let [batch, time, width] = h.dims();
        let head = width / self.heads;
        // [batch, time, 3, heads, head] -> three of [batch, heads, time, head]
        let qkv = self.qkv.forward(h).reshape([batch, time, 3, self.heads, head]);
        let part = |i: usize| qkv.clone().slice([0..batch, 0..time, i..i + 1]).squeeze_dim::<4>(2).swap_dims(1, 2);
        let scores = part(0).matmul(part(1).swap_dims(2, 3)).div_scalar((head as f32).sqrt());
        let mixed = softmax(scores, 3).matmul(part(2));
        self.out.forward(mixed.swap_dims(1, 2).reshape([batch, time, width]))
    }
}
