//! What is known of a stored voice, and what is stored of it.

use serde::{Serialize, Serializer};

use super::name::VoiceName;
use crate::reference::{Clip, ContentId, content_of};

/// What a voice was made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A clip of somebody speaking.
    Audio {
        /// Its rate in Hz.
        sample_rate_hz: u32,
    },
    /// A speaker's vector.
    Embedding {
        /// Its length.
        dim: usize,
    },
}

/// What is known of a stored voice without its sound.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Its name as it was given.
    pub name: String,
    /// What it is looked up by.
    pub key: String,
    /// The id of its speaker's consent, an opaque text.
    pub consent: String,
    /// When it was stored, in seconds since 1970; a voice that replaces another has a larger number.
    pub created_at: u64,
    /// The kind of file that was uploaded.
    pub mime_type: String,
    /// What the client called the file.
    pub original_filename: String,
    /// Bytes of the file.
    pub file_size: u64,
    /// What is said in the clip.
    pub ref_text: Option<String>,
    /// A sentence about the speaker.
    pub speaker_description: Option<String>,
    /// What it was made from.
    pub source: Source,
}

impl Record {
    /// `audio` or `direct`, as files and listings say it.
    pub fn embedding_source(&self) -> &'static str {
        match self.source {
            Source::Audio { .. } => "audio",
            Source::Embedding { .. } => "direct",
        }
    }

    /// The length of its vector, if it is one.
    pub fn embedding_dim(&self) -> Option<usize> {
        match self.source {
            Source::Audio { .. } => None,
            Source::Embedding { dim } => Some(dim),
        }
    }
}

/// The members of a voice in a listing.
#[derive(Serialize)]
struct Shown<'a> {
    name: &'a str,
    consent: &'a str,
    created_at: u64,
    file_size: u64,
    mime_type: &'a str,
    embedding_source: &'a str,
    embedding_dim: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ref_text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    speaker_description: Option<&'a str>,
}

/// As a listing shows it: written straight into the answer, of which there may be ten thousand.
impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let shown = Shown {
            name: &self.name,
            consent: &self.consent,
            created_at: self.created_at,
            file_size: self.file_size,
            mime_type: &self.mime_type,
            embedding_source: self.embedding_source(),
            embedding_dim: self.embedding_dim(),
            ref_text: self.ref_text.as_deref(),
            speaker_description: self.speaker_description.as_deref(),
        };
        shown.serialize(serializer)
    }
}

/// What a voice sounds like.
#[derive(Debug, Clone, PartialEq)]
pub enum Sample {
    /// A clip.
    Audio(Clip),
    /// A speaker's vector.
    Embedding(Vec<f32>),
}

impl Sample {
    /// What it is called in caches.
    pub fn content(&self) -> ContentId {
        match self {
            Self::Audio(clip) => clip.content(),
            Self::Embedding(vector) => content_of(None, vector),
        }
    }
}

/// A voice that is to be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct NewVoice {
    /// Its name.
    pub name: VoiceName,
    /// The id of its speaker's consent.
    pub consent: String,
    /// The kind of file that was uploaded.
    pub mime_type: String,
    /// What the client called the file.
    pub original_filename: String,
    /// Bytes of the file; none are those of the stored one.
    pub file_size: Option<u64>,
    /// What is said in the clip.
    pub ref_text: Option<String>,
    /// A sentence about the speaker.
    pub speaker_description: Option<String>,
    /// What it sounds like.
    pub sample: Sample,
}

/// The kind of file a vector is stored as.
pub const VECTOR_MIME: &str = "application/x-safetensors";

impl NewVoice {
    /// A voice that is a speaker's vector.
    pub fn of_vector(name: VoiceName, consent: impl Into<String>, vector: Vec<f32>) -> Self {
        Self {
            name,
            consent: consent.into(),
            mime_type: VECTOR_MIME.to_owned(),
            original_filename: String::new(),
            file_size: None,
            ref_text: None,
            speaker_description: None,
            sample: Sample::Embedding(vector),
        }
    }
}
