//! Qwen3-TTS, the 12.5 Hz family: Base, CustomVoice and VoiceDesign, 0.6B and 1.7B.
//!
//! | file | what it holds |
//! |---|---|
//! | [`family`](crate::Qwen3Tts) | what the host must know before anything is loaded |
//! | [`config`], [`manifest`], [`load`] | a checkpoint: its settings, its tensors, the way onto devices |
//! | [`blueprint`] | checkpoints as data: what one needs, and published variants of random numbers |
//! | [`request`], [`task`], [`voice`] | what a request may ask, and the errors it gets |
//! | [`text`], [`layout`] | text to tokens, tokens to the rows that the talker reads |
//! | [`nn`] | the talker: a transformer over frames and one inside a frame |
//! | [`model`] | a loaded model: prompts, references, stages |
//! | [`stages`] | `talker` makes frames of 16 codes, `code2wav` makes 1920 samples of each |

pub mod blueprint;
pub mod config;
mod family;
pub mod generation;
pub mod layout;
pub mod load;
pub mod manifest;
pub mod model;
pub mod nn;
pub mod prompt;
pub mod request;
pub mod stages;
pub mod task;
pub mod text;
pub mod voice;

pub use family::Qwen3Tts;

omni_plugin_api::export_family!(Qwen3Tts);
