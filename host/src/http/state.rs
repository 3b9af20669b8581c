//! What every handler may reach.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use crate::engine::Engine;

/// Time for the close frames of sessions when the server ends.
const GOODBYE_DEADLINE: Duration = Duration::from_secs(2);

/// What of the API an operator may set.
#[derive(Debug, Clone, Copy)]
pub struct ApiSettings {
    /// Most items of a batch.
    pub max_batch_items: usize,
    /// Time for a session's first message to come.
    pub session_config: Duration,
    /// Time between two messages of a session while nothing is being spoken.
    pub session_idle: Duration,
}

impl Default for ApiSettings {
    fn default() -> Self {
        Self { max_batch_items: 32, session_config: Duration::from_secs(10), session_idle: Duration::from_secs(30) }
    }
}

/// The state of the server; cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Shared>);

struct Shared {
    engine: Engine,
    settings: ApiSettings,
    draining: watch::Sender<bool>,
    closing: watch::Sender<bool>,
}

impl App {
    /// A server on this engine with the usual settings.
    pub fn new(engine: Engine) -> Self {
        Self::with(engine, ApiSettings::default())
    }

    /// A server on this engine.
    pub fn with(engine: Engine, settings: ApiSettings) -> Self {
        Self(Arc::new(Shared { engine, settings, draining: watch::Sender::new(false), closing: watch::Sender::new(false) }))
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.0.engine
    }

    /// What the operator set.
    pub(super) fn settings(&self) -> ApiSettings {
        self.0.settings
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
