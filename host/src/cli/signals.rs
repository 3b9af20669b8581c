//! The signals that end the server.

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Failure;

/// SIGTERM and SIGINT, caught from the moment this exists: also as process 1, which has no default handlers.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Begins to catch them.
    pub fn catch() -> Result<Self, Failure> {
        let caught = |kind| signal(kind).map_err(|error| Failure(format!("signals cannot be caught: {error}")));
        Ok(Self { terminate: caught(SignalKind::terminate())?, interrupt: caught(SignalKind::interrupt())? })
    }

    /// Waits for the next one and gives its number.
    pub async fn next(&mut self) -> i32 {
        tokio::select! {
            _ = self.terminate.recv() => SignalKind::terminate().as_raw_value(),
            _ = self.interrupt.recv() => SignalKind::interrupt().as_raw_value(),
        }
    }
}
