//! What a caller of the engine holds: a stream of audio, or the reason there is none.

use omni_plugin_api::{FinishReason, Usage};

/// Why a request was not spoken. HTTP maps each kind to one status.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SpeechError {
    /// The request is wrong: 400.
    #[error("{message}")]
    Invalid {
        /// The field at fault.
        field: Option<String>,
        /// What a client reads.
        message: String,
    },
    /// Too much is waiting already: 429.
    #[error("the queue is full; try again in {retry_after_s} s")]
    Overloaded {
        /// Seconds after which a place is likely.
        retry_after_s: u64,
    },
    /// The model is loading, draining or unhealthy: 503.
    #[error("{message}")]
    Unavailable {
        /// Which, and why.
        message: String,
        /// Seconds after which to try again.
        retry_after_s: u64,
    },
    /// It did not end within the time that a request may take: 504.
    #[error("{message}")]
    TimedOut {
        /// What a client may read.
        message: String,
    },
    /// The model failed while it worked on the request: 500.
    #[error("{message}")]
    Failed {
        /// What a client may read.
        message: String,
        /// The number of the stage that failed, where it was one.
        stage: Option<usize>,
    },
    /// The model did not come to the end of the text: 500. Another seed may do better.
    #[error("{message}")]
    Incomplete {
        /// What a client reads.
        message: String,
    },
}

impl SpeechError {
    /// A failure of the model.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed { message: message.into(), stage: None }
    }

    /// The same, of a stage.
    pub fn in_stage(self, number: usize) -> Self {
        match self {
            Self::Failed { message, .. } => Self::Failed { message, stage: Some(number) },
            other => other,
        }
    }
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finish {
    /// Why.
    pub reason: FinishReason,
    /// Codec tokens or frames generated, for usage.
    pub generated: u64,
}

/// What is known before the first sample.
#[derive(Debug, Clone, PartialEq)]
pub struct SpeechHead {
    /// Rate of the samples in Hz.
    pub sample_rate_hz: u32,
    /// Interleaved channels.
    pub channels: u16,
    /// Token counts of the input.
    pub usage: Usage,
    /// What could not be spoken, one ASCII sentence each.
    pub warnings: Vec<String>,
}
