//! The embedded US English voice: hibari-tts 0.2.1 as Burn modules on the CPU, weights inside.
//!
//! | module | what it holds |
//! |---|---|
//! | [`nn`] | the networks as plain Burn modules |
//! | [`fast`] | hand-written forms of what takes the time |
//! | [`dsp`] | spectra to samples |
//! | [`acoustic`], [`vocoder`] | phonemes to half frames, half frames to audio, both without a host |
//! | [`oov`], [`vocab`], [`weights`] | words outside the lexicon, the alphabet, the files |
//! | [`Hibari`], [`model`], [`stages`] | the family: text to units, one stage a half of the voice |

pub mod acoustic;
pub mod dsp;
mod family;
pub mod fast;
pub mod model;
pub mod nn;
pub mod oov;
pub mod stages;
pub mod vocab;
pub mod vocoder;
pub mod weights;

pub use acoustic::{Acoustic, EncodeError, Utterance};
pub use family::Hibari;
pub use model::HibariModel;
pub use oov::Oov;
pub use vocab::Vocab;
pub use vocoder::{Vocoder, VocoderState};
pub use weights::LoadError;

omni_plugin_api::export_family!(Hibari);
