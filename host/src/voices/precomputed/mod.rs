//! Voices that were prepared beforehand: a folder with `custom_voice_manifest.json` and one `.safetensors` a voice, as vLLM-Omni's tools write
//! them. What a model makes of a clip is in the files, so nothing is encoded when such a voice is used.

mod load;
mod manifest;
mod mode;
mod write;

use omni_plugin_api::NamedTensor;

pub use load::{Loaded, load};
pub use manifest::{Entry, MANIFEST, Manifest, ManifestError};
pub use mode::Mode;
pub use write::{WriteError, write};

use super::name::key_of;

/// A prepared voice.
#[derive(Debug, Clone, PartialEq)]
pub struct Precomputed {
    /// Its name; looked up without regard to case.
    pub name: String,
    /// How it is used.
    pub mode: Mode,
    /// What its mode needs.
    pub tensors: Vec<NamedTensor>,
    /// What is said in its clip.
    pub transcript: Option<String>,
    /// A sentence about it.
    pub description: Option<String>,
}

impl Precomputed {
    /// What it is looked up by.
    pub fn key(&self) -> String {
        key_of(&self.name)
    }
}
