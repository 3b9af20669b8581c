//! Tokenizers built from the files of a checkpoint.
