//! A pre-norm transformer block.

use burn::tensor::Tensor;

use super::{Angles, Attention, AttentionConfig, Mlp, MlpConfig, Norm, NormConfig};
use crate::kv::KeysValues;
use crate::load::{LoadError, Reader};

/// The shape of a [`Block`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockConfig {
    /// Attention.
    pub attention: AttentionConfig,
    /// Both norms.
    pub norm: NormConfig,
    /// Feed-forward part.
    pub mlp: MlpConfig,
    /// Whether each branch is scaled channel by channel before it is added.
    pub has_layer_scale: bool,
}

/// `x += s₁ attention(norm x)`, then `x += s₂ mlp(norm x)`.
#[derive(Debug, Clone)]
pub struct Block {
    norm1: Norm,
    attention: Attention,
    norm2: Norm,
    mlp: Mlp,
    scales: Option<(Tensor<1>, Tensor<1>)>,
}

impl BlockConfig {
    /// Reads a layer under the names of Hugging Face's decoder layers.
    pub fn load(self, reader: &Reader) -> Result<Block, LoadError> {
        let width = self.attention.width;
        let scale = |name: &str| reader.tensor(&format!("{name}.scale"), [width]);
        Ok(Block {
            norm1: self.norm.load(reader, "input_layernorm", width)?,
            attention: self.attention.load(&reader.part("self_attn"))?,
            norm2: self.norm.load(reader, "post_attention_layernorm", width)?,
            mlp: self.mlp.load(&reader.part("mlp"), width)?,
            scales: match self.has_layer_scale {
                true => Some((scale("self_attn_layer_scale")?, scale("mlp_layer_scale")?)),
                false => None,
            },
        })
    }
}

impl Block {
    /// Computes the block as layer `layer` of `kv`.
    ///
    /// # Shapes
    /// - `x` and the result: `[R, T, d]`
    pub fn forward(&self, x: Tensor<3>, angles: Option<&Angles>, kv: &mut dyn KeysValues, layer: usize) -> Tensor<3> {
        let mut branch = self.attention.forward(self.norm1.forward(x.clone()), angles, kv, layer);
        if let Some((scale, _)) = &self.scales {
            branch = branch * scale.clone().unsqueeze();
        }
        let x = x + branch;
        let mut branch = self.mlp.forward(self.norm2.forward(x.clone()));
        if let Some((_, scale)) = &self.scales {
            branch = branch * scale.clone().unsqueeze();
        }
        x + branch
    }
}
