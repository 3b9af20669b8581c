//! Samples as bytes: what a model makes, in the formats that clients ask for.

mod format;
pub mod pcm;
pub mod wav;

pub use format::Format;
