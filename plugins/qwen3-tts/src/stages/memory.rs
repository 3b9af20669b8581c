//! What the talker keeps on its device from step to step.
//!
//! Keys and values serve every way of making frames. The rest is a row a slot, for recorded steps: a sequence's row is written when it joins
//! them, and from then on each step reads it and writes what came of it. The last slot is nobody's.

use std::sync::{Mutex, MutexGuard};

use burn::tensor::kind::Basic;
use burn::tensor::{DType, Device, Element, IndexingUpdateOp, Int, Tensor, TensorData};
use omni_blocks::kv::PagedKv;
use omni_blocks::sample::{NUMBERS, signed_seed};
use omni_plugin_api::PluginError;

use super::speaking::Speaking;

/// Columns of a slot's state before the codes of its newest frame.
const HEAD: usize = 5;

/// Tensors that steps read and write in place.
pub struct Memory {
    /// Keys and values.
    pub kv: PagedKv,
    /// First codes drawn before, 1 each, `[slots + 1, codes + 1]`.
    pub seen: Tensor<2>,
    /// Position, frame, hash of the seed, frames before which it may not end, 1 for a sequence and 0 for nobody, codes of the newest frame:
    /// `[slots + 1, HEAD + codebooks]`.
    state: Tensor<2, Int>,
    /// Pages of the cache, `[slots + 1, pages]`.
    pages: Tensor<2, Int>,
    /// Settings of the first code and of the others, `[slots + 1, 2 * NUMBERS]`.
    numbers: Tensor<2>,
}

/// The state of a batch, a row each.
pub struct State {
    /// Position of the newest frame, `[R, 1]`.
    pub position: Tensor<2, Int>,
    /// Frames drawn, `[R, 1]`.
    pub frame: Tensor<2, Int>,
    /// Hash of the seed, `[R, 1]`.
    pub seed: Tensor<2, Int>,
    /// Frames before which it may not end, `[R, 1]`.
    pub min_frames: Tensor<2, Int>,
    /// 1 for a sequence, 0 for nobody, `[R, 1]`.
    one: Tensor<2, Int>,
    /// Codes of the newest frame, `[R, codebooks]`.
    pub codes: Tensor<2, Int>,
    /// Pages of the cache, `[R, P]`.
    pub pages: Tensor<2, Int>,
    /// Settings, `[R, 2 * NUMBERS]`.
    pub numbers: Tensor<2>,
}

/// The memory, unless a step that held it panicked.
pub fn lock<T>(memory: &Mutex<T>) -> Result<MutexGuard<'_, T>, PluginError> {
    memory.lock().map_err(|_| PluginError::internal("a step of the talker broke off"))
}

impl Memory {
    /// Empty memory for `slots` sequences that draw first codes of `logits` logits and frames of `codebooks` codes.
    pub fn new(kv: PagedKv, slots: usize, logits: usize, codebooks: usize, device: &Device) -> Self {
        let rows = slots + 1;
        let pages = kv.positions() / kv.page();
        Self {
            seen: Tensor::zeros([rows, logits], (device, DType::F32)),
            state: Tensor::zeros([rows, HEAD + codebooks], device),
            pages: Tensor::zeros([rows, pages], device),
            numbers: Tensor::ones([rows, 2 * NUMBERS], (device, DType::F32)),
            kv,
        }
    }

    /// Writes the row of a sequence that has drawn its frames elsewhere so far.
    pub fn join(&mut self, slot: usize, speaking: &Speaking) {
        let (row, kv) = (&speaking.row, &speaking.kv);
        let mut marks = vec![0.0_f32; self.seen.dims()[1]];
        for id in row.history.ids().take_while(|id| *id < self.seen.dims()[1]) {
            marks[id] = 1.0;
        }
        put(&mut self.seen, slot, marks);
        let head = [kv.len() as i64, i64::from(row.frame), signed_seed(row.seed), i64::from(row.first.min_tokens), 1];
        let codes = speaking.newest.iter().flatten().map(|code| i64::from(*code));
        put(&mut self.state, slot, head.into_iter().chain(codes).collect());
        let most = self.pages.dims()[1];
        let pages = kv.pages().iter().map(|page| *page as i64).chain(std::iter::repeat(0));
        put(&mut self.pages, slot, pages.take(most).collect());
        put(&mut self.numbers, slot, [row.first.numbers(), row.rest.numbers()].concat());
    }

    /// The rows of these slots, `[R]`; of each one's pages the first `pages`.
    pub fn state(&self, slots: &Tensor<1, Int>, pages: usize) -> State {
        let all = self.state.clone().select(0, slots.clone());
        let part = |from: usize, count: usize| all.clone().narrow(1, from, count);
        State {
            position: part(0, 1),
            frame: part(1, 1),
            seed: part(2, 1),
            min_frames: part(3, 1),
            one: part(4, 1),
            codes: part(HEAD, all.dims()[1] - HEAD),
            pages: self.pages.clone().select(0, slots.clone()).narrow(1, 0, pages),
            numbers: self.numbers.clone().select(0, slots.clone()),
        }
    }

    /// Takes the frame in that a step drew for these slots, `[R, codebooks]`. Nobody's row stays where it is.
    pub fn advance(&mut self, slots: Tensor<1, Int>, state: State, codes: Tensor<2, Int>) {
        let State { position, frame, seed, min_frames, one, .. } = state;
        let next = Tensor::cat(vec![position + one.clone(), frame + one.clone(), seed, min_frames, one, codes], 1);
        self.state.inplace(|state| state.scatter_nd(slots.unsqueeze_dim::<2>(1), next, IndexingUpdateOp::Assign));
    }
}

/// Writes one row of a table.
fn put<K: Basic, E: Element>(table: &mut Tensor<2, K>, row: usize, values: Vec<E>) {
    let width = values.len();
    let values = Tensor::<2, K>::from_data(TensorData::new(values, [1, width]), (&table.device(), table.dtype()));
    table.inplace(|table| table.slice_assign([row..row + 1, 0..width], values));
}
