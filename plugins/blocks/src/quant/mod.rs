//! Vector quantisers.
