//! Burn modules that model families share: what a family is made of, drawn so that the next one needs no second copy.
//!
//! | module | what it holds |
//! |---|---|
//! | [`load`] | checkpoints: mapped files, shard indices, names and shapes checked, tensors put on a device |
//! | [`nn`] | the decoder block and its parts: projections, norms, rotary tables, attention, feed-forward, the per-frame decoder |
//! | [`kv`] | keys and values of sequences that grow, and of the steps inside one frame |
//! | [`sample`] | the sampler chain, its noise and its history |
//! | [`text`] | byte-level BPE out of a checkpoint's files |
//! | [`conv`] | causal convolutions that carry state |
//! | [`quant`] | vector quantisers |
//! | [`signal`] | spectra and mel front ends |
//! | [`encoders`] | speaker and audio encoders, one shot |
//! | [`codecs`] | whole codecs that several families use |
//! | [`device`] | CUDA devices, with the feature `cuda`, and who may use a device when |
//!
//! Two rules hold throughout. Weights keep the `[out, in]` rows of the checkpoint. The unit of batching is a row: a block knows neither
//! requests nor guidance, takes positions and lengths per row, and a row's result does not depend on its neighbours.

pub mod codecs;
pub mod conv;
pub mod device;
pub mod encoders;
pub mod kv;
pub mod load;
pub mod nn;
pub mod quant;
pub mod sample;
pub mod signal;
pub mod text;
