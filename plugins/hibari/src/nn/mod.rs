//! The networks as plain Burn modules, named as in the checkpoint.
//!
//! They are the definition: what the golden files check. [`crate::fast`] holds the hand-written form of the parts that take the time,
//! tested against these.

pub mod convnext;
pub mod decoder;
pub mod layers;
pub mod prosody;
pub mod text_encoder;
pub mod transformer;

pub use convnext::ConvNext;
pub use decoder::Decoder;
pub use prosody::Prosody;
pub use text_encoder::TextEncoder;
pub use transformer::TransformerLayer;
