//! The decoder on pieces of a sequence.
//!
//! Every convolution keeps its own last rows ([`Tail`]), so a piece carries only new half frames and any cut gives the same spectra.

use super::conv::FastConv;
use super::convnext::FastConvNext;
use super::rows;
use super::tail::Tail;
use super::tensor::{Dense, Norm, Rows};
use crate::nn::Decoder;

/// [`Decoder`] prepared for pieces; its matrices are shared with the module.
pub struct FastDecoder {
    input: FastConv,
    blocks: Vec<FastConvNext>,
    norm: Norm,
    head: Dense,
}

/// What a sequence carries from piece to piece.
#[derive(Debug, Clone)]
pub struct DecoderState {
    input: Tail,
    blocks: Vec<Tail>,
}

impl FastDecoder {
    /// Prepares a module.
    pub fn new(module: &Decoder) -> Self {
        Self {
            input: FastConv::new(&module.input),
            blocks: module.blocks.iter().map(FastConvNext::new).collect(),
            norm: Norm::new(&module.norm),
            head: Dense::new(&module.head),
        }
    }

    /// The state before a sequence.
    pub fn start(&self) -> DecoderState {
        DecoderState { input: self.input.tail(), blocks: self.blocks.iter().map(FastConvNext::tail).collect() }
    }

    /// Computes the spectra that the next half frames of a sequence complete: 27 fewer than were pushed, until the `last`.
    ///
    /// # Shapes
    /// - `x`: `[n, 130]`; result: `[m, 5 * 601]`, nothing when `m` is 0
    pub fn push(&self, state: &mut DecoderState, x: &[f32], last: bool) -> Option<Rows> {
        let mut h = self.input.push(&mut state.input, x, last);
        for (block, tail) in self.blocks.iter().zip(&mut state.blocks) {
            h = block.push(tail, h.as_ref().map_or(&[], Rows::values), last);
        }
        let mut h = h?;
        self.norm.apply(h.values_mut());
        let mut spectra = h.matmul(&self.head.weight);
        rows::add_bias(spectra.values_mut(), &self.head.bias);
        Some(spectra)
    }
}
