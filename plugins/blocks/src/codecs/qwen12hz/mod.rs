//! The 12.5 Hz speech codec of the Qwen3-TTS tokenizer: 16 codes a frame to and from 24 kHz mono.
//!
//! | part | what it does |
//! |---|---|
//! | [`Config`] | the `config.json` beside the weights, checked |
//! | [`declare`] | every tensor of the checkpoint |
//! | [`Decoder`] | codes to samples, stream by stream with exact state |
//! | [`Encoder`] | a reference recording to codes, one shot |
//!
//! Both take their weights from a [`Reader`](crate::load::Reader) of `f32` that stands before the `decoder.` and `encoder.` tensors, so a family
//! whose checkpoint keeps the codec below another name passes the reader of that part.

mod config;
mod decoder;
mod encoder;
mod stack;
mod tensors;

pub use config::{Config, ConfigError, DecoderConfig, EncoderConfig};
pub use decoder::{DecodeError, Decoder};
pub use encoder::Encoder;
pub use tensors::declare;
