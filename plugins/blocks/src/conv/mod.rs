//! Causal convolutions that carry state from chunk to chunk.
