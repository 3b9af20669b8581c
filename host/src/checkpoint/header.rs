//! The header of a `.safetensors` file: a length, a JSON object of names, and nothing of the numbers.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

/// Longest header that is read; published ones take some hundred kilobytes.
const MAX_BYTES: u64 = 100 << 20;
/// Bytes of the length before the header.
const LENGTH: u64 = 8;

/// Why a header cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HeaderError {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// It is not what it says.
    #[error("is damaged: {0}")]
    Damaged(String),
}

/// The tensors of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Header {
    /// By name.
    pub tensors: BTreeMap<String, TensorEntry>,
    /// Bytes of the whole file.
    pub file_bytes: u64,
}

/// A tensor as the header has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorEntry {
    /// Its element type, such as `BF16`.
    pub dtype: String,
    /// Its shape.
    pub shape: Vec<u64>,
    /// Where its bytes begin in the file.
    pub start: u64,
    /// How many there are.
    pub bytes: u64,
    /// The file.
    pub file: PathBuf,
}

#[derive(Deserialize)]
struct Raw {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: (u64, u64),
}

impl Header {
    /// Reads and checks a file's header: every tensor lies in the file, has the bytes that its shape takes, and overlaps no other.
    pub fn read(path: &Path) -> Result<Self, HeaderError> {
        let mut file = File::open(path)?;
        let file_bytes = file.metadata()?.len();
        let mut length = [0; LENGTH as usize];
        file.read_exact(&mut length).map_err(|_| damaged("it is too short for a header"))?;
        let length = u64::from_le_bytes(length);
        let data = length.checked_add(LENGTH).filter(|start| length <= MAX_BYTES && *start <= file_bytes);
        let data = data.ok_or_else(|| damaged(format!("it states a header of {length} bytes and has {file_bytes}")))?;
        let mut text = String::new();
        file.take(length).read_to_string(&mut text).map_err(|_| damaged("its header is not text"))?;
        let raw: BTreeMap<String, Value> = serde_json::from_str(&text).map_err(|error| damaged(format!("its header is {error}")))?;
        let entries = raw.into_iter().filter(|(name, _)| name != "__metadata__");
        let tensors: BTreeMap<_, _> = entries.map(|(name, value)| entry(path, name, value, data)).collect::<Result<_, _>>()?;
        fit(&tensors, data, file_bytes)?;
        Ok(Self { tensors, file_bytes })
    }

    /// The header of a file, or of the shards that stand for it.
    pub fn read_sharded(path: &Path) -> Result<Self, HeaderError> {
        let index = PathBuf::from(format!("{}.index.json", path.display()));
        if path.exists() || !index.exists() {
            return Self::read(path);
        }
        let mut whole = Self::default();
        for shard in shards(&index)? {
            let part = Self::read(&shard).map_err(|error| damaged(format!("shard '{}' {error}", shard.display())))?;
            whole.file_bytes = whole.file_bytes.saturating_add(part.file_bytes);
            whole.tensors.extend(part.tensors);
        }
        Ok(whole)
    }
}

fn entry(path: &Path, name: String, value: Value, data: u64) -> Result<(String, TensorEntry), HeaderError> {
    let raw: Raw = serde_json::from_value(value).map_err(|error| damaged(format!("tensor '{name}' has {error}")))?;
    let (start, end) = raw.data_offsets;
    let place = data.checked_add(start).zip(end.checked_sub(start));
    let (start, bytes) = place.ok_or_else(|| damaged(format!("tensor '{name}' lies from {start} to {end}")))?;
    let numbers = raw.shape.iter().try_fold(1_u64, |product, size| product.checked_mul(*size));
    let wanted = numbers.zip(element_bytes(&raw.dtype)).map(|(numbers, size)| numbers.checked_mul(size));
    if wanted.is_some_and(|wanted| wanted != Some(bytes)) || numbers.is_none() {
        return Err(damaged(format!("tensor '{name}' has {bytes} bytes for {:?} of {}", raw.shape, raw.dtype)));
    }
    Ok((name, TensorEntry { dtype: raw.dtype, shape: raw.shape, start, bytes, file: path.to_owned() }))
}

/// Bytes of an element; `None` for packed and unknown types.
fn element_bytes(dtype: &str) -> Option<u64> {
    match dtype {
        "BOOL" | "U8" | "I8" => Some(1),
        "F16" | "BF16" | "U16" | "I16" => Some(2),
        "F32" | "U32" | "I32" => Some(4),
        "F64" | "U64" | "I64" => Some(8),
        _ => None,
    }
}

