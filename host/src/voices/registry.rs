//! The voices of a store as one host serves them.
//!
//! The host knows every voice by an index in memory and looks for changes by others from time to time. A name that it does not know is looked
//! for in the store before it says so, so a voice can be used at any host the moment its upload was answered by another. The file of a voice is
//! named after its key alone: that makes "only where there is none" one step of the store.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};

use super::error::VoiceError;
use super::file::{self, MAX_FILE_BYTES};
use super::index::{Entry, Index};
use super::name::key_of;
use super::record::{NewVoice, Record, Sample};
use super::scan::Scanner;
use super::store::{Content, EXTENSION, Put, StoreError, VoiceStore};
use crate::config::RegistrationPolicy;
use crate::reference::ContentId;

/// Changes of different voices at once.
const TURNS: usize = 64;
/// How often a voice is looked for again that others delete and store all the time.
const TRIES: usize = 5;
/// Most characters of a key in the name of its file.
const FILE_CHARS: usize = 64;

/// What may be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// What an upload under a name that is taken does.
    pub policy: RegistrationPolicy,
    /// Most voices.
    pub max_voices: usize,
}

impl Default for Rules {
    fn default() -> Self {
        Self { policy: RegistrationPolicy::Overwrite, max_voices: 1000 }
    }
}

/// Is told the content of every voice that is gone or replaced.
pub type Forget = Box<dyn Fn(&ContentId) + Send + Sync>;

/// The voices of a store. Cheap to clone. Calls that may reach the store block.
#[derive(Clone)]
pub struct Voices(Arc<Inner>);

pub(super) struct Inner {
    store: Box<dyn VoiceStore>,
    rules: Rules,
    index: Mutex<Index>,
    scanner: Scanner,
    turns: [Mutex<()>; TURNS],
    coming: Mutex<BTreeSet<String>>,
    issued: AtomicU64,
    forget: Forget,
}

impl Voices {
    /// The voices of a store, none known yet: call [`Voices::refresh`].
    pub fn new(store: Box<dyn VoiceStore>, rules: Rules, forget: Forget) -> Self {
        Self(Arc::new(Inner {
            store,
            rules,
            index: Mutex::default(),
            scanner: Scanner::default(),
            turns: std::array::from_fn(|_| Mutex::default()),
            coming: Mutex::default(),
            issued: AtomicU64::new(0),
            forget,
        }))
    }

    pub(super) fn inner(&self) -> &Arc<Inner> {
        &self.0
    }

    pub(super) fn of(inner: Arc<Inner>) -> Self {
        Self(inner)
    }

    /// Where they are kept.
    pub fn store(&self) -> &dyn VoiceStore {
        &*self.0.store
    }

