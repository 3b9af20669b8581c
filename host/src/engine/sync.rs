//! The atomics of [`super::flow`], in one place so that the model checker of `tests/loom` can put its own in theirs.

pub use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
