//! Self-attention with grouped heads.

use burn::tensor::Tensor;

use super::{Angles, Norm, NormConfig, Proj};
use crate::kv::KeysValues;
use crate::load::{LoadError, Reader};

/// The shape of an [`Attention`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttentionConfig {
    /// Channels in and out, `d`.
    pub width: usize,
    /// Query heads.
    pub heads: usize,
    /// Key and value heads; a divisor of `heads`.
    pub kv_heads: usize,
    /// Width of a head; `heads * head_dim` need not be `width`.
    pub head_dim: usize,
    /// Normalisation of each query and key head before it is turned.
    pub head_norm: Option<NormConfig>,
}

/// Attention over what a [`KeysValues`] holds. It has no state: keys and values live there.
#[derive(Debug, Clone)]
pub struct Attention {
    /// Queries, keys and values, one below the other.
    qkv: Proj,
    out: Proj,
    norms: Option<(Norm, Norm)>,
    config: AttentionConfig,
}

impl AttentionConfig {
    /// Reads `{q,k,v,o}_proj` and, with `head_norm`, `{q,k}_norm`; biases where the checkpoint has them.
    pub fn load(self, reader: &Reader) -> Result<Attention, LoadError> {
        let (queries, keys) = (self.heads * self.head_dim, self.kv_heads * self.head_dim);
        let norm = |name| self.head_norm.map(|norm| norm.load(reader, name, self.head_dim)).transpose();
        Ok(Attention {
            qkv: Proj::stacked(reader, &["q_proj", "k_proj", "v_proj"], self.width, queries + 2 * keys)?,
            out: Proj::load(reader, "o_proj", queries, self.width)?,
            norms: norm("q_norm")?.zip(norm("k_norm")?),
            config: self,
        })
    }
}

impl Attention {
    /// Computes the layer.
    ///
    /// # Shapes
    /// - `x` and the result: `[R, T, d]`
    pub fn forward(&self, x: Tensor<3>, angles: Option<&Angles>, kv: &mut dyn KeysValues, layer: usize) -> Tensor<3> {
        let [rows, time, _] = x.dims();
        let AttentionConfig { heads, kv_heads, head_dim, .. } = self.config;
        let qkv = self.qkv.forward(x);
        let split = |from: usize, heads: usize| -> Tensor<4> {
            qkv.clone().narrow(2, from * head_dim, heads * head_dim).reshape([rows, time, heads, head_dim])
        };
        let (q, k, v) = (split(0, heads), split(heads, kv_heads), split(heads + kv_heads, kv_heads));
        let (q, k) = match &self.norms {
            Some((q_norm, k_norm)) => (q_norm.forward(q), k_norm.forward(k)),
            None => (q, k),
        };
        let (q, k, v) = (q.swap_dims(1, 2), k.swap_dims(1, 2), v.swap_dims(1, 2));
        let (q, k) = match angles {
            Some(angles) => (angles.turn(q), angles.turn(k)),
            None => (q, k),
        };
        let mixed = kv.attend(layer, q, k, v);
        self.out.forward(mixed.swap_dims(1, 2).reshape([rows, time, heads * head_dim]))
    }
}
