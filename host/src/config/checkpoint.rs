//! What a checkpoint's own files say: its type, and roughly what it needs.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{ConfigError, StageNeeds};

/// Largest description that is read.
const MAX_BYTES: u64 = 16 << 20;
/// Where composed models keep the description of the part that generates.
const INNER: [&str; 5] = ["talker_config", "text_config", "language_config", "llm_config", "decoder_config"];

/// What a checkpoint says of itself.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Checkpoint {
    /// Its folder.
    pub folder: PathBuf,
    /// `model_type` of `config.json`, or its singular `architecture`.
    pub model_type: Option<String>,
    /// `architectures` of `config.json`.
    pub architectures: Vec<String>,
    /// `_class_name` of `model_index.json`.
    pub class_name: Option<String>,
    /// `config.json` as a whole; null without one.
    config: Value,
}

impl Checkpoint {
    /// Reads the descriptions in a folder. A folder without any is fine: its files or its name may say enough.
    pub fn read(folder: &Path) -> Result<Self, ConfigError> {
        let config = json(&folder.join("config.json"))?;
        let index = json(&folder.join("model_index.json"))?;
        let text = |document: &Value, key: &str| document[key].as_str().map(str::to_owned);
        let architectures = config["architectures"].as_array().into_iter().flatten();
        Ok(Self {
            folder: folder.to_owned(),
            model_type: text(&config, "model_type").or_else(|| text(&config, "architecture")),
            architectures: architectures.filter_map(Value::as_str).map(str::to_owned).collect(),
            class_name: text(&index, "_class_name"),
            config,
        })
    }

    /// The last part of its folder's name.
    pub fn name(&self) -> &str {
        self.folder.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// What it seems to be, for a message.
    pub fn describe(&self) -> String {
        let model_type = self.model_type.as_ref().map(|name| format!("model_type '{name}'"));
        let architectures = (!self.architectures.is_empty()).then(|| format!("architectures {}", self.architectures.join(", ")));
        let class = self.class_name.as_ref().map(|name| format!("_class_name '{name}'"));
        let said: Vec<String> = [model_type, architectures, class].into_iter().flatten().collect();
        if said.is_empty() { "no config.json that says what it is".to_owned() } else { said.join(", ") }
    }

    /// What its first stage needs, from the size of its weights' files and the shape of its decoder; 0 where that cannot be told.
    pub fn needs(&self) -> StageNeeds {
        let shape = INNER.iter().map(|name| &self.config[*name]).chain([&self.config]).find(|part| part["num_hidden_layers"].is_u64());
        let number = |key: &str| shape.and_then(|shape| shape[key].as_u64()).unwrap_or(0);
        let heads = number("num_attention_heads");
        let head_dim = Some(number("head_dim")).filter(|dim| *dim > 0).or_else(|| number("hidden_size").checked_div(heads));
        let kv_heads = Some(number("num_key_value_heads")).filter(|heads| *heads > 0).unwrap_or(heads);
        let values = number("num_hidden_layers").saturating_mul(kv_heads).saturating_mul(head_dim.unwrap_or(0)).saturating_mul(2);
        StageNeeds {
            weight_bytes: weight_bytes(&self.folder),
            kv_bytes_per_token: values.saturating_mul(2),
            bytes_per_sequence: 0,
            max_model_len: number("max_position_embeddings"),
        }
    }
}

fn json(path: &Path) -> Result<Value, ConfigError> {
    let Ok(file) = File::open(path) else { return Ok(Value::Null) };
    let refused =
        |reason: String| ConfigError::file(&path.display().to_string().into(), format!("expected a JSON object, found: {reason}"));
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text).map_err(|error| refused(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| refused(error.to_string()))
}

/// Bytes of the weights' files in a folder.
fn weight_bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_weights = |path: &Path| path.extension().is_some_and(|end| end == "safetensors");
    let sizes = entries.filter(|entry| is_weights(&entry.path())).filter_map(|entry| std::fs::metadata(entry.path()).ok());
    sizes.map(|found| found.len()).fold(0, u64::saturating_add)
}
