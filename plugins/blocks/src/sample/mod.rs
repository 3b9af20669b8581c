//! The sampler chain, its noise and its history.
