//! Qwen3-TTS over real sockets: tiny checkpoints, every documented call, every documented refusal, and the tools around checkpoints.
//!
//! The checkpoints are the golden ones of the plugin and ones that `omni-host checkpoint` makes. They speak noise, the same noise as the
//! published package; what is tested here is everything around it.

mod calls;
mod cloning;
mod errors;
mod support;
mod tools;
