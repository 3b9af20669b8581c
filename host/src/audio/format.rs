//! The audio formats of the API.

/// A format the server can answer in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// RIFF WAVE with 16-bit samples.
    #[default]
    Wav,
    /// The 16-bit samples alone.
    Pcm,
    /// FLAC with 16-bit samples.
    Flac,
    /// MPEG audio layer III.
    Mp3,
    /// Opus in Ogg.
    Opus,
    /// AAC in ADTS frames.
    Aac,
}

impl Format {
    /// Every format of this build, in the order they are listed to clients.
    pub const ALL: &[Format] = &[
        Format::Wav,
        Format::Pcm,
        Format::Flac,
        Format::Mp3,
        Format::Opus,
        #[cfg(feature = "aac")]
        Format::Aac,
    ];

    /// The name in `response_format`.
    pub fn name(self) -> &'static str {
        match self {
            Format::Wav => "wav",
            Format::Pcm => "pcm",
            Format::Flac => "flac",
            Format::Mp3 => "mp3",
            Format::Opus => "opus",
            Format::Aac => "aac",
        }
    }

    /// The format of a name, which is compared exactly.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|format| format.name() == name)
    }

    /// The value of `content-type`.
    pub fn content_type(self) -> &'static str {
        match self {
            Format::Wav => "audio/wav",
            Format::Pcm => "audio/pcm",
            Format::Flac => "audio/flac",
            Format::Mp3 => "audio/mpeg",
            Format::Opus => "audio/ogg",
            Format::Aac => "audio/aac",
        }
    }

    /// Whether its encoder is so cheap that it may run between two awaits.
    pub fn is_plain(self) -> bool {
        matches!(self, Format::Wav | Format::Pcm)
    }
}
