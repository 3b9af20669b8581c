//! Checkpoints as data: the tensors that one needs, and published variants made of random numbers.
//!
//! | file | what it holds |
//! |---|---|
//! | [`variant`] | the published variants and their sizes |
//! | [`settings`] | their `config.json` and the files beside it |
//! | [`vocabulary`] | a stand-in for the text tokenizer, of the published size and with its special ids |
//! | [`fill`] | random numbers that keep an untrained network in range |

pub mod fill;
pub mod settings;
pub mod variant;
pub mod vocabulary;

use std::path::Path;

use omni_blocks::codecs::qwen12hz;
use omni_blocks::load::Manifest;
use omni_plugin_api::{Blueprint, BlueprintRequest, CheckpointLayout, PluginError, TensorLayout, TextFile, WeightFile};
use serde_json::Value;

use crate::config::Config;
use crate::manifest;
use crate::task::Task;
use variant::Variant;

/// Where the weights lie in a checkpoint: talker and codec.
const WEIGHTS: [&str; 2] = ["model.safetensors", "speech_tokenizer/model.safetensors"];
/// What else a checkpoint cannot do without.
const FILES: [&str; 4] = ["config.json", "vocab.json", "merges.txt", "speech_tokenizer/config.json"];

/// What the checkpoint in a directory needs, by its own configuration.
pub fn layout(directory: &Path) -> Result<CheckpointLayout, PluginError> {
    let config = Config::open(directory)?;
    let path = directory.join("speech_tokenizer").join("config.json");
    let wrong = |reason: String| PluginError::checkpoint(format!("'{}' cannot be used: {reason}", path.display()));
    let text = std::fs::read(&path).map_err(|error| wrong(error.to_string()))?;
    let codec = qwen12hz::Config::from_json(&text).map_err(|error| wrong(error.to_string()))?;
    Ok(CheckpointLayout { files: FILES.map(str::to_owned).into(), weights: weights(&config, &codec)? })
}

/// A published variant without its numbers.
pub fn blueprint(request: &BlueprintRequest) -> Result<Blueprint, PluginError> {
    let variant: Variant = request.variant.parse()?;
    let (main, codec) = (settings::main(variant, request.is_tiny), settings::codec(request.is_tiny));
    let own = |error: String| PluginError::internal(format!("the variant's own configuration is wrong: {error}"));
    let config = Config::parse(&main.to_string()).map_err(own)?;
    let parsed = qwen12hz::Config::from_json(codec.to_string().as_bytes()).map_err(|error| own(error.to_string()))?;
    let mut texts = vocabulary::files();
    texts.extend([
        document("config.json", &main),
        document("generation_config.json", &settings::generation()),
        document("preprocessor_config.json", &settings::preprocessor()),
        document("speech_tokenizer/config.json", &codec),
        document("speech_tokenizer/preprocessor_config.json", &settings::codec_preprocessor()),
    ]);
    Ok(Blueprint { texts, weights: weights(&config, &parsed)? })
}

fn document(path: &str, value: &Value) -> TextFile {
    TextFile { path: path.to_owned(), content: format!("{value:#}\n") }
}

/// Both files: the talker's in brain floats, the codec's in full.
fn weights(config: &Config, codec: &qwen12hz::Config) -> Result<Vec<WeightFile>, PluginError> {
    let speaker = if config.task()? == Task::Base { Some(config.speaker()?) } else { None };
    let manifests = [manifest::main(config, speaker), manifest::codec(codec)];
    let files = WEIGHTS.into_iter().zip(["BF16", "F32"]).zip(manifests);
    Ok(files.map(|((path, dtype), manifest)| WeightFile { path: path.to_owned(), tensors: tensors(&manifest, dtype) }).collect())
}

fn tensors(manifest: &Manifest, dtype: &str) -> Vec<TensorLayout> {
    let tensor = |(name, shape, is_required): (&str, &[usize], bool)| TensorLayout {
        name: name.to_owned(),
        shape: shape.iter().map(|size| *size as u64).collect(),
        dtype: dtype.to_owned(),
        is_required,
        fill: fill::of(name, shape),
    };
    manifest.all().map(tensor).collect()
}
