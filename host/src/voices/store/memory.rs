//! Voices in memory: they end with the process.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use super::{Content, DAMAGED, EXTENSION, Listed, Put, StoreError, VoiceStore};

/// Files in memory. Clones share them.
#[derive(Clone, Default)]
pub struct MemoryStore(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    files: BTreeMap<String, (Listed, Vec<u8>)>,
    puts: u64,
}

impl MemoryStore {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl VoiceStore for MemoryStore {
    fn list(&self) -> Result<Vec<Listed>, StoreError> {
        let files = self.state();
        Ok(files.files.values().map(|(listed, _)| listed.clone()).filter(|listed| listed.file.ends_with(EXTENSION)).collect())
    }

    fn read(&self, file: &str, limit: u64) -> Result<Content, StoreError> {
        let state = self.state();
        let (listed, bytes) = state.files.get(file).ok_or(StoreError::NotFound)?;
        let len = bytes.len().min(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(Content { bytes: bytes[..len].to_vec(), listed: listed.clone() })
    }

    fn put(&self, file: &str, bytes: Vec<u8>, put: Put) -> Result<Listed, StoreError> {
        let mut state = self.state();
        if put == Put::IfAbsent && state.files.contains_key(file) {
            return Err(StoreError::Exists);
        }
        state.puts += 1;
        let (version, modified) = (state.puts.to_string(), Some(SystemTime::now()));
        let listed = Listed { file: file.to_owned(), version, bytes: bytes.len() as u64, modified };
        state.files.insert(file.to_owned(), (listed.clone(), bytes));
        Ok(listed)
    }

    fn delete(&self, file: &str) -> Result<(), StoreError> {
        self.state().files.remove(file).map(drop).ok_or(StoreError::NotFound)
    }

    fn set_aside(&self, damaged: &Listed) -> Result<String, StoreError> {
        let mut state = self.state();
        if state.files.get(&damaged.file).is_none_or(|(listed, _)| listed.version != damaged.version) {
            return Err(StoreError::NotFound);
        }
        let (listed, bytes) = state.files.remove(&damaged.file).ok_or(StoreError::NotFound)?;
        let aside = format!("{}{DAMAGED}", damaged.file);
        state.files.insert(aside.clone(), (Listed { file: aside.clone(), ..listed }, bytes));
        Ok(aside)
    }

    fn place(&self) -> String {
        "memory".to_owned()
    }

    fn poll_every(&self) -> Option<Duration> {
        None
    }
}
