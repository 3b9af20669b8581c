//! What a store holds, as one host knows it: files, and of several files of one voice the newest.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use super::record::Record;
use super::scan::Found;
use super::store::Listed;
use crate::reference::ContentId;

/// A file that is known.
#[derive(Debug, Clone)]
struct Known {
    version: String,
    /// The voice in it; none in a file that is none.
    voice: Option<Entry>,
    /// When this host changed it, by its own count.
    changed_at: u64,
}

/// Which voice a name stands for.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The voice.
    pub record: Arc<Record>,
    /// Its file.
    pub file: String,
    /// Which version of the file.
    pub version: String,
    /// Known to all copies as soon as one has read it.
    content: Arc<OnceLock<ContentId>>,
}

/// The same version of the same file: what is known of its content makes no difference.
impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        (&self.file, &self.version, &self.record) == (&other.file, &other.version, &other.record)
    }
}

impl Entry {
    pub(super) fn new(listed: &Listed, record: Arc<Record>) -> Self {
        Self { record, file: listed.file.clone(), version: listed.version.clone(), content: Arc::default() }
    }

    /// What the voice's sound is called in caches; none until it was read.
    pub fn content(&self) -> Option<ContentId> {
        self.content.get().copied()
    }

    /// Notes what was read. A version of a file has one content.
    pub(super) fn learn(&self, content: ContentId) {
        self.content.get_or_init(|| content);
    }
}

/// Everything that is known of a store.
#[derive(Debug, Default)]
pub struct Index {
    files: BTreeMap<String, Known>,
    voices: BTreeMap<String, Entry>,
    /// All voices in the order of a listing, until something changes.
    sorted: Option<Arc<[Arc<Record>]>>,
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
    pub fn records(&mut self) -> Arc<[Arc<Record>]> {
        let voices = &self.voices;
        let sort = || {
            let mut records: Vec<_> = voices.values().map(|entry| Arc::clone(&entry.record)).collect();
            records.sort_by(|one, other| (one.created_at, &one.key).cmp(&(other.created_at, &other.key)));
            records.into()
        };
        Arc::clone(self.sorted.get_or_insert_with(sort))
    }

    /// The files of a key, the one that counts at the end.
    pub fn files_of(&self, key: &str) -> Vec<String> {
        let is_of = |known: &Known| known.voice.as_ref().is_some_and(|voice| voice.record.key == key);
        let winner = self.voices.get(key).map(|entry| entry.file.as_str());
        let others = self.files.iter().filter(|(file, known)| is_of(known) && Some(file.as_str()) != winner);
        others.map(|(file, _)| file.clone()).chain(winner.map(str::to_owned)).collect()
    }

    /// Notes what this host put into a file.
    pub fn put(&mut self, listed: &Listed, record: Arc<Record>, content: ContentId) {
        self.changes += 1;
        self.deleted.remove(&listed.file);
        let entry = Entry::new(listed, record);
        entry.learn(content);
        self.set(listed, Some(entry), self.changes);
    }

    /// Notes what a file was found to hold. What this host did to it since the moment counts for more.
    pub fn found(&mut self, listed: &Listed, record: Option<Arc<Record>>, moment: u64) {
        let is_newer = |changed_at: u64| changed_at > moment;
        let known = self.files.get(&listed.file).map(|known| known.changed_at);
        if !known.is_some_and(is_newer) && !self.deleted.get(&listed.file).copied().is_some_and(is_newer) {
            let entry = record.map(|record| self.known_already(listed).unwrap_or_else(|| Entry::new(listed, record)));
            self.set(listed, entry, moment);
        }
    }

    /// What is known of this very version of a file.
    fn known_already(&self, listed: &Listed) -> Option<Entry> {
        let voice = self.files.get(&listed.file)?.voice.as_ref();
        voice.filter(|voice| !voice.version.is_empty() && voice.version == listed.version).cloned()
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
        let voice = self.files.get(file)?.voice.as_ref()?;
        self.voices.get(&voice.record.key).filter(|entry| entry.file == file).cloned()
    }

    /// Notes that a file was not there. What this host did to it since the moment counts for more.
    pub fn gone(&mut self, file: &str, moment: u64) {
        if self.files.get(file).is_some_and(|known| known.changed_at <= moment) {
            self.forget(file);
        }
    }

