//! Speakers as files: a folder of `.safetensors`, one speaker's vector in each, called like its file.
//!
//! The folder is looked at whenever a speaker is asked for, so that a file that was added, replaced or taken away counts from the next
//! request on. A file is read again only when it was changed.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

/// Largest file: a vector of 8192 numbers is 32 KiB.
const MAX_BYTES: u64 = 4 << 20;
/// What a file's name ends with.
const END: &str = "safetensors";
/// The tensor that is the speaker's vector; the only tensor of a file may be called otherwise.
const VECTOR: &str = "speaker_embedding";
/// Most speakers that are listed.
const MAX_LISTED: usize = 10_000;

/// The speakers of a folder. Cheap to clone.
#[derive(Clone)]
pub struct Profiles(Arc<Inner>);

struct Inner {
    folder: PathBuf,
    known: Mutex<HashMap<PathBuf, Known>>,
}

/// A file as it was when it was read.
struct Known {
    changed: Option<SystemTime>,
    len: u64,
    vector: Vec<f32>,
}

impl Profiles {
    /// The speakers of a folder, which may come to exist later.
    pub fn new(folder: impl AsRef<Path>) -> Self {
        Self(Arc::new(Inner { folder: folder.as_ref().to_owned(), known: Mutex::default() }))
    }

    /// The names of all speakers, in order. It reads the folder.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.files().into_iter().map(|(name, _)| name).collect();
        names.sort_unstable();
        names
    }

    fn files(&self) -> Vec<(String, PathBuf)> {
        let entries = fs::read_dir(&self.0.folder).into_iter().flatten().flatten().take(MAX_LISTED);
        let files = entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == END));
        files.filter_map(|path| Some((path.file_stem()?.to_str()?.to_owned(), path.clone()))).collect()
    }

    /// A speaker's vector by name, in any case; none when there is no such speaker, a reason when its file cannot be used.
    pub fn find(&self, name: &str) -> Result<Option<Vec<f32>>, String> {
        let wanted = name.to_lowercase();
        let Some((_, path)) = self.files().into_iter().find(|(name, _)| name.to_lowercase() == wanted) else { return Ok(None) };
        self.read(&path).map(Some).map_err(|reason| format!("the profile of speaker '{name}' cannot be used: {reason}"))
    }

    fn read(&self, path: &Path) -> Result<Vec<f32>, String> {
        let about = fs::metadata(path).map_err(|error| error.to_string())?;
        let (changed, len) = (about.modified().ok(), about.len());
        if !about.is_file() || len > MAX_BYTES {
            return Err(format!("it is no file of at most {MAX_BYTES} bytes"));
        }
        let mut known = self.0.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get(path).filter(|found| found.changed == changed && found.len == len) {
            return Ok(found.vector.clone());
        }
        let vector = vector_in(&fs::read(path).map_err(|error| error.to_string())?)?;
        known.insert(path.to_owned(), Known { changed, len, vector: vector.clone() });
        Ok(vector)
    }
}

/// The speaker's vector in a file.
fn vector_in(bytes: &[u8]) -> Result<Vec<f32>, String> {
    let file = SafeTensors::deserialize(bytes).map_err(|error| error.to_string())?;
    let view = match file.tensor(VECTOR) {
        Ok(view) => view,
        Err(_) if file.len() == 1 => file.iter().next().map(|(_, view)| view).ok_or("it is empty")?,
        Err(_) => return Err(format!("it holds no tensor '{VECTOR}'")),
    };
    let vector = numbers(&view)?;
    match vector.iter().all(|value| value.is_finite()) {
        true if !vector.is_empty() => Ok(vector),
        true => Err("its vector is empty".to_owned()),
        false => Err("its vector holds NaN or infinite values".to_owned()),
    }
}

fn numbers(view: &TensorView<'_>) -> Result<Vec<f32>, String> {
    let data = view.data();
    match view.dtype() {
        Dtype::F32 => Ok(data.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()),
        // A bfloat16 is the upper half of a float.
        Dtype::BF16 => {
            Ok(data.as_chunks::<2>().0.iter().map(|bytes| f32::from_bits(u32::from(u16::from_le_bytes(*bytes)) << 16)).collect())
        }
        other => Err(format!("its vector holds {other:?}, expected F32 or BF16")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, name: &str, dtype: Dtype, data: &[u8]) {
        let len = data.len() * 8 / dtype.bitsize();
        let view = TensorView::new(dtype, vec![len], data).expect("a tensor");
        fs::write(path, safetensors::serialize([(name, view)], None).expect("a file")).expect("the file is written");
    }

    fn bytes(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    #[test]
    fn files_that_come_change_and_go_count_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let profiles = Profiles::new(folder.path());
        assert_eq!((profiles.find("anna"), profiles.names()), (Ok(None), Vec::new()));
        write(&at("Anna.safetensors"), VECTOR, Dtype::F32, &bytes(&[1.0, 2.0]));
        fs::write(at("notes.txt"), "no voice").expect("a file");
        assert_eq!(profiles.find("aNNa"), Ok(Some(vec![1.0, 2.0])));
        write(&at("Anna.safetensors"), "xvector", Dtype::F32, &bytes(&[3.0, 4.0, 5.0]));
        assert_eq!(profiles.find("anna"), Ok(Some(vec![3.0, 4.0, 5.0])), "the only tensor may have any name");
        write(&at("half.safetensors"), VECTOR, Dtype::BF16, &[0x80, 0x3F, 0x00, 0x40]);
        assert_eq!(profiles.find("half"), Ok(Some(vec![1.0, 2.0])));
        assert_eq!(profiles.names(), ["Anna", "half"]);
        fs::remove_file(at("Anna.safetensors")).expect("it goes");
        assert_eq!(profiles.find("anna"), Ok(None));
    }

    #[test]
    fn what_is_no_profile_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(format!("{name}.safetensors"));
        fs::write(at("text"), "no tensors").expect("a file");
        fs::write(at("lies"), [0xFF; 64]).expect("a file");
        write(&at("nan"), VECTOR, Dtype::F32, &bytes(&[f32::NAN]));
        write(&at("empty"), VECTOR, Dtype::F32, &[]);
        write(&at("whole"), VECTOR, Dtype::I32, &[0; 4]);
        fs::write(at("large"), vec![0; MAX_BYTES as usize + 1]).expect("a file");
        fs::create_dir(at("folder")).expect("a folder");
        for name in ["text", "lies", "nan", "empty", "whole", "large", "folder"] {
            let error = Profiles::new(folder.path()).find(name).expect_err(name);
            assert!(error.contains(&format!("the profile of speaker '{name}' cannot be used")), "{error}");
        }
        assert_eq!(Profiles::new("/nowhere").find("../../etc/passwd"), Ok(None));
    }
}
