//! One safetensors file, mapped into memory.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use memmap2::{Advice, Mmap};
use safetensors::tensor::Metadata;
use safetensors::{Dtype, SafeTensors};

use super::LoadError;

/// Longest header that is read: a published checkpoint of a thousand tensors has some 100 kB.
const LONGEST_HEADER: u64 = 64 << 20;
/// Bytes of the header's own length at the head of a file.
const LENGTH_BYTES: u64 = 8;

/// A mapped file and where its tensors lie.
pub(super) struct MappedFile {
    map: Arc<Mmap>,
    path: PathBuf,
    metadata: Metadata,
    /// Where the tensors' bytes begin.
    start: usize,
}

/// A part of a mapped file, which stays mapped as long as this is.
struct Window {
    map: Arc<Mmap>,
    range: Range<usize>,
}

impl AsRef<[u8]> for Window {
    fn as_ref(&self) -> &[u8] {
        self.map.get(self.range.clone()).unwrap_or_default()
    }
}

/// Where a tensor lies in its file.
pub(super) struct Entry<'a> {
    pub(super) dtype: Dtype,
    pub(super) shape: &'a [usize],
    pub(super) bytes: &'a [u8],
}

impl MappedFile {
    /// Maps a file whose header agrees with its length.
    pub(super) fn open(path: &Path) -> Result<Self, LoadError> {
        let unreadable = |error: std::io::Error| LoadError::Unreadable { path: path.to_owned(), reason: error.to_string() };
        let damaged = |reason: String| LoadError::Damaged { path: path.to_owned(), reason };
        let mut file = File::open(path).map_err(unreadable)?;
        let length = file.metadata().map_err(unreadable)?.len();
        let header = header_bytes(&mut file, length).map_err(unreadable)?.map_err(damaged)?;
        // SAFETY: the map is read-only and private to this process. Someone who shortens or rewrites a checkpoint while it is being read
        // breaks the load; that is the operator's contract with every program that maps weights.
        let map = unsafe { Mmap::map(&file) }.map_err(unreadable)?;
        let (_, metadata) = SafeTensors::read_metadata(&map).map_err(|error| damaged(error.to_string()))?;
        let start = usize::try_from(LENGTH_BYTES + header).map_err(|_| damaged("its header is too long".to_owned()))?;
        Ok(Self { map: Arc::new(map), path: path.to_owned(), metadata, start })
    }

    /// Names of all tensors.
    pub(super) fn names(&self) -> Vec<String> {
        self.metadata.offset_keys()
    }

    /// A tensor's place.
    pub(super) fn entry(&self, name: &str) -> Option<Entry<'_>> {
        let info = self.metadata.info(name)?;
        let bytes = self.map.get(self.range(name)?)?;
        Some(Entry { dtype: info.dtype, shape: &info.shape, bytes })
    }

    fn range(&self, name: &str) -> Option<Range<usize>> {
        let (from, to) = self.metadata.info(name)?.data_offsets;
        Some(self.start.checked_add(from)?..self.start.checked_add(to)?)
    }

    /// A tensor's bytes where they are, for whoever needs them longer than this.
    pub(super) fn share(&self, name: &str) -> Option<Bytes> {
        Some(Bytes::from_owner(Window { map: Arc::clone(&self.map), range: self.range(name)? }))
    }

    /// Lets the system read the file ahead, where it can.
    pub(super) fn read_ahead(&self) {
        // Without it every page is read when it is asked for.
        let _ = self.map.advise(Advice::WillNeed);
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// The length that the header claims, held against the file's before anything is mapped. The outer error is the system's.
fn header_bytes(file: &mut File, length: u64) -> std::io::Result<Result<u64, String>> {
    if length < LENGTH_BYTES {
        return Ok(Err(format!("it has {length} bytes, a safetensors file has at least {LENGTH_BYTES}")));
    }
    let mut head = [0; LENGTH_BYTES as usize];
    file.read_exact(&mut head)?;
    let header = u64::from_le_bytes(head);
    if header > LONGEST_HEADER || header > length - LENGTH_BYTES {
        return Ok(Err(format!("its header claims {header} bytes of a file of {length}")));
    }
    Ok(Ok(header))
}
