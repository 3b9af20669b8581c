//! The header of a `.safetensors` file, read alone: an index of ten thousand voices must not read ten thousand clips.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

/// Bytes that say how long the header is.
const LENGTH_BYTES: usize = 8;
/// Longest header: a voice's has a few hundred bytes and its texts.
const MAX_BYTES: u64 = 1 << 20;
/// The member that holds texts.
const METADATA: &str = "__metadata__";

/// A header that fits its file.
#[derive(Debug, Default)]
pub struct Header {
    /// Texts by their keys.
    pub metadata: HashMap<String, String>,
    /// Tensors by their names.
    pub tensors: HashMap<String, Tensor>,
}

/// A tensor as the header states it.
#[derive(Debug, Deserialize)]
pub struct Tensor {
    shape: Vec<u64>,
    data_offsets: (u64, u64),
}

impl Tensor {
    /// Number of its values.
    pub fn values(&self) -> Result<usize, HeaderError> {
        let count = self.shape.iter().try_fold(1_u64, |product, extent| product.checked_mul(*extent));
        let count = count.and_then(|count| usize::try_from(count).ok());
        count.ok_or_else(|| HeaderError::Broken(format!("no tensor has the shape {:?}", self.shape)))
    }
}

/// Why a header cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub enum HeaderError {
    /// So many bytes of the file's beginning are needed.
    NeedsMore(usize),
    /// It does not fit its file.
    Broken(String),
    /// It is longer than that of any voice.
    TooLarge(u64),
}

impl Header {
    /// Reads the header from the beginning of a file of `file_bytes` bytes.
    pub fn read(start: &[u8], file_bytes: u64) -> Result<Self, HeaderError> {
        let broken = |reason: String| HeaderError::Broken(reason);
        if file_bytes < LENGTH_BYTES as u64 {
            return Err(broken(format!("it has {file_bytes} bytes")));
        }
        let Some(length) = start.first_chunk::<LENGTH_BYTES>() else { return Err(HeaderError::NeedsMore(LENGTH_BYTES)) };
        let length = u64::from_le_bytes(*length);
        let data_start = length.checked_add(LENGTH_BYTES as u64).filter(|end| *end <= file_bytes);
        let data_start = data_start.ok_or_else(|| broken("its header is longer than the file".to_owned()))?;
        if length > MAX_BYTES {
            return Err(HeaderError::TooLarge(length));
        }
        let Some(text) = start.get(LENGTH_BYTES..data_start as usize) else { return Err(HeaderError::NeedsMore(data_start as usize)) };
        let header = Self::parse(text).map_err(|error| broken(format!("its header cannot be read: {error}")))?;
        header.check(file_bytes - data_start)?;
        Ok(header)
    }

    fn parse(text: &[u8]) -> Result<Self, serde_json::Error> {
        let members: HashMap<String, Value> = serde_json::from_slice(text)?;
        let mut header = Self::default();
        for (name, value) in members {
            if name == METADATA {
                let texts: HashMap<String, Value> = serde_json::from_value(value)?;
                header.metadata = texts.into_iter().map(|(key, value)| (key, as_text(value))).collect();
            } else {
                header.tensors.insert(name, serde_json::from_value(value)?);
            }
        }
        Ok(header)
    }

    /// Checks that the tensors fill the rest of the file and nothing more: half a file is found out here.
    fn check(&self, data_bytes: u64) -> Result<(), HeaderError> {
        let end = self.tensors.values().map(|tensor| tensor.data_offsets.1).max().unwrap_or_default();
        if end == data_bytes {
            return Ok(());
        }
        Err(HeaderError::Broken(format!("its tensors need {end} bytes, found {data_bytes}")))
    }
}

fn as_text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
