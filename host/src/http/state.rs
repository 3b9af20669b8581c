//! What every handler may reach.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use crate::engine::Engine;

/// Time for the close frames of sessions when the server ends.
const GOODBYE_DEADLINE: Duration = Duration::from_secs(2);

/// The state of the server; cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Shared>);

struct Shared {
    engine: Engine,
    draining: watch::Sender<bool>,
    closing: watch::Sender<bool>,
}

impl App {
    /// A server on this engine.
    pub fn new(engine: Engine) -> Self {
        Self(Arc::new(Shared { engine, draining: watch::Sender::new(false), closing: watch::Sender::new(false) }))
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.0.engine
    }

    /// Whether the server is about to end and takes nothing new.
    pub fn is_draining(&self) -> bool {
        *self.0.draining.borrow()
    }

    /// Refuses new speech from now on and waits for what is running, at most until `deadline`; what runs then is ended with an error
    /// that its client can see. True if all had ended by itself. Sessions are given a moment to say goodbye.
    pub async fn drain(&self, deadline: Duration) -> bool {
        self.0.draining.send_replace(true);
        let ended = self.0.engine.drain(deadline).await;
        self.0.closing.send_replace(true);
        // Only sessions listen to this, each as long as it lives.
        drop(timeout(GOODBYE_DEADLINE, self.0.draining.closed()).await);
        ended
    }

    /// Becomes true when sessions have to end after what they are saying.
    pub(super) fn draining(&self) -> watch::Receiver<bool> {
        self.0.draining.subscribe()
    }

    /// Becomes true when streams that still run have to end.
    pub(super) fn closing(&self) -> watch::Receiver<bool> {
        self.0.closing.subscribe()
    }
}
