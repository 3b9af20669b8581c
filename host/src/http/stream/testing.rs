//! What the tests of this endpoint share.

use crate::engine::{Engine, EngineSettings};

/// An engine without a model.
pub fn engine() -> Engine {
    Engine::new(EngineSettings::default())
}
