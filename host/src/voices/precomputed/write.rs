//! Writing prepared voices, as vLLM-Omni reads them.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use omni_plugin_api::{NamedTensor, TensorValues};
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::{Map, Value};

use super::Precomputed;
use super::manifest::{Entry, MANIFEST, Manifest, ManifestError};
use crate::voices::{EXTENSION, SPEAKER_EMBEDDING, file_of};

/// Most characters of a name in a file's.
const FILE_CHARS: usize = 200;

/// Why a voice was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The folder cannot be written.
    #[error("{0}")]
    File(#[from] io::Error),
    /// The manifest that is there cannot be read.
    #[error("the manifest that is there cannot be read: {0}")]
    Manifest(#[from] ManifestError),
    /// The manifest that is there belongs to another family.
    #[error("the manifest that is there belongs to '{0}'; choose another folder")]
    OtherFamily(String),
    /// The voice cannot be written as a file.
    #[error("the voice cannot be written as a file: {0}")]
    Tensors(String),
}

/// Adds a voice to a folder, or replaces the one of its name. The file is there before the manifest names it.
pub fn write(folder: &Path, family: &str, model: Option<&str>, voice: &Precomputed) -> Result<(), WriteError> {
    fs::create_dir_all(folder)?;
    let mut manifest = Manifest::read(folder)?.unwrap_or_else(|| Manifest::new(family, model.map(str::to_owned)));
    if let Some(other) = manifest.model_type.as_deref().filter(|other| *other != family) {
        return Err(WriteError::OtherFamily(other.to_owned()));
    }
    let file = PathBuf::from(file_name(&voice.key()));
    replace(&folder.join(&file), &tensors(&voice.tensors)?)?;
    let entry = serde_json::to_value(entry(voice, file)).map_err(ManifestError::from)?;
    if !manifest.voices.is_object() {
        manifest.voices = Value::Object(Map::new());
    }
    manifest.voices[voice.name.as_str()] = entry;
    manifest.hidden_size = vector_len(voice).map(Value::from).or(manifest.hidden_size);
    let text = serde_json::to_vec_pretty(&manifest).map_err(ManifestError::from)?;
    Ok(replace(&folder.join(MANIFEST), &text)?)
}

fn vector_len(voice: &Precomputed) -> Option<usize> {
    voice.tensors.iter().find(|tensor| tensor.name == SPEAKER_EMBEDDING).map(|tensor| tensor.values.len())
}

fn entry(voice: &Precomputed, file: PathBuf) -> Entry {
    let frames = |name: &str| {
        let tensor = voice.tensors.iter().find(|tensor| tensor.name == name)?;
        tensor.shape.first().copied().map(Value::from)
    };
    Entry {
        name: Some(voice.name.clone()),
        file: Some(file),
        mode: Some(voice.mode.name().to_owned()),
        ref_text: voice.transcript.clone(),
        prompt_text: None,
        speaker_description: voice.description.clone(),
        embedding_dim: vector_len(voice).map(Value::from),
        ref_code_length: frames("ref_code"),
        ref_audio_feat_len: frames("ref_audio_feat"),
        audio_feat_len: frames("audio_feat"),
    }
}

/// The file of a key: its name where that can be a file's, else what can be read of it and a hash, which keeps different keys apart.
fn file_name(key: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '-');
    if key.len() <= FILE_CHARS && !key.starts_with('.') && key.chars().all(is_plain) { format!("{key}{EXTENSION}") } else { file_of(key) }
}

fn tensors(tensors: &[NamedTensor]) -> Result<Vec<u8>, WriteError> {
    let data: Vec<(Dtype, Vec<u8>)> = tensors.iter().map(|tensor| bytes(&tensor.values)).collect();
    let wrong = |error: safetensors::SafeTensorError| WriteError::Tensors(error.to_string());
    let views = tensors.iter().zip(&data).map(|(tensor, (dtype, data))| {
        let view = TensorView::new(*dtype, tensor.shape.clone(), data).map_err(wrong)?;
        Ok((tensor.name.clone(), view))
    });
    let views: Vec<_> = views.collect::<Result<_, WriteError>>()?;
    safetensors::serialize(views, None).map_err(wrong)
}

fn bytes(values: &TensorValues) -> (Dtype, Vec<u8>) {
    match values {
        TensorValues::F32(values) => (Dtype::F32, values.iter().flat_map(|value| value.to_le_bytes()).collect()),
        TensorValues::I32(values) => (Dtype::I32, values.iter().flat_map(|value| value.to_le_bytes()).collect()),
    }
}

/// Writes a file aside and moves it into place.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let aside = path.with_extension(format!("{:016x}.tmp", fastrand::u64(..)));
    let mut file = File::create_new(&aside)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all()).and_then(|()| fs::rename(&aside, path));
    if written.is_err() {
        // The first error is the one to tell.
        drop(fs::remove_file(&aside));
    }
    written
}
