//! What every handler may reach.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use super::error::ApiError;
use super::voices::UploadRoom;
use crate::engine::Engine;
use crate::reference::{Features, References};
use crate::voices::{MemoryStore, Rules, VoiceStore, Voices};

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
    voices: Voices,
    references: References,
    upload_room: UploadRoom,
    settings: ApiSettings,
    draining: watch::Sender<bool>,
    closing: watch::Sender<bool>,
}

impl App {
    /// A server on this engine with the usual settings, whose voices end with it.
    pub fn new(engine: Engine) -> Self {
        let store = Box::new(MemoryStore::default());
        Self::with_voices_of(engine, store, Rules::default(), References::default(), ApiSettings::default())
    }

    /// A server on this engine with the voices of a store, and with what may be fetched.
    pub fn with_voices_of(engine: Engine, store: Box<dyn VoiceStore>, rules: Rules, references: References, settings: ApiSettings) -> Self {
        let forgetful = references.clone();
        let voices = Voices::new(store, rules, Box::new(move |content| forgetful.forget(content)));
        let (draining, closing) = (watch::Sender::new(false), watch::Sender::new(false));
        Self(Arc::new(Shared { engine, voices, references, upload_room: UploadRoom::default(), settings, draining, closing }))
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.0.engine
    }

    /// The stored voices.
    pub fn voices(&self) -> &Voices {
        &self.0.voices
    }

    /// What models made of references.
    pub fn features(&self) -> &Features {
        self.0.references.features()
    }

    /// Reference audio.
    pub fn references(&self) -> &References {
        &self.0.references
    }

    /// Memory for uploads.
    pub(super) fn upload_room(&self) -> &UploadRoom {
        &self.0.upload_room
    }

    /// Does something with the voices on a thread that may wait for their store.
    pub(super) async fn with_voices<T: Send + 'static>(&self, work: impl FnOnce(&Voices) -> T + Send + 'static) -> Result<T, ApiError> {
        let voices = self.0.voices.clone();
        tokio::task::spawn_blocking(move || work(&voices)).await.map_err(|_| ApiError::panicked())
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
