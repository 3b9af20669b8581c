//! Vector quantisers.

pub mod codebook;
pub mod rvq;

pub use codebook::Codebook;
pub use rvq::{Rvq, RvqSpec, SplitRvq};
