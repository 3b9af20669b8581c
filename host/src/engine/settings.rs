//! Limits of an engine, and what holds for all its models.

use std::sync::Arc;
use std::time::Duration;

use super::VoiceAliases;
use super::align::Aligner;
use super::pipeline::Patience;

/// Limits of an engine, and what holds for all its models.
#[derive(Debug, Clone)]
pub struct EngineSettings {
    /// Requests a model lets wait beyond those that hold a slot.
    pub max_queue: usize,
    /// Speech that the requests inside a model may want together; none for no limit.
    pub max_promised: Option<Duration>,
    /// How long a request may take, in the queue and after it; none for as long as it likes.
    pub request_timeout: Option<Duration>,
    /// How long a client may leave audio that was made for it alone.
    pub slow_client: Duration,
    /// How long a plugin may stay in one call, or a sequence without a sign of life.
    pub watchdog: Duration,
    /// How long a load may take.
    pub load_timeout: Duration,
    /// How long one stage may take to open.
    pub stage_timeout: Duration,
    /// How long a replica that failed stays closed at first; each time in a row twice as long.
    pub reopen: Duration,
    /// Other names of voices.
    pub aliases: Arc<VoiceAliases>,
    /// What finds the words of a clip, where there is such a thing.
    pub aligner: Option<Arc<dyn Aligner>>,
}

impl Default for EngineSettings {
    fn default() -> Self {
        Self {
            max_queue: 64,
            max_promised: Some(Duration::from_secs(4 * 3600)),
            request_timeout: None,
            slow_client: Duration::from_secs(60),
            watchdog: Duration::from_secs(30),
            load_timeout: Duration::from_secs(600),
            stage_timeout: Duration::from_secs(300),
            reopen: Duration::from_secs(5),
            aliases: Arc::default(),
            aligner: None,
        }
    }
}

impl EngineSettings {
    /// What of it concerns a model's stages.
    pub(super) fn patience(&self) -> Patience {
        Patience { call: self.watchdog, open_stage: self.stage_timeout, reopen: self.reopen, slow_reader: self.slow_client }
    }
}
