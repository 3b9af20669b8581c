//! Why a reference cannot be used.

/// Why a reference cannot be used. Its text is for the client, who is told it as it stands.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ReferenceError {
    /// The bytes are no audio of a kind that is read here.
    #[error("Invalid or unsupported audio file: {0}")]
    Unsupported(String),
    /// The bytes begin like audio and do not go on like it.
    #[error(
        "Invalid or corrupted audio data: {0}. Ensure the input is a valid audio file (e.g. a complete WAV, FLAC, MP3, OGG, M4A or WebM)"
    )]
    Corrupted(String),
    /// The encoded file is too large.
    #[error("Maximum file size exceeded: reference audio may have {limit_bytes} bytes at most")]
    TooLarge {
        /// The limit.
        limit_bytes: usize,
    },
    /// Too short to tell a voice from.
    #[error("Reference audio too short ({seconds:.1}s). At least {min_seconds}s of clear speech is required.")]
    TooShort {
        /// Its length.
        seconds: f64,
        /// The shortest that is taken.
        min_seconds: f64,
    },
    /// Too long.
    #[error("Reference audio too long ({}{seconds:.1}s). Maximum {max_seconds}s supported — use a shorter clip.", if *.at_least { "over " } else { "" })]
    TooLong {
        /// Its length, or as much of it as was looked at.
        seconds: f64,
        /// Whether there is more of it.
        at_least: bool,
        /// The longest that is taken.
        max_seconds: f64,
    },
    /// Nothing can be heard in it, or nothing but its own distortion.
    #[error("{0}")]
    Unusable(String),
    /// The locator is none that may be used, or what it points at cannot be had.
    #[error("{0}")]
    Locator(String),
    /// Too many references are being fetched or decoded.
    #[error("too many references are being read; try again in a second")]
    Busy,
    /// The server failed.
    #[error("{0}")]
    Ours(String),
}

impl ReferenceError {
    /// Whether the client is at fault: its answer is a 400.
    pub fn is_client(&self) -> bool {
        !matches!(self, Self::Busy | Self::Ours(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_told_in_the_words_of_the_reference() {
        let short = ReferenceError::TooShort { seconds: 0.51, min_seconds: 1.0 };
        assert_eq!(short.to_string(), "Reference audio too short (0.5s). At least 1s of clear speech is required.");
        let long = ReferenceError::TooLong { seconds: 31.0, at_least: false, max_seconds: 30.0 };
        assert_eq!(long.to_string(), "Reference audio too long (31.0s). Maximum 30s supported — use a shorter clip.");
        assert!(short.is_client() && long.is_client() && !ReferenceError::Busy.is_client());
    }
}
