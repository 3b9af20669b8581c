//! Reading a folder of prepared voices. One that cannot be used is left out, and why is told.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use omni_plugin_api::{NamedTensor, TensorValues};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde::Deserialize;
use serde_json::Value;

use super::manifest::{Entry, Manifest};
use super::{Mode, Precomputed};
use crate::voices::name::key_of;
use crate::voices::{MAX_FILE_BYTES, SPEAKER_EMBEDDING};

/// What a folder holds.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The voices that can be used.
    pub voices: Vec<Precomputed>,
    /// What cannot be used, and why.
    pub skipped: Vec<String>,
}

/// Reads the prepared voices of a folder for a family whose speaker vectors have so many numbers, if it states that.
pub fn load(folder: &Path, family: &str, embedding_dim: Option<u32>) -> Loaded {
    let mut loaded = Loaded::default();
    let manifest = match Manifest::read(folder) {
        Ok(Some(manifest)) => manifest,
        Ok(None) => return loaded,
        Err(error) => {
            loaded.skipped.push(format!("all voices of {}: {error}", folder.display()));
            return loaded;
        }
    };
    if let Some(other) = manifest.model_type.as_deref().filter(|other| *other != family) {
        loaded.skipped.push(format!("all voices of {}: they were made for '{other}', not for '{family}'", folder.display()));
        return loaded;
    }
    for (name, entry) in manifest.entries() {
        match voice(folder, name, entry, embedding_dim) {
            Ok(voice) => add(&mut loaded, voice),
            Err(reason) => loaded.skipped.push(format!("voice '{name}': {reason}")),
        }
    }
    loaded
}

/// Of two voices of one key the later replaces the earlier.
fn add(loaded: &mut Loaded, voice: Precomputed) {
    loaded.voices.retain(|other| other.key() != voice.key());
    loaded.voices.push(voice);
}

fn voice(folder: &Path, name: &str, entry: &Value, embedding_dim: Option<u32>) -> Result<Precomputed, String> {
    if !entry.is_object() {
        return Err("its entry cannot be read: it is no object".to_owned());
    }
    let entry = Entry::deserialize(entry).map_err(|error| format!("its entry cannot be read: {error}"))?;
    let name = entry.name.as_deref().unwrap_or(name).trim().to_owned();
    if name.is_empty() {
        return Err("it has no name".to_owned());
    }
    let file = entry.file.clone().unwrap_or_else(|| PathBuf::from(format!("{}.safetensors", key_of(&name))));
    let tensors = read_tensors(&inside(folder, &file)?)?;
    let mode = match entry.mode.as_deref().map(str::trim).filter(|mode| !mode.is_empty()) {
        Some(mode) => Mode::of_name(mode).ok_or_else(|| format!("there is no mode '{mode}'"))?,
        None => Mode::inferred(&tensors).ok_or("it has neither a speaker's vector nor features")?,
    };
    let tensors = needed(mode, tensors)?;
    check_vector(&tensors, embedding_dim)?;
    let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    let prompt = if matches!(mode, Mode::Continuation | Mode::RefContinuation) { given(entry.prompt_text) } else { None };
    Ok(Precomputed { name, mode, tensors, transcript: prompt.or(given(entry.ref_text)), description: given(entry.speaker_description) })
}

/// A file's path, if it leads to a place in the folder.
fn inside(folder: &Path, file: &Path) -> Result<PathBuf, String> {
    let unreadable = |error: std::io::Error| format!("'{}' cannot be read: {error}", file.display());
    let root = fs::canonicalize(folder).map_err(unreadable)?;
    let path = fs::canonicalize(root.join(file)).map_err(unreadable)?;
    if path.starts_with(&root) { Ok(path) } else { Err(format!("'{}' leads out of the folder", file.display())) }
}

fn read_tensors(path: &Path) -> Result<Vec<NamedTensor>, String> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes));
    read.map_err(|error| format!("its file cannot be read: {error}"))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("its file is larger than {MAX_FILE_BYTES} bytes"));
    }
    let file = SafeTensors::deserialize(&bytes).map_err(|error| format!("its file cannot be read: {error}"))?;
    file.iter().map(|(name, view)| tensor(name, &view)).collect()
}

