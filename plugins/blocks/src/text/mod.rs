//! Tokenizers built from the files of a checkpoint.

mod bpe;

pub use bpe::{Bpe, TextError};
