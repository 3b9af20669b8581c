//! Blocks one after the other.

use burn::tensor::{Int, Tensor};

use super::{Block, BlockConfig, Norm, RopeTable, frequencies};
use crate::kv::KeysValues;
use crate::load::{LoadError, Reader};

/// The shape of a [`Stack`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StackConfig {
    /// How many blocks.
    pub layers: usize,
    /// Each block.
    pub block: BlockConfig,
    /// Base of the rotary embedding.
    pub theta: f32,
    /// Positions that may be asked for.
    pub positions: usize,
    /// Whether a norm follows the last block, read from `norm`.
    pub has_final_norm: bool,
}

/// A transformer without its embeddings and heads.
#[derive(Debug, Clone)]
pub struct Stack {
    blocks: Vec<Block>,
    norm: Option<Norm>,
    rope: RopeTable,
    config: StackConfig,
}

impl StackConfig {
    /// Reads `layers.{0..}` and `norm`.
    pub fn load(self, reader: &Reader) -> Result<Stack, LoadError> {
        let block = |layer: usize| self.block.load(&reader.part("layers").part(layer));
        let attention = self.block.attention;
        let rope = RopeTable::new(&frequencies(self.theta, attention.head_dim), self.positions, reader.device(), reader.dtype());
        Ok(Stack {
            blocks: (0..self.layers).map(block).collect::<Result<_, _>>()?,
            norm: if self.has_final_norm { Some(self.block.norm.load(reader, "norm", attention.width)?) } else { None },
            rope,
            config: self,
        })
    }
}

impl Stack {
    /// Computes all blocks and the final norm.
    ///
    /// # Shapes
    /// - `x` and the result: `[R, T, d]`
    /// - `positions`: `[R, T]`, each below [`StackConfig::positions`]
    pub fn forward(&self, x: Tensor<3>, positions: Tensor<2, Int>, kv: &mut dyn KeysValues) -> Tensor<3> {
        let angles = self.rope.at(positions);
        let mut x = x;
        for (layer, block) in self.blocks.iter().enumerate() {
            x = block.forward(x, Some(&angles), kv, layer);
        }
        match &self.norm {
            Some(norm) => norm.forward(x),
            None => x,
        }
    }

    /// Its shape.
    pub fn config(&self) -> &StackConfig {
        &self.config
    }
}