fn tensor(name: &str, view: &TensorView<'_>) -> Result<NamedTensor, String> {
    let narrow = |value: i64| i32::try_from(value).map_err(|_| format!("tensor '{name}' holds {value}"));
    let values = match view.dtype() {
        Dtype::F32 => TensorValues::F32(view.data().as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()),
        Dtype::I32 => TensorValues::I32(view.data().as_chunks::<4>().0.iter().map(|bytes| i32::from_le_bytes(*bytes)).collect()),
        Dtype::I64 => {
            let values = view.data().as_chunks::<8>().0.iter().map(|bytes| narrow(i64::from_le_bytes(*bytes)));
            TensorValues::I32(values.collect::<Result<_, _>>()?)
        }
        other => return Err(format!("tensor '{name}' holds {other:?}, expected F32 or I32")),
    };
    if matches!(&values, TensorValues::F32(values) if values.iter().any(|value| !value.is_finite())) {
        return Err(format!("tensor '{name}' holds NaN or infinite values"));
    }
    Ok(NamedTensor { name: name.to_owned(), shape: view.shape().to_vec(), values })
}

/// The tensors that a mode needs, all of them with something in them.
fn needed(mode: Mode, tensors: Vec<NamedTensor>) -> Result<Vec<NamedTensor>, String> {
    let mut tensors = tensors;
    tensors.retain(|tensor| mode.tensors().contains(&tensor.name.as_str()));
    for name in mode.tensors() {
        match tensors.iter().find(|tensor| tensor.name == *name) {
            Some(tensor) if tensor.values.is_empty() => return Err(format!("its tensor '{name}' is empty")),
            Some(_) => {}
            None => return Err(format!("mode '{}' needs the tensor '{name}'", mode.name())),
        }
    }
    Ok(tensors)
}

