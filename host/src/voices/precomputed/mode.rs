//! How a prepared voice is used, and what that needs.

use omni_plugin_api::NamedTensor;
use serde::{Deserialize, Serialize};

use crate::voices::SPEAKER_EMBEDDING;

/// How a prepared voice is used. The names are those of the manifests; which of them a family knows is seen by the tensors that it makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum Mode {
    /// By a speaker's vector.
    Xvec,
    /// In context: the clip's codes and its transcript come before the text.
    Icl,
    /// By the clip's features.
    Reference,
    /// The text goes on where the clip ends.
    Continuation,
    /// Both of the above.
    RefContinuation,
}

impl Mode {
    const ALL: [Self; 5] = [Self::Xvec, Self::Icl, Self::Reference, Self::Continuation, Self::RefContinuation];

    /// The mode of a name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// Its name in manifests.
    pub fn name(self) -> &'static str {
        match self {
            Self::Xvec => "xvec",
            Self::Icl => "icl",
            Self::Reference => "reference",
            Self::Continuation => "continuation",
            Self::RefContinuation => "ref_continuation",
        }
    }

    /// The tensors it needs.
    pub fn tensors(self) -> &'static [&'static str] {
        match self {
            Self::Xvec => &[SPEAKER_EMBEDDING],
            Self::Icl => &[SPEAKER_EMBEDDING, "ref_code"],
            Self::Reference => &["ref_audio_feat"],
            Self::Continuation => &["audio_feat"],
            Self::RefContinuation => &["ref_audio_feat", "audio_feat"],
        }
    }

    /// The mode that a file without one has: a speaker's vector first, else all that its features allow.
    pub fn inferred(tensors: &[NamedTensor]) -> Option<Self> {
        [Self::Xvec, Self::RefContinuation, Self::Reference, Self::Continuation].into_iter().find(|mode| mode.is_met_by(tensors))
    }

    /// Whether there is all that it needs.
    pub fn is_met_by(self, tensors: &[NamedTensor]) -> bool {
        self.tensors().iter().all(|name| tensors.iter().any(|tensor| tensor.name == *name))
    }

    /// Whether it cannot do without a transcript.
    pub fn needs_transcript(self) -> bool {
        self == Self::Icl
    }
}
