//! What the tests of this endpoint share.

use std::time::Duration;

use crate::engine::{Engine, EngineSettings};

/// An engine without a model.
pub fn engine() -> Engine {
    Engine::new(EngineSettings {
        max_queue: 1,
        watchdog: Duration::from_secs(1),
        load_timeout: Duration::from_secs(1),
        ..EngineSettings::default()
    })
}