    fn set(&mut self, listed: &Listed, voice: Option<Entry>, changed_at: u64) {
        self.forget(&listed.file);
        if let Some(entry) = voice.clone() {
            self.offer(entry);
        }
        self.files.insert(listed.file.clone(), Known { version: listed.version.clone(), voice, changed_at });
    }

    /// Makes a file the one that counts for its voice, if it is the newest.
    fn offer(&mut self, voice: Entry) {
        let rank = |entry: &Entry| (entry.record.created_at, entry.file.clone());
        if self.voices.get(&voice.record.key).is_none_or(|entry| rank(&voice) > rank(entry)) {
            self.sorted = None;
            self.voices.insert(voice.record.key.clone(), voice);
        }
    }

    fn forget(&mut self, file: &str) {
        let Some(Entry { record, .. }) = self.files.remove(file).and_then(|known| known.voice) else { return };
        if self.voices.get(&record.key).is_none_or(|entry| entry.file != file) {
            return;
        }
        self.sorted = None;
        self.voices.remove(&record.key);
        let others = self.files.values().filter_map(|known| known.voice.as_ref());
        let others: Vec<Entry> = others.filter(|other| other.record.key == record.key).cloned().collect();
        others.into_iter().for_each(|other| self.offer(other));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voices::Source;

    fn listed(file: &str, version: &str) -> Listed {
        Listed { file: file.to_owned(), version: version.to_owned(), bytes: 1, modified: None }
    }

    fn record(key: &str, created_at: u64) -> Arc<Record> {
        let text = String::new;
        Arc::new(Record {
            name: key.to_owned(),
            key: key.to_owned(),
            consent: text(),
            created_at,
            mime_type: text(),
            original_filename: text(),
            file_size: 1,
            ref_text: None,
            speaker_description: None,
            source: Source::Embedding { dim: 1 },
        })
    }

    fn keys(index: &mut Index) -> Vec<String> {
        index.records().iter().map(|record| record.key.clone()).collect()
    }

    #[test]
    fn a_listing_is_in_the_order_of_time_after_every_change() {
        let mut index = Index::default();
        assert!(keys(&mut index).is_empty());
        index.put(&listed("a", "1"), record("anne", 5), [1; 32]);
        index.found(&listed("b", "1"), Some(record("bob", 3)), index.moment());
        assert_eq!(keys(&mut index), ["bob", "anne"]);
        index.put(&listed("b", "2"), record("bob", 6), [2; 32]);
        assert_eq!(keys(&mut index), ["anne", "bob"]);
        // An older file of Anne changes nothing until the newer one is gone.
        index.found(&listed("old", "1"), Some(record("anne", 1)), index.moment());
        assert_eq!(index.get("anne").map(|entry| entry.file.as_str()), Some("a"));
        index.delete("a");
        assert_eq!(
            (keys(&mut index), index.get("anne").map(|entry| entry.record.created_at)),
            (vec!["anne".to_owned(), "bob".to_owned()], Some(1))
        );
        index.delete("old");
        assert_eq!(keys(&mut index), ["bob"]);
    }

    #[test]
    fn the_content_of_a_version_stays_known_and_that_of_another_does_not() {
        let mut index = Index::default();
        index.found(&listed("a", "1"), Some(record("anne", 1)), index.moment());
        let seen = index.get("anne").cloned().expect("a voice");
        assert_eq!(seen.content(), None);
        seen.learn([7; 32]);
        index.found(&listed("a", "1"), Some(record("anne", 1)), index.moment());
        assert_eq!(index.get("anne").and_then(Entry::content), Some([7; 32]), "every copy knows what one has read");
        assert_eq!(index.get("anne"), Some(&seen));
        index.found(&listed("a", "2"), Some(record("anne", 1)), index.moment());
        assert_eq!(index.get("anne").and_then(Entry::content), None);
        assert_ne!(index.get("anne"), Some(&seen));
        index.put(&listed("a", "3"), record("anne", 2), [9; 32]);
        assert_eq!(index.get("anne").and_then(Entry::content), Some([9; 32]));
    }
}
