//! Samples as bytes: what a model makes, in the formats that clients ask for.

pub mod chain;
mod dot;
pub mod encode;
mod format;
pub mod pcm;
pub mod resample;
pub mod speed;
pub mod wav;

pub use format::Format;
