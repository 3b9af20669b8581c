//! The feed-forward half of a block.

use burn::tensor::Tensor;
use burn::tensor::activation::{gelu, silu};

use super::Proj;
use crate::load::{LoadError, Reader};

/// The nonlinearity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// `x σ(x)`.
    Silu,
    /// `x Φ(x)`, exact.
    Gelu,
}

/// The shape of an [`Mlp`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MlpConfig {
    /// Channels inside.
    pub hidden: usize,
    /// The nonlinearity.
    pub act: Act,
    /// Whether the nonlinearity gates a second branch: `down(act(gate x) * up x)`, read from `gate_proj`, `up_proj` and `down_proj`.
    /// Without it `down(act(up x))`, read from `fc1` and `fc2`.
    pub is_gated: bool,
}

/// A feed-forward part.
#[derive(Debug, Clone)]
pub struct Mlp {
    /// Gate and up one below the other, or up alone.
    up: Proj,
    down: Proj,
    config: MlpConfig,
}

impl MlpConfig {
    /// Reads the part for `width` channels in and out; biases where the checkpoint has them.
    pub fn load(self, reader: &Reader, width: usize) -> Result<Mlp, LoadError> {
        let (up, down) = match self.is_gated {
            true => (Proj::stacked(reader, &["gate_proj", "up_proj"], width, 2 * self.hidden)?, "down_proj"),
            false => (Proj::load(reader, "fc1", width, self.hidden)?, "fc2"),
        };
        Ok(Mlp { up, down: Proj::load(reader, down, self.hidden, width)?, config: self })
    }
}

impl Mlp {
    /// Computes the part: `[R, T, d]` to `[R, T, d]`.
    pub fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let hidden = self.config.hidden;
        let up = self.up.forward(x);
        let inner = match self.config.is_gated {
            true => self.act(up.clone().narrow(2, 0, hidden)) * up.narrow(2, hidden, hidden),
            false => self.act(up),
        };
        self.down.forward(inner)
    }

    fn act(&self, x: Tensor<3>) -> Tensor<3> {
        match self.config.act {
            Act::Silu => silu(x),
            Act::Gelu => gelu(x),
        }
    }
}
