//! Checkpoints on disk, seen through the family that loads them: what of one would load ([`compare`]), and one of random numbers
//! ([`write`](write::write)) for trying everything without trained weights.
//!
//! The host knows no model. A family tells the names and shapes of its tensors; files, headers and numbers are handled here.

mod compare;
mod header;
mod noise;
mod values;
mod write;

pub use compare::{CheckpointReport, FileReport, TensorFault, compare};
pub use header::{Header, HeaderError, TensorEntry};
pub use write::{Made, WriteError, Written, write};
