//! The transformer inside a frame: one codebook after the other.

use burn::tensor::{DType, Int, Tensor};

use super::{Proj, Stack, Table};
use crate::kv::FrameKv;

/// Draws a codebook's codes `[R]` from its logits `[R, V]`; the number is the step, from 0.
pub type Pick<'a, E> = dyn FnMut(usize, Tensor<2>) -> Result<Tensor<1, Int>, E> + 'a;

/// Makes the codes of a frame step by step, each from those before it.
#[derive(Debug, Clone)]
pub struct FrameDecoder {
    /// The blocks.
    pub stack: Stack,
    /// The code of step `g` enters step `g + 1` by table `g`.
    pub inputs: Table,
    /// From the width of the tables to that of the blocks, where they differ.
    pub projection: Option<Proj>,
    /// One head a step.
    pub heads: Vec<Proj>,
}

impl FrameDecoder {
    /// Runs one frame.
    ///
    /// # Shapes
    /// - `prologue`: `[R, P, w]`, the rows before the first code, in the width of the tables
    /// - result: the codes of each step, `[R]`
    ///
    /// What `kv` holds of the frame before is overwritten and never seen.
    pub fn run<E>(&self, prologue: Tensor<3>, kv: &mut FrameKv, pick: &mut Pick<E>) -> Result<Vec<Tensor<1, Int>>, E> {
        kv.restart();
        let mut codes: Vec<Tensor<1, Int>> = Vec::with_capacity(self.heads.len());
        let mut rows = prologue;
        for (step, head) in self.heads.iter().enumerate() {
            let hidden = self.advance(rows, kv);
            let [batch, _, _] = hidden.dims();
            let logits = head.forward(hidden).cast(DType::F32);
            let vocabulary = logits.dims()[2];
            let code = pick(step, logits.reshape([batch, vocabulary]))?;
            codes.push(code.clone());
            if step + 1 == self.heads.len() {
                break;
            }
            rows = self.inputs.rows(step, code).unsqueeze_dim(1);
        }
        Ok(codes)
    }

    /// Runs rows `[R, T, w]` through the blocks: the hidden of the last one, `[R, 1, d]`.
    fn advance(&self, rows: Tensor<3>, kv: &mut FrameKv) -> Tensor<3> {
        let [batch, time, _] = rows.dims();
        let positions = kv.next_positions(batch, time);
        let x = match &self.projection {
            Some(projection) => projection.forward(rows),
            None => rows,
        };
        let hidden = self.stack.forward(x, positions, kv);
        kv.advance(time);
        hidden.narrow(1, time - 1, 1)
    }
}