/// Tensors one after the other, up to the end of the file.
fn fit(tensors: &BTreeMap<String, TensorEntry>, data: u64, file_bytes: u64) -> Result<(), HeaderError> {
    let mut places: Vec<(u64, u64)> = tensors.values().map(|entry| (entry.start, entry.bytes)).collect();
    places.sort_unstable();
    let end = places.into_iter().try_fold(data, |at, (start, bytes)| if start == at { at.checked_add(bytes) } else { None });
    match end {
        Some(end) if end == file_bytes => Ok(()),
        Some(end) => Err(damaged(format!("it has {file_bytes} bytes, its tensors end at {end}"))),
        None => Err(damaged("its tensors overlap or leave gaps")),
    }
}

/// The files of an index; a shard lies beside it.
fn shards(index: &Path) -> Result<Vec<PathBuf>, HeaderError> {
    #[derive(Deserialize)]
    struct Index {
        weight_map: BTreeMap<String, String>,
    }
    let text = std::fs::read_to_string(index)?;
    let parsed: Index = serde_json::from_str(&text).map_err(|error| damaged(format!("its index is {error}")))?;
    let mut names: Vec<String> = parsed.weight_map.into_values().collect();
    names.sort();
    names.dedup();
    match names.iter().find(|name| Path::new(name).file_name().is_none_or(|file| file != name.as_str())) {
        Some(astray) => Err(damaged(format!("its index names '{astray}', which is no file beside it"))),
        None => Ok(names.into_iter().map(|name| index.with_file_name(name)).collect()),
    }
}

fn damaged(reason: impl Into<String>) -> HeaderError {
    HeaderError::Damaged(reason.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, payload: usize) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let bytes = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &vec![0; payload]].concat();
        std::fs::write(file.path(), bytes).expect("it is written");
        file
    }

    #[test]
    fn a_header_gives_names_shapes_and_places() {
        let header = r#"{"__metadata__":{"format":"pt"},"a":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},"b":{"dtype":"F32","shape":[],"data_offsets":[12,16]}}"#;
        let read = Header::read(file(header, 16).path()).expect("a header");
        let a = &read.tensors["a"];
        assert_eq!((a.dtype.as_str(), a.shape.as_slice(), a.start, a.bytes), ("BF16", &[2, 3][..], 8 + header.len() as u64, 12));
        assert_eq!(read.tensors["b"].bytes, 4);
    }

    #[test]
    fn a_header_that_lies_is_refused() {
        let one = |shape: &str, offsets: &str| format!(r#"{{"a":{{"dtype":"F32","shape":{shape},"data_offsets":{offsets}}}}}"#);
        let cases = [
            (one("[4]", "[0,16]"), 15, "end at"),
            (one("[4]", "[0,15]"), 15, "15 bytes for [4]"),
            (one("[4]", "[16,0]"), 16, "from 16 to 0"),
            (one("[4]", "[4,20]"), 20, "gaps"),
            (one("[18446744073709551615,2]", "[0,16]"), 16, "16 bytes for"),
            (one("[-1]", "[0,16]"), 16, "tensor 'a'"),
            ("{".to_owned(), 0, "its header"),
            (r#"{"a":7}"#.to_owned(), 0, "tensor 'a'"),
        ];
        for (header, payload, part) in cases {
            let error = Header::read(file(&header, payload).path()).expect_err(&header).to_string();
            assert!(error.contains(part), "{header}: {error}");
        }
        let short = tempfile::NamedTempFile::new().expect("a file");
        for bytes in [&b"abc"[..], &u64::MAX.to_le_bytes(), &(1_u64 << 40).to_le_bytes()] {
            std::fs::write(short.path(), bytes).expect("it is written");
            assert!(matches!(Header::read(short.path()), Err(HeaderError::Damaged(_))));
        }
    }

    #[test]
    fn shards_stand_for_a_file_and_lie_beside_their_index() {
        let folder = tempfile::tempdir().expect("a folder");
        let header = r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#;
        std::fs::copy(file(header, 4).path(), folder.path().join("m-1.safetensors")).expect("a shard");
        let index = folder.path().join("m.safetensors.index.json");
        std::fs::write(&index, r#"{"weight_map":{"a":"m-1.safetensors"}}"#).expect("an index");
        let read = Header::read_sharded(&folder.path().join("m.safetensors")).expect("a header");
        assert!(read.tensors["a"].file.ends_with("m-1.safetensors"));
        std::fs::write(&index, r#"{"weight_map":{"a":"../m-1.safetensors"}}"#).expect("an index");
        assert!(Header::read_sharded(&folder.path().join("m.safetensors")).is_err());
    }
}
