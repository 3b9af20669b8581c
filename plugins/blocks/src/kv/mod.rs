//! Keys and values: of sequences that grow, and of the steps inside one frame.
//!
//! An attention layer hands its new keys and values to a [`KeysValues`] and gets back what its queries see. What is kept, where, and for
//! how long is the holder's business; the arithmetic is [`attend`] for all of them.

mod attend;
mod device;
mod frame;
mod paged;
mod whole;

use burn::tensor::Tensor;

pub use attend::{attend, causal};
pub use device::{DevicePass, Places, Ruler};
pub use frame::FrameKv;
pub use paged::{KvRow, KvShape, PagedKv, PagedPass};
pub use whole::Whole;

/// Holds keys and values of every layer of a stack.
pub trait KeysValues {
    /// Takes the new keys and values of a layer and mixes the values that its queries see.
    ///
    /// # Shapes
    /// - `q` and the result: `[R, Hq, T, D]`
    /// - `k`, `v`: `[R, Hkv, T, D]`, already turned to their positions
    fn attend(&mut self, layer: usize, q: Tensor<4>, k: Tensor<4>, v: Tensor<4>) -> Tensor<4>;
}
