//! What a family says of itself before anything is loaded, and what a model says once it is.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::DataKind;

/// A family's description: everything the host must know to route, validate, list and document it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FamilyInfo {
    /// Short unique name in snake case; also the library's name, `lib<name>.so`.
    pub name: String,
    /// What people call it, as error messages and pages do; empty where that is `name`.
    #[serde(default)]
    pub title: String,
    /// Version of the plugin, normally `env!("CARGO_PKG_VERSION")`.
    pub version: String,
    /// One sentence about the family.
    pub description: String,
    /// Licence of the weights, SPDX where one fits.
    pub weights_license: String,
    /// Which checkpoints it opens; empty for a family that carries its weights.
    pub checkpoints: Vec<Checkpoint>,
    /// JSON Schema (2020-12) of the request fields it understands beyond the common ones; see [`crate::schema_of`].
    pub request_schema: Value,
    /// Output rate in Hz. A model may state another once loaded.
    pub sample_rate_hz: u32,
    /// Output channels, 1 or 2.
    pub channels: u16,
    /// The stages in the order data flows through them.
    pub stages: Vec<StageInfo>,
    /// What it can do.
    pub abilities: Abilities,
    /// How its text is to be treated.
    pub text: TextRules,
    /// Default deploy configuration, YAML; empty for none.
    pub deploy: String,
    /// Keys of a deploy file's stages that are the family's own and that it reads from [`crate::StageWish::settings`]. An operator who sets
    /// another one is told that nobody reads it.
    #[serde(default)]
    pub settings: Vec<String>,
}

impl FamilyInfo {
    /// What to call the family where people read.
    pub fn called(&self) -> &str {
        if self.title.is_empty() { &self.name } else { &self.title }
    }
}

/// How to recognise a checkpoint of the family.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Checkpoint {
    /// `model_type` in `config.json`.
    pub model_type: String,
    /// Any of these in `architectures`.
    pub architectures: Vec<String>,
    /// Files whose presence marks the layout, relative to the directory.
    pub files: Vec<String>,
}

/// One stage of a family.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageInfo {
    /// Name in snake case, used in metrics, logs and deploy files.
    pub name: String,
    /// What it takes.
    pub input: DataKind,
    /// What it gives.
    pub output: DataKind,
}

/// What a family can do beyond speaking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Abilities {
    /// Audio leaves while the rest is still being made.
    pub streams: bool,
    /// `speed` changes the model's own rate.
    pub native_speed: bool,
    /// It can speak with a reference voice; `reference_rate_hz` then says at which rate it wants it.
    pub clones: bool,
    /// Rate of reference audio in Hz, 0 without cloning.
    pub reference_rate_hz: u32,
    /// A voice that the host does not know reaches [`crate::Model::prepare`] by its name, and the family refuses it in its own words.
    pub judges_voices: bool,
}

/// How the host treats the text before the family sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TextRules {
    /// Markdown, tags, links and emoji are cleaned away unless a request says otherwise.
    pub clean_up: bool,
    /// Longest input in characters.
    pub max_chars: usize,
}

impl Default for TextRules {
    fn default() -> Self {
        Self { clean_up: false, max_chars: 100_000 }
    }
}

/// A voice of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoiceInfo {
    /// The name clients use; compared without regard to case.
    pub name: String,
    /// BCP 47 tags of the languages it speaks; empty for any.
    pub languages: Vec<String>,
    /// One sentence about it.
    pub description: String,
}

/// What a loaded model says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelInfo {
    /// Voices it has built in; the first is the default.
    pub voices: Vec<VoiceInfo>,
    /// Output rate in Hz.
    pub sample_rate_hz: u32,
    /// Longest context in tokens, if there is one.
    pub max_model_len: Option<u64>,
    /// Numbers in a speaker's vector, for a model that speaks with one: then [`crate::Voice::tensors`] may be a single `speaker_embedding`,
    /// `f32 [dim]`, that a client uploaded or that was mixed of several, and what `encode_reference` makes may hold one of that name.
    pub speaker_embedding_dim: Option<u32>,
}

/// The JSON Schema of an author's request struct, as the host wants it.
pub fn schema_of<T: schemars::JsonSchema>() -> Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().with(|settings| settings.meta_schema = None);
    settings.into_generator().into_root_schema_for::<T>().to_value()
}
