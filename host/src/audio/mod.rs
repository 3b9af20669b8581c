//! Samples as bytes: what a model makes, in the formats that clients ask for.

mod dot;
pub mod encode;
mod format;
pub mod pcm;
pub mod resample;
pub mod wav;

pub use format::Format;
