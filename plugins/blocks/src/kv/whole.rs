//! Attention over what is there at once, with nothing kept: encoders.

use burn::tensor::{Bool, Tensor};

use super::{KeysValues, attend};

/// Keys and values of one pass. Every query sees every key but those that the mask hides.
#[derive(Debug, Clone, Default)]
pub struct Whole {
    hidden: Option<Tensor<3, Bool>>,
}

impl Whole {
    /// Hides what `hidden` `[R or 1, T, S]` says; nothing without it.
    pub fn new(hidden: Option<Tensor<3, Bool>>) -> Self {
        Self { hidden }
    }
}

impl KeysValues for Whole {
    fn attend(&mut self, _layer: usize, q: Tensor<4>, k: Tensor<4>, v: Tensor<4>) -> Tensor<4> {
        attend(q, k, v, self.hidden.clone())
    }
}
