//! The engine's own file on what its threads share, compiled with the atomics of a model checker.

/// The checker's atomics in the place of the machine's.
pub mod sync {
    pub use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
}

#[path = "../../../host/src/engine/flow.rs"]
pub mod flow;
