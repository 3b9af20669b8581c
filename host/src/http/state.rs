//! What every handler may reach.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;

use crate::engine::Engine;

/// The state of the server; cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Shared>);

struct Shared {
    engine: Engine,
    draining: AtomicBool,
    closing: watch::Sender<bool>,
}

impl App {
    /// A server on this engine.
    pub fn new(engine: Engine) -> Self {
        Self(Arc::new(Shared { engine, draining: AtomicBool::new(false), closing: watch::Sender::new(false) }))
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.0.engine
    }

    /// Whether the server is about to end and takes nothing new.
    pub fn is_draining(&self) -> bool {
        self.0.draining.load(Ordering::Relaxed)
    }

    /// Refuses new speech from now on and waits for what is running, at most until `deadline`; what runs then is ended with an error
    /// that its client can see. True if all had ended by itself.
    pub async fn drain(&self, deadline: Duration) -> bool {
        self.0.draining.store(true, Ordering::Relaxed);
        let ended = self.0.engine.drain(deadline).await;
        self.0.closing.send_replace(true);
        ended
    }

    /// Becomes true when streams that still run have to end.
    pub(super) fn closing(&self) -> watch::Receiver<bool> {
        self.0.closing.subscribe()
    }
}
