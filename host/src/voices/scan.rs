//! Reading what a store holds: records only, many at once, and what to do with a file that is none.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::file::{FileError, read_record};
use super::record::Record;
use super::store::{Listed, StoreError, VoiceStore};

/// Bytes of a file that are read first: the header of nearly every voice fits in.
const FIRST_BYTES: u64 = 4096;
/// Files that are read at once.
const READERS: usize = 16;
/// Files for which it is worth while to start more threads.
const MANY: usize = 64;
/// A damaged file that somebody may still be copying into the store is left alone for so long.
const RESTS: Duration = Duration::from_secs(10);
/// Warnings that are remembered, so that each is given once.
const MAX_WARNED: usize = 10_000;

/// Reads records and remembers what it has complained about.
#[derive(Debug, Default)]
pub struct Scanner {
    warned: Mutex<BTreeSet<String>>,
}

/// A file and the voice in it; none in a file that is none.
pub type Found = (Listed, Option<Arc<Record>>);

impl Scanner {
    /// Reads files; one that cannot be read now is left out, to be read at another time.
    pub fn read_all(&self, store: &dyn VoiceStore, files: &[Listed]) -> Vec<Found> {
        let read_some = |files: &[Listed]| files.iter().filter_map(|listed| self.read_listed(store, listed)).collect::<Vec<_>>();
        if files.len() < MANY {
            return read_some(files);
        }
        std::thread::scope(|scope| {
            let shares = files.chunks(files.len().div_ceil(READERS));
            let readers: Vec<_> = shares.map(|share| scope.spawn(move || read_some(share))).collect();
            readers.into_iter().flat_map(|reader| reader.join().unwrap_or_default()).collect()
        })
    }

    fn read_listed(&self, store: &dyn VoiceStore, listed: &Listed) -> Option<Found> {
        let read = self.read(store, &listed.file);
        if let Err(error) = &read
            && !matches!(error, StoreError::NotFound)
        {
            self.warn(listed, &format!("it cannot be read: {error}"));
        }
        read.ok()
    }

    /// Reads the record of a file. One that is damaged holds no voice and has no version, so that it is looked at again.
    pub fn read(&self, store: &dyn VoiceStore, file: &str) -> Result<Found, StoreError> {
        let mut content = store.read(file, FIRST_BYTES)?;
        let mut record = read_record(&content.bytes, content.listed.bytes);
        if let Err(FileError::NeedsMore(bytes)) = record {
            content = store.read(file, bytes as u64)?;
            record = read_record(&content.bytes, content.listed.bytes);
        }
        let listed = content.listed;
        match record {
            Ok(record) => Ok((listed, Some(Arc::new(record)))),
            Err(error @ FileError::Foreign(_)) => {
                self.warn(&listed, &error.to_string());
                Ok((listed, None))
            }
            Err(error) => {
                self.set_aside(store, &listed, &error.to_string());
                Ok((Listed { version: String::new(), ..listed }, None))
            }
        }
    }

    fn set_aside(&self, store: &dyn VoiceStore, listed: &Listed, reason: &str) {
        self.warn(listed, reason);
        if !listed.rests_for(RESTS) {
            return;
        }
        match store.set_aside(listed) {
            Ok(aside) => tracing::warn!(file = listed.file, aside, "a damaged file was set aside"),
            Err(StoreError::NotFound) => {}
            Err(error) => self.warn(listed, &format!("it cannot be set aside: {error}")),
        }
    }

    /// Warns once of each fault of each version of a file.
    fn warn(&self, listed: &Listed, reason: &str) {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if warned.len() >= MAX_WARNED {
            warned.clear();
        }
        if warned.insert(format!("{}\n{}\n{reason}", listed.file, listed.version)) {
            tracing::warn!(file = listed.file, reason, "a file of the voice store is not used");
        }
    }
}
