//! Convolutions over time, whole or piece by piece with their state carried.
//!
//! Signals are `[rows, time, channels]`: a kernel's window is then one run of memory and every convolution one matrix product
//! `[windows, taps * channels] x [taps * channels, out]`. A transposed convolution is a plain one whose output channels are the phases
//! between two inputs, so nothing has to be added up afterwards and its bias enters once.
//!
//! State is only ever "the last inputs": [`Carry`] hands each layer its own and collects what the next piece needs, [`Slots`] keeps one
//! such state a stream. Rows of one step are independent; on the CPU a row's bits do not depend on its neighbours, because every matrix
//! product adds up in an order that depends on its inner length alone (see [`dense::product`]). For the same reason, and because a product of few
//! rows would have to turn it around first, matrices here lie `[in, out]` and not as checkpoints hold them.

pub mod carry;
pub mod causal;
pub mod convnext;
pub mod dense;
pub mod pad;
pub mod patches;
pub mod residual;
pub mod slots;
pub mod snake;
pub mod transposed;

pub use carry::Carry;
pub use causal::{Conv, ConvSpec};
pub use convnext::ConvNext;
pub use dense::Dense;
pub use pad::{Pad, PadMode};
pub use residual::ResidualUnit;
pub use slots::{SlotError, Slots};
pub use snake::SnakeBeta;
pub use transposed::ConvTransposed;
