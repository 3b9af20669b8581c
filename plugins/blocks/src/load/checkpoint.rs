//! A checkpoint: one mapped file, or several under an index.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};
use std::sync::atomic::{AtomicUsize, Ordering};

use safetensors::Dtype;
use serde::Deserialize;

use super::mapped::MappedFile;
use super::{Fault, LoadError, convert};

/// Threads that look at values at once, at most: more would wait for memory.
const MOST_LOOKING: usize = 8;

/// The tensors of a checkpoint by name.
pub struct Checkpoint {
    files: Vec<MappedFile>,
    /// Name to file and to the name inside it.
    places: BTreeMap<String, (usize, String)>,
}

/// A tensor as it lies in its file.
pub struct RawTensor<'a> {
    /// Its element type.
    pub dtype: Dtype,
    /// Its shape.
    pub shape: &'a [usize],
    /// Its elements, little-endian, row-major.
    pub bytes: &'a [u8],
}

#[derive(Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

impl Checkpoint {
    /// Opens `directory/<stem>.safetensors`, or the shards that `<stem>.safetensors.index.json` lists.
    pub fn open(directory: &Path, stem: &str) -> Result<Self, LoadError> {
        let index = directory.join(format!("{stem}.safetensors.index.json"));
        let single = directory.join(format!("{stem}.safetensors"));
        let paths = match index.is_file() && !single.is_file() {
            true => shards(directory, &index)?,
            false => vec![single],
        };
        let files = paths.iter().map(|path| MappedFile::open(path)).collect::<Result<Vec<_>, _>>()?;
        Self::of(files)
    }

    fn of(files: Vec<MappedFile>) -> Result<Self, LoadError> {
        let mut places = BTreeMap::new();
        for (number, file) in files.iter().enumerate() {
            for name in file.names() {
                if places.insert(name.clone(), (number, name.clone())).is_some() {
                    let reason = format!("tensor '{name}' is in another shard too");
                    return Err(LoadError::Damaged { path: file.path().to_owned(), reason });
                }
            }
        }
        Ok(Self { files, places })
    }

    /// The same tensors under other names: the first prefix of `table` that a name begins with is replaced.
    #[must_use]
    pub fn renamed(mut self, table: &[(&str, &str)]) -> Self {
        let rename = |name: String| match table.iter().find_map(|(from, to)| Some((to, name.strip_prefix(from)?))) {
            Some((to, rest)) => format!("{to}{rest}"),
            None => name,
        };
        self.places = self.places.into_iter().map(|(name, place)| (rename(name), place)).collect();
        self
    }

    /// All names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.places.keys().map(String::as_str)
    }

    /// A tensor by name.
    pub fn get(&self, name: &str) -> Option<RawTensor<'_>> {
        let (file, inside) = self.places.get(name)?;
        let entry = self.files.get(*file)?.entry(inside)?;
        Some(RawTensor { dtype: entry.dtype, shape: entry.shape, bytes: entry.bytes })
    }

    /// A tensor's bytes where they lie in its file, for a device that copies them from there.
    pub(super) fn share(&self, name: &str) -> Option<bytes::Bytes> {
        let (file, inside) = self.places.get(name)?;
        self.files.get(*file)?.share(inside)
    }

    /// Says that all of it is going to be read.
    pub fn read_ahead(&self) {
        self.files.iter().for_each(MappedFile::read_ahead);
    }

    /// Rows of a matrix that stays in its file, one after the other. A tensor or a row that is not there is an error.
    pub fn rows(&self, name: &str, rows: &[usize]) -> Result<Vec<f32>, LoadError> {
        let missing = || Fault::Missing { name: name.to_owned(), shape: rows.to_vec() };
        let raw = self.get(name).ok_or_else(missing)?;
        let count = raw.shape.first().copied().unwrap_or(0).max(1);
        let size = raw.bytes.len() / count;
        let mut values = Vec::new();
        for row in rows {
            let bytes = row.checked_mul(size).and_then(|from| raw.bytes.get(from..from + size)).ok_or_else(missing)?;
            let row = convert::to_f32(raw.dtype, bytes);
            values.extend(row.ok_or_else(|| Fault::Type { name: name.to_owned(), found: format!("{:?}", raw.dtype) })?);
        }
        Ok(values)
    }

    /// Looks at every value and names each tensor that holds one which is no number. Takes as many threads as there are, up to a few: all of
    /// the checkpoint goes through memory once.
    pub fn check_finite(&self) -> Result<(), LoadError> {
        let (names, next): (Vec<&str>, AtomicUsize) = (self.names().collect(), AtomicUsize::new(0));
        let look = || {
            let taken = std::iter::from_fn(|| names.get(next.fetch_add(1, Ordering::Relaxed)));
            let is_odd = |name: &&&str| self.get(name).is_some_and(|raw| !convert::is_finite(raw.dtype, raw.bytes));
            taken.filter(is_odd).map(|name| Fault::NotFinite { name: (*name).to_owned() }).collect::<Vec<_>>()
        };
        let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get().min(MOST_LOOKING));
        let mut faults: Vec<Fault> = std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(look)).collect();
            let mine = look();
            // One that panicked has left tensors out: then nothing is certain, and the panic goes on.
            let theirs = others.into_iter().flat_map(|other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            mine.into_iter().chain(theirs).collect()
        });
        faults.sort_by_key(Fault::to_string);
        if faults.is_empty() { Ok(()) } else { Err(LoadError::Faults(faults)) }
    }

    /// Bytes of all tensors.
    pub fn bytes(&self) -> u64 {
        self.names().filter_map(|name| self.get(name)).map(|tensor| tensor.bytes.len() as u64).sum()
    }
}