    /// What may be stored.
    pub fn rules(&self) -> Rules {
        self.0.rules
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        self.0.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All voices that are known, the oldest first. Does not block.
    pub fn list(&self) -> Arc<[Arc<Record>]> {
        self.index().records()
    }

    /// Learns what others changed.
    pub fn refresh(&self) -> Result<(), VoiceError> {
        let moment = self.index().moment();
        let listing = self.0.store.list()?;
        let differences = self.index().compare(listing, moment);
        let read = self.0.scanner.read_all(&*self.0.store, &differences.changed);
        let gone = self.index().apply(&differences, read);
        gone.iter().for_each(|entry| self.forget(entry));
        Ok(())
    }

    fn forget(&self, entry: &Entry) {
        // What was never read here was never used here.
        if let Some(content) = entry.content() {
            (self.0.forget)(&content);
        }
    }

    /// The voice of a name, if this host or the store knows it.
    pub fn find(&self, name: &str) -> Result<Option<Entry>, VoiceError> {
        let key = key_of(name);
        if let Some(entry) = self.index().get(&key) {
            return Ok(Some(entry.clone()));
        }
        if key.is_empty() { Ok(None) } else { self.look_up(&key) }
    }

    /// The voice of a name as this host knows it. Does not block.
    pub fn known(&self, name: &str) -> Option<Entry> {
        self.index().get(&key_of(name)).cloned()
    }

    /// The voice of a key, after a look into the store.
    fn look_up(&self, key: &str) -> Result<Option<Entry>, VoiceError> {
        // One after the other: in one statement the first lock would be held while the second is taken.
        let moment = self.index().moment();
        let file = file_of(key);
        let found = match self.0.scanner.read(&*self.0.store, &file) {
            Err(StoreError::NotFound) => None,
            found => Some(found?),
        };
        Ok(self.note(key, |index| match found {
            Some((listed, record)) => index.found(&listed, record, moment),
            None => index.gone(&file, moment),
        }))
    }

    /// Notes what was learnt of a key's files; gives the voice that the key stands for now.
    fn note(&self, key: &str, learn: impl FnOnce(&mut Index)) -> Option<Entry> {
        let (before, now) = {
            let mut index = self.index();
            let before = index.get(key).cloned();
            learn(&mut index);
            (before, index.get(key).cloned())
        };
        if let Some(before) = before.filter(|before| now.as_ref() != Some(before)) {
            self.forget(&before);
        }
        now
    }

    /// What a voice sounds like, and which version of it that is: the newest, whatever replaced `entry` meanwhile. None if it is gone.
    pub fn sample(&self, entry: &Entry) -> Result<Option<(Entry, Sample)>, VoiceError> {
        let mut file = entry.file.clone();
        for _ in 0..TRIES {
            let moment = self.index().moment();
            match self.0.store.read(&file, MAX_FILE_BYTES) {
                Ok(content) => return self.take_in(content, entry, moment).map(Some),
                Err(StoreError::NotFound) => {}
                Err(error) => return Err(error.into()),
            }
            match self.look_up(&entry.record.key)? {
                Some(now) => file = now.file,
                None => return Ok(None),
            }
        }
        Err(StoreError::Unavailable(format!("voice '{}' is changed faster than it can be read", entry.record.name)).into())
    }

    /// A file that was read whole: a voice is never half of one version and half of another.
    fn take_in(&self, content: Content, asked: &Entry, moment: u64) -> Result<(Entry, Sample), VoiceError> {
        let damaged = |error: file::FileError| VoiceError::Damaged { name: asked.record.name.clone(), reason: error.to_string() };
        let (record, sample) = file::read(&content.bytes).map_err(damaged)?;
        let (listed, record) = (content.listed, Arc::new(record));
        let entry = if (&listed.file, &listed.version) == (&asked.file, &asked.version) {
            asked.clone()
        } else {
            let now = self.note(&record.key, |index| index.found(&listed, Some(Arc::clone(&record)), moment));
            let is_this = |now: &Entry| (&now.file, &now.version) == (&listed.file, &listed.version);
            now.filter(is_this).unwrap_or_else(|| Entry::new(&listed, record))
        };
        entry.learn(sample.content());
        Ok((entry, sample))
    }

    /// A voice with its sound.
    pub fn load(&self, name: &str) -> Result<Option<(Arc<Record>, Sample)>, VoiceError> {
        let Some(entry) = self.find(name)? else { return Ok(None) };
        Ok(self.sample(&entry)?.map(|(entry, sample)| (entry.record, sample)))
    }

    /// Why a voice of this name could not be stored now, without a look into the store.
    pub fn check(&self, name: &str) -> Result<(), VoiceError> {
        let index = self.index();
        match index.get(&key_of(name)) {
            Some(_) if self.0.rules.policy == RegistrationPolicy::Immutable => Err(VoiceError::Exists(name.to_owned())),
            None if index.len() >= self.0.rules.max_voices => Err(VoiceError::Full(self.0.rules.max_voices)),
            _ => Ok(()),
        }
    }

    /// Stores a voice. When this returns, it survives the end of the process; until then the one that it replaces is there.
    pub fn register(&self, new: &NewVoice) -> Result<Arc<Record>, VoiceError> {
        let key = new.name.key();
        let _turn = self.turn(key);
        let before = self.look_up(key)?;
        self.check(new.name.shown())?;
        let _coming = before.is_none().then(|| self.announce(key)).transpose()?;
        let file = file_of(key);
        let created_at = self.issue(before.as_ref().map(|entry| entry.record.created_at));
        let unwritable = |error: file::FileError| StoreError::Failed(error.to_string());
        let (record, bytes) = file::write(new, created_at, &file).map_err(unwritable)?;
        let put = match self.0.rules.policy {
            RegistrationPolicy::Immutable => Put::IfAbsent,
            RegistrationPolicy::Overwrite => Put::Replace,
        };
        let listed = match self.0.store.put(&file, bytes, put) {
            Err(StoreError::Exists) => return Err(VoiceError::Exists(new.name.shown().to_owned())),
            listed => listed?,
        };
        let record = Arc::new(record);
        self.index().put(&listed, Arc::clone(&record), new.sample.content());
        self.delete_older(key, &file);
        before.iter().for_each(|entry| self.forget(entry));
        Ok(record)
    }

    /// Deletes the files that a voice has under other names, as vLLM-Omni gives them. One that stays behind is older and does not count.
    fn delete_older(&self, key: &str, kept: &str) {
        let files = self.index().files_of(key);
        for file in files.iter().filter(|file| *file != kept) {
            match self.0.store.delete(file) {
                Ok(()) | Err(StoreError::NotFound) => self.index().delete(file),
                Err(error) => tracing::warn!(%error, file, "an older file of a voice stays behind"),
            }
        }
    }

    /// Deletes a voice; says whether there was one.
    pub fn remove(&self, name: &str) -> Result<bool, VoiceError> {
        let key = key_of(name);
        let _turn = self.turn(&key);
        let Some(entry) = self.look_up(&key)? else { return Ok(false) };
        let files = self.index().files_of(&key);
        let mut was_there = false;
        // The file that counts goes last: a process that ends half-way leaves the voice, not an older one.
        for file in &files {
            match self.0.store.delete(file) {
                Ok(()) => was_there = true,
                Err(StoreError::NotFound) => {}
                Err(error) => return Err(error.into()),
            }
            self.index().delete(file);
        }
        self.forget(&entry);
        Ok(was_there)
    }

    /// The turn of a voice to be changed: changes of one voice are made one after the other.
    fn turn(&self, key: &str) -> MutexGuard<'_, ()> {
        let turn = Sha256::digest(key).first().map_or(0, |byte| usize::from(*byte) % TURNS);
        self.0.turns[turn].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place for a voice that is about to be stored, if there is one.
    fn announce(&self, key: &str) -> Result<Coming<'_>, VoiceError> {
        let mut coming = self.0.coming.lock().unwrap_or_else(PoisonError::into_inner);
        if self.index().len() + coming.len() >= self.0.rules.max_voices {
            return Err(VoiceError::Full(self.0.rules.max_voices));
        }
        coming.insert(key.to_owned());
        Ok(Coming { voices: self, key: key.to_owned() })
    }

    /// A time that is later than every one given before, and than that of the voice that is replaced.
    fn issue(&self, replaced: Option<u64>) -> u64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let next = |last: u64| Some(now.max(last.saturating_add(1)));
        let last = self.0.issued.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).unwrap_or_default();
        now.max(last.saturating_add(1)).max(replaced.unwrap_or_default().saturating_add(1))
    }
}

/// A voice that is being stored and counts already.
struct Coming<'a> {
    voices: &'a Voices,
    key: String,
}

impl Drop for Coming<'_> {
    fn drop(&mut self) {
        self.voices.0.coming.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

/// The file of a key: what can be read of it, and a hash, which keeps different keys apart.
pub fn file_of(key: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    let readable: String = key.chars().take(FILE_CHARS).map(|letter| if is_plain(letter) { letter } else { '_' }).collect();
    let hash: String = Sha256::digest(key).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("{readable}-{hash}{EXTENSION}")
}
