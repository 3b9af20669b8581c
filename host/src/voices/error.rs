//! Why something could not be done with a voice.

use super::store::StoreError;

/// Why something could not be done with a voice.
#[derive(Debug, thiserror::Error)]
pub enum VoiceError {
    /// There is a voice of that name, and voices may not be replaced.
    #[error("Voice '{0}' already exists")]
    Exists(String),
    /// There are as many voices as there may be.
    #[error("Uploaded voice limit reached ({0})")]
    Full(usize),
    /// There is no such voice.
    #[error("Voice '{0}' not found")]
    NotFound(String),
    /// Its file cannot be read.
    #[error("the file of voice '{name}' cannot be used: {reason}")]
    Damaged {
        /// The voice.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
