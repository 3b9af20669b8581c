//! The two stages, and what travels between them. A stage owns what changes; the voice itself is shared.

pub mod acoustic;
pub mod latents;
pub mod seam;
pub mod slots;
pub mod vocoder;

pub use acoustic::AcousticStage;
pub use vocoder::VocoderStage;
