//! Signals and independent decoders for the tests.
