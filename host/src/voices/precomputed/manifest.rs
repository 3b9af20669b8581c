//! The manifest of a folder of prepared voices.

use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The file's name.
pub const MANIFEST: &str = "custom_voice_manifest.json";
/// Largest manifest.
const MAX_BYTES: u64 = 16 << 20;

/// The manifest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// 1; not checked when read.
    #[serde(default = "version")]
    pub schema_version: Value,
    /// The family that the voices were prepared for; any if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_type: Option<String>,
    /// The checkpoint, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Value>,
    /// The length of a speaker's vector, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden_size: Option<Value>,
    /// The voices by their names.
    #[serde(default)]
    pub voices: Value,
}

/// What a manifest says of a voice. Lengths are told for people; a reader takes them from the tensors.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Entry {
    /// Its name; the member's name if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its file, relative to the manifest.
    #[serde(alias = "filename", skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// How it is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// What is said in its clip.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ref_text: Option<String>,
    /// The same where the text goes on after the clip.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_text: Option<String>,
    /// A sentence about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speaker_description: Option<String>,
    /// Numbers of its speaker's vector.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embedding_dim: Option<Value>,
    /// Frames of its codes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ref_code_length: Option<Value>,
    /// Frames of its features.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ref_audio_feat_len: Option<Value>,
    /// Frames of the features it is continued from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audio_feat_len: Option<Value>,
}

/// Why a manifest cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The file cannot be read.
    #[error("{0}")]
    File(#[from] std::io::Error),
    /// It is no manifest.
    #[error("it is no manifest: {0}")]
    Json(#[from] serde_json::Error),
    /// It is too large.
    #[error("it is larger than {MAX_BYTES} bytes")]
    TooLarge,
}

fn version() -> Value {
    Value::from(1)
}

impl Manifest {
    /// An empty manifest of a family.
    pub fn new(model_type: &str, model: Option<String>) -> Self {
        let voices = Value::Object(Map::new());
        Self {
            schema_version: version(),
            model_type: Some(model_type.to_owned()),
            model: model.map(Value::from),
            hidden_size: None,
            voices,
        }
    }

    /// Reads the manifest of a folder; none if there is none.
    pub fn read(folder: &Path) -> Result<Option<Self>, ManifestError> {
        let file = match fs::File::open(folder.join(MANIFEST)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let mut bytes = Vec::new();
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(ManifestError::TooLarge);
        }
        // A list would do for a struct as well.
        let members: Map<String, Value> = serde_json::from_slice(&bytes)?;
        Ok(Some(serde_json::from_value(Value::Object(members))?))
    }

    /// The voices and what is said of each, as JSON; anything but an object is none.
    pub fn entries(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.voices.as_object().into_iter().flatten()
    }
}
