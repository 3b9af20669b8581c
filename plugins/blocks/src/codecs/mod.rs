//! Whole codecs that several families use, and the transformer inside them.

pub mod qwen12hz;
pub mod transformer;