fn check_vector(tensors: &[NamedTensor], embedding_dim: Option<u32>) -> Result<(), String> {
    let vector = tensors.iter().find(|tensor| tensor.name == SPEAKER_EMBEDDING);
    let (Some(vector), Some(dim)) = (vector, embedding_dim) else { return Ok(()) };
    let found = vector.values.len();
    if found == dim as usize { Ok(()) } else { Err(format!("its speaker_embedding has {found} numbers, the model's have {dim}")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voices::precomputed::{MANIFEST, write};
    use serde_json::json;

    fn write_manifest(folder: &Path, voices: &Value) {
        let manifest = json!({"schema_version": 1, "model_type": "qwen3_tts", "voices": voices});
        fs::write(folder.join(MANIFEST), manifest.to_string()).expect("a manifest");
    }

    fn write_file(path: &Path, tensors: &[(&str, Dtype, Vec<usize>)]) {
        let sizes = tensors.iter().map(|(_, dtype, shape)| shape.iter().product::<usize>() * dtype.bitsize() / 8);
        let data: Vec<Vec<u8>> = sizes.map(|bytes| vec![0; bytes]).collect();
        let view = |(name, dtype, shape), data| (name, TensorView::new(dtype, shape, data).expect("a tensor"));
        let views: Vec<_> = tensors.iter().cloned().zip(data.iter().map(Vec::as_slice)).map(|(tensor, data)| view(tensor, data)).collect();
        fs::write(path, safetensors::serialize(views, None).expect("a file")).expect("the file is written");
    }

    #[test]
    fn a_folder_of_the_reference_is_read_and_what_is_wrong_is_left_out_with_the_reason() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        write_file(&at("anna.safetensors"), &[(SPEAKER_EMBEDDING, Dtype::F32, vec![4]), ("ref_code", Dtype::I32, vec![3, 16])]);
        write_file(&at("wide.safetensors"), &[(SPEAKER_EMBEDDING, Dtype::F32, vec![5])]);
        write_file(&at("empty.safetensors"), &[(SPEAKER_EMBEDDING, Dtype::F32, vec![4]), ("ref_code", Dtype::I32, vec![0, 16])]);
        write_file(&at("strange.safetensors"), &[("other", Dtype::F32, vec![4])]);
        fs::write(at("broken.safetensors"), "no tensors").expect("a file");
        write_manifest(
            folder.path(),
            &json!({
                "Anna": {"mode": "icl", "ref_text": "Hello.", "embedding_dim": 99, "model_revision": "x"},
                "plain": {"name": " Plain ", "filename": "anna.safetensors", "speaker_description": "calm"},
                "wide": {}, "empty": {"mode": "icl"}, "strange": {}, "broken": {}, "absent": {},
                "out": {"file": "../out.safetensors"}, "odd": {"file": "anna.safetensors", "mode": "magic"},
                "nobody": {"name": " "}, "number": 5,
            }),
        );
        let loaded = load(folder.path(), "qwen3_tts", Some(4));
        let voices: Vec<_> =
            loaded.voices.iter().map(|voice| (voice.key(), voice.mode, voice.tensors.len(), voice.transcript.clone())).collect();
        let anna = ("anna".to_owned(), Mode::Icl, 2, Some("Hello.".to_owned()));
        assert_eq!(voices, [anna, ("plain".to_owned(), Mode::Xvec, 1, None)]);
        for (name, reason) in [
            ("wide", "has 5 numbers, the model's have 4"),
            ("empty", "'ref_code' is empty"),
            ("strange", "neither a speaker's vector nor features"),
            ("broken", "cannot be read"),
            ("absent", "cannot be read"),
            ("out", "'../out.safetensors'"),
            ("odd", "no mode 'magic'"),
            ("nobody", "no name"),
            ("number", "entry cannot be read"),
        ] {
            let told = loaded.skipped.iter().any(|line| line.contains(&format!("'{name}'")) && line.contains(reason));
            assert!(told, "{name}: {:?}", loaded.skipped);
        }
    }

    #[test]
    fn a_path_that_leads_out_is_not_followed() {
        let outer = tempfile::tempdir().expect("a folder");
        let folder = outer.path().join("voices");
        fs::create_dir(&folder).expect("a folder");
        write_file(&outer.path().join("secret.safetensors"), &[(SPEAKER_EMBEDDING, Dtype::F32, vec![4])]);
        std::os::unix::fs::symlink(outer.path().join("secret.safetensors"), folder.join("link.safetensors")).expect("a link");
        write_manifest(&folder, &json!({"a": {"file": "../secret.safetensors"}, "link": {}}));
        let loaded = load(&folder, "qwen3_tts", None);
        assert!(loaded.voices.is_empty() && loaded.skipped.iter().all(|line| line.contains("leads out")), "{:?}", loaded.skipped);
    }

    #[test]
    fn a_manifest_of_another_family_or_none_at_all_brings_no_voice() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(load(folder.path(), "qwen3_tts", None).skipped.is_empty());
        write_manifest(folder.path(), &json!({"a": {}}));
        let loaded = load(folder.path(), "voxcpm2", None);
        assert!(loaded.voices.is_empty() && loaded.skipped[0].contains("made for 'qwen3_tts'"));
        for text in ["{", "[]", "5"] {
            fs::write(folder.path().join(MANIFEST), text).expect("a manifest");
            assert_eq!(load(folder.path(), "qwen3_tts", None).skipped.len(), 1, "{text}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let feature = |name: &str| NamedTensor::f32(name, vec![2, 1, 2], vec![0.5; 4]);
        let voice = Precomputed {
            name: "Über Anna".to_owned(),
            mode: Mode::RefContinuation,
            tensors: vec![feature("audio_feat"), feature("ref_audio_feat")],
            transcript: Some("Good day.".to_owned()),
            description: Some("calm".to_owned()),
        };
        let vector = Precomputed {
            name: "v".to_owned(),
            mode: Mode::Icl,
            tensors: vec![
                NamedTensor::i32("ref_code", vec![1, 2], vec![1, -2]),
                NamedTensor::f32(SPEAKER_EMBEDDING, vec![2], vec![0.1, 0.2]),
            ],
            transcript: None,
            description: None,
        };
        for voice in [&voice, &vector, &voice] {
            write(folder.path(), "voxcpm2", Some("/m"), voice).expect("it is written");
        }
        let mut loaded = load(folder.path(), "voxcpm2", Some(2));
        loaded.voices.iter_mut().for_each(|voice| voice.tensors.sort_by(|one, other| one.name.cmp(&other.name)));
        assert!(loaded.skipped.is_empty(), "{:?}", loaded.skipped);
        assert_eq!(loaded.voices.len(), 2);
        assert!(loaded.voices.contains(&voice));
    }
}
