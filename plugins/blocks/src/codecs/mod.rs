//! Whole codecs that several families use.
