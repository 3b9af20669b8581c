//! Spectra and mel front ends, computed on the host.

pub mod mel;
pub mod stft;

pub use mel::{MelFrontEnd, MelSpec};
pub use stft::Stft;
