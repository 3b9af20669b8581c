//! The audio formats of the API.

/// A format the server can answer in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// RIFF WAVE with 16-bit samples.
    #[default]
    Wav,
    /// The 16-bit samples alone.
    Pcm,
}

impl Format {
    /// Every available format, in the order they are listed to clients.
    pub const ALL: [Format; 2] = [Format::Wav, Format::Pcm];
    /// Names of the speech API that this server knows and does not make.
    pub const UNAVAILABLE: [&str; 4] = ["flac", "mp3", "opus", "aac"];

    /// The name in `response_format`.
    pub fn name(self) -> &'static str {
        match self {
            Format::Wav => "wav",
            Format::Pcm => "pcm",
        }
    }

    /// The format of a name, which is compared exactly.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// The value of `content-type`.
    pub fn content_type(self) -> &'static str {
        match self {
            Format::Wav => "audio/wav",
            Format::Pcm => "audio/pcm",
        }
    }
}
