//! What a store holds, as one host knows it: files, and of several files of one voice the newest.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::record::Record;
use super::scan::Found;
use super::store::Listed;

/// A file that is known.
#[derive(Debug, Clone)]
struct Known {
    version: String,
    /// The voice in it; none in a file that is none.
    record: Option<Arc<Record>>,
    /// When this host changed it, by its own count.
    changed_at: u64,
}

/// Which voice a name stands for.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The voice.
    pub record: Arc<Record>,
    /// Its file.
    pub file: String,
    /// Which version of the file.
    pub version: String,
}

impl Entry {
    /// What the voice's content is called in caches: no two versions of a file have the same.
    pub fn identity(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        for part in [&self.file, &self.version, &self.record.created_at.to_string()] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        hash.finalize().into()
    }
}

/// Everything that is known of a store.
#[derive(Debug, Default)]
pub struct Index {
    files: BTreeMap<String, Known>,
    voices: BTreeMap<String, Entry>,
    /// Files that this host deleted, and when, by its own count.
    deleted: BTreeMap<String, u64>,
    changes: u64,
}

/// The differences between a listing and what was known.
#[derive(Debug)]
pub struct Differences {
    /// Files to be read.
    pub changed: Vec<Listed>,
    /// Files that are gone.
    gone: Vec<String>,
    began_at: u64,
}

impl Differences {
    fn files(&self) -> impl Iterator<Item = &str> {
        self.changed.iter().map(|listed| listed.file.as_str()).chain(self.gone.iter().map(String::as_str))
    }
}

impl Index {
    /// The moment before a listing, to be handed to [`Index::compare`].
    pub fn moment(&self) -> u64 {
        self.changes
    }

    /// The voice of a key.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.voices.get(key)
    }

    /// Number of voices.
    pub fn len(&self) -> usize {
        self.voices.len()
    }

    /// All voices, the oldest first.
    pub fn records(&self) -> Vec<Arc<Record>> {
        let mut records: Vec<_> = self.voices.values().map(|entry| Arc::clone(&entry.record)).collect();
        records.sort_by(|one, other| (one.created_at, &one.key).cmp(&(other.created_at, &other.key)));
        records
    }

    /// The files of a key, the one that counts at the end.
    pub fn files_of(&self, key: &str) -> Vec<String> {
        let is_of = |known: &Known| known.record.as_ref().is_some_and(|record| record.key == key);
        let winner = self.voices.get(key).map(|entry| entry.file.as_str());
        let others = self.files.iter().filter(|(file, known)| is_of(known) && Some(file.as_str()) != winner);
        others.map(|(file, _)| file.clone()).chain(winner.map(str::to_owned)).collect()
    }

    /// Notes what this host put into a file.
    pub fn put(&mut self, listed: &Listed, record: Arc<Record>) {
        self.changes += 1;
        self.deleted.remove(&listed.file);
        self.set(listed, Some(record), self.changes);
    }

    /// Notes what a file was found to hold. What this host did to it since the moment counts for more.
    pub fn found(&mut self, listed: &Listed, record: Option<Arc<Record>>, moment: u64) {
        let is_newer = |changed_at: u64| changed_at > moment;
        let known = self.files.get(&listed.file).map(|known| known.changed_at);
        if !known.is_some_and(is_newer) && !self.deleted.get(&listed.file).copied().is_some_and(is_newer) {
            self.set(listed, record, moment);
        }
    }

    /// Notes that this host deleted a file.
    pub fn delete(&mut self, file: &str) {
        self.changes += 1;
        self.deleted.insert(file.to_owned(), self.changes);
        self.forget(file);
    }

    /// What is new in a listing that began at `moment`.
    pub fn compare(&self, listing: Vec<Listed>, moment: u64) -> Differences {
        let is_new = |listed: &Listed| match self.files.get(&listed.file) {
            Some(known) => known.changed_at <= moment && (known.version != listed.version || known.version.is_empty()),
            None => self.deleted.get(&listed.file).is_none_or(|deleted_at| *deleted_at <= moment),
        };
        let listed: BTreeSet<&str> = listing.iter().map(|listed| listed.file.as_str()).collect();
        let is_gone = |(file, known): &(&String, &Known)| known.changed_at <= moment && !listed.contains(file.as_str());
        let gone = self.files.iter().filter(is_gone).map(|(file, _)| file.clone()).collect();
        Differences { changed: listing.iter().filter(|listed| is_new(listed)).cloned().collect(), gone, began_at: moment }
    }

    /// Applies differences after their files were read; gives the entries that are none any more.
    pub fn apply(&mut self, differences: &Differences, read: Vec<Found>) -> Vec<Entry> {
        let mut touched: Vec<Entry> = differences.files().filter_map(|file| self.entry_of(file)).collect();
        for (listed, record) in read {
            self.found(&listed, record, differences.began_at);
        }
        differences.gone.iter().for_each(|file| self.gone(file, differences.began_at));
        self.deleted.retain(|_, deleted_at| *deleted_at > differences.began_at);
        touched.retain(|entry| self.get(&entry.record.key) != Some(entry));
        touched
    }

    /// The entry that a file is the reason for.
    fn entry_of(&self, file: &str) -> Option<Entry> {
        let record = self.files.get(file)?.record.as_ref()?;
        self.voices.get(&record.key).filter(|entry| entry.file == file).cloned()
    }

    /// Notes that a file was not there. What this host did to it since the moment counts for more.
    pub fn gone(&mut self, file: &str, moment: u64) {
        if self.files.get(file).is_some_and(|known| known.changed_at <= moment) {
            self.forget(file);
        }
    }

    fn set(&mut self, listed: &Listed, record: Option<Arc<Record>>, changed_at: u64) {
        self.forget(&listed.file);
        if let Some(record) = &record {
            self.offer(&listed.file, &listed.version, record);
        }
        self.files.insert(listed.file.clone(), Known { version: listed.version.clone(), record, changed_at });
    }

    /// Makes a file the one that counts for its voice, if it is the newest.
    fn offer(&mut self, file: &str, version: &str, record: &Arc<Record>) {
        let rank = |record: &Record, file: &str| (record.created_at, file.to_owned());
        let is_newest = self.voices.get(&record.key).is_none_or(|entry| rank(record, file) > rank(&entry.record, &entry.file));
        if is_newest {
            let entry = Entry { record: Arc::clone(record), file: file.to_owned(), version: version.to_owned() };
            self.voices.insert(record.key.clone(), entry);
        }
    }

    fn forget(&mut self, file: &str) {
        let Some(record) = self.files.remove(file).and_then(|known| known.record) else { return };
        if self.voices.get(&record.key).is_none_or(|entry| entry.file != file) {
            return;
        }
        self.voices.remove(&record.key);
        let is_of = |(file, known): (&String, &Known)| {
            let other = known.record.as_ref().filter(|other| other.key == record.key)?;
            Some((file.clone(), known.version.clone(), Arc::clone(other)))
        };
        let others: Vec<_> = self.files.iter().filter_map(is_of).collect();
        others.iter().for_each(|(file, version, other)| self.offer(file, version, other));
    }
}
