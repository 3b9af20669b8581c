//! Where voices are kept.
//!
//! A store is a flat set of files with names. Every change is one step that happens or does not: a file is put whole, or put only where there
//! is none, or deleted. That is all that several hosts need to share a store without knowing of each other. Calls block: they are made on
//! threads that may wait.

mod local;
mod memory;
#[cfg(feature = "object-store")]
mod object;

use std::time::{Duration, SystemTime};

pub use local::LocalStore;
pub use memory::MemoryStore;
#[cfg(feature = "object-store")]
pub use object::ObjectVoices;

/// How the files of voices end.
pub const EXTENSION: &str = ".safetensors";
/// How a damaged file ends that was set aside.
pub const DAMAGED: &str = ".damaged";

/// A file in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub file: String,
    /// Changes whenever its content does.
    pub version: String,
    /// Its size.
    pub bytes: u64,
    /// When it was last changed, as far as the store knows.
    pub modified: Option<SystemTime>,
}

impl Listed {
    /// Whether nobody has written to it for so long.
    pub fn rests_for(&self, time: Duration) -> bool {
        self.modified.is_some_and(|modified| modified.elapsed().is_ok_and(|age| age >= time))
    }
}

/// The beginning of a file, or all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// What was read.
    pub bytes: Vec<u8>,
    /// The file as it was when it was read.
    pub listed: Listed,
}

/// Whether a file may replace another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// Only where there is none: of several at once, one succeeds.
    IfAbsent,
    /// In any case: of several at once, one stays.
    Replace,
}

/// Why a store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no such file.
    #[error("there is no such file")]
    NotFound,
    /// There is one already.
    #[error("there is one already")]
    Exists,
    /// The store cannot be reached, or not now.
    #[error("the voice store cannot be reached: {0}")]
    Unavailable(String),
    /// The store refuses, for example for want of space or of rights.
    #[error("{0}")]
    Failed(String),
}

/// A place for voices.
pub trait VoiceStore: Send + Sync {
    /// Every file whose name ends with [`EXTENSION`].
    fn list(&self) -> Result<Vec<Listed>, StoreError>;

    /// The first `limit` bytes of a file, or all of it if it is shorter.
    fn read(&self, file: &str, limit: u64) -> Result<Content, StoreError>;

    /// Puts a file. When this returns, it survives the end of the process and of the machine.
    fn put(&self, file: &str, bytes: Vec<u8>, put: Put) -> Result<Listed, StoreError>;

    /// Deletes a file; deleting what is not there is an error of the kind [`StoreError::NotFound`].
    fn delete(&self, file: &str) -> Result<(), StoreError>;

    /// Moves a damaged file out of the listing and keeps it; gives its new name. A file that has changed since is left alone, which is an
    /// error of the kind [`StoreError::NotFound`].
    fn set_aside(&self, damaged: &Listed) -> Result<String, StoreError>;

    /// Why nothing can be stored, as far as that can be told without storing anything.
    fn obstacle(&self) -> Option<String> {
        None
    }

    /// How the store is called in logs.
    fn place(&self) -> String;

    /// How often others may have changed it; none if nobody else can.
    fn poll_every(&self) -> Option<Duration>;
}