/// The files of an index, each once. A shard lies beside its index: a name that leads elsewhere is refused.
fn shards(directory: &Path, index: &Path) -> Result<Vec<std::path::PathBuf>, LoadError> {
    let unreadable = |reason: String| LoadError::Unreadable { path: index.to_owned(), reason };
    let text = std::fs::read_to_string(index).map_err(|error| unreadable(error.to_string()))?;
    let parsed: Index = serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
    let files: BTreeSet<String> = parsed.weight_map.into_values().collect();
    if let Some(astray) = files.iter().find(|file| !is_plain(file)) {
        return Err(LoadError::Damaged { path: index.to_owned(), reason: format!("shard '{astray}' is not a file beside it") });
    }
    Ok(files.into_iter().map(|file| directory.join(file)).collect())
}

fn is_plain(file: &str) -> bool {
    let mut parts = Path::new(file).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use safetensors::tensor::{TensorView, serialize_to_file};

    fn write(directory: &Path, file: &str, names: &[&str]) {
        let bytes = [0_u8; 8];
        let tensors = names.iter().map(|name| (*name, TensorView::new(Dtype::F32, vec![2], &bytes).expect("eight bytes")));
        serialize_to_file(tensors, None, &directory.join(file)).expect("it is written");
    }

    #[test]
    fn shards_are_one_checkpoint_and_names_change_by_prefix() {
        let directory = tempfile::tempdir().expect("a directory");
        write(directory.path(), "a.safetensors", &["x.one"]);
        write(directory.path(), "b.safetensors", &["two"]);
        let index = r#"{"metadata": {}, "weight_map": {"x.one": "a.safetensors", "two": "b.safetensors"}}"#;
        std::fs::write(directory.path().join("model.safetensors.index.json"), index).expect("it is written");
        let checkpoint = Checkpoint::open(directory.path(), "model").expect("it opens").renamed(&[("x.", "y.")]);
        assert_eq!(checkpoint.names().collect::<Vec<_>>(), ["two", "y.one"]);
        assert_eq!(checkpoint.get("y.one").map(|tensor| tensor.bytes.len()), Some(8));
        assert_eq!(checkpoint.bytes(), 16);
    }

    #[test]
    fn a_shard_elsewhere_is_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        for astray in ["../a.safetensors", "/etc/passwd", "x/a.safetensors", ""] {
            let index = serde_json::json!({"weight_map": {"one": astray}}).to_string();
            std::fs::write(directory.path().join("model.safetensors.index.json"), index).expect("it is written");
            let error = Checkpoint::open(directory.path(), "model").err().expect("it is refused");
            assert!(error.to_string().contains("not a file beside it"), "{error}");
        }
    }

    #[test]
    fn headers_that_lie_are_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("model.safetensors");
        let header = br#"{"one":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}"#;
        let whole = |length: u64, payload: usize| [&length.to_le_bytes()[..], header, &vec![0; payload]].concat();
        let length = header.len() as u64;
        for bytes in [b"abc".to_vec(), whole(u64::MAX, 16), whole(1 << 40, 16), whole(length, 15), whole(length - 1, 16), whole(length, 99)]
        {
            std::fs::write(&file, &bytes).expect("it is written");
            assert!(matches!(Checkpoint::open(directory.path(), "model"), Err(LoadError::Damaged { .. })), "{} bytes", bytes.len());
        }
        std::fs::write(&file, whole(length, 16)).expect("it is written");
        assert!(Checkpoint::open(directory.path(), "model").is_ok());
    }
}
