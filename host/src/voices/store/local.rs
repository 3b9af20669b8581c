//! Voices in a folder, which several hosts may share.
//!
//! A file is written aside under a name that no listing shows, flushed to the disk, and moved into place in one step; then the folder is
//! flushed. Whenever the process or the machine ends, there is the old file or the new one.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{Content, DAMAGED, EXTENSION, Listed, Put, StoreError, VoiceStore};

/// How files begin that are being written.
const WRITING: &str = ".omni-writing-";
/// Age at which such a file was left behind by a process that is gone.
const LEFT_BEHIND: Duration = Duration::from_secs(3600);
/// How often to look for changes by others.
const POLL: Duration = Duration::from_secs(1);

/// A folder of voices. It is made when the first voice is stored.
pub struct LocalStore {
    folder: PathBuf,
}

impl LocalStore {
    /// The voices of a folder. What a process that was killed left half-written there is cleared away.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let store = Self { folder: folder.into() };
        store.clear_left_behind();
        store
    }

    fn path(&self, file: &str) -> Result<PathBuf, StoreError> {
        let is_plain = !file.is_empty() && !file.starts_with('.') && !file.contains(['/', '\\', '\0']);
        if is_plain { Ok(self.folder.join(file)) } else { Err(StoreError::Failed(format!("'{file}' is no file of a voice"))) }
    }

    fn clear_left_behind(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        for entry in entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(WRITING)) {
            let age = entry.metadata().and_then(|metadata| metadata.modified()).ok().and_then(|modified| modified.elapsed().ok());
            if age.is_some_and(|age| age > LEFT_BEHIND)
                && let Err(error) = fs::remove_file(entry.path())
            {
                tracing::debug!(%error, file = %entry.path().display(), "a half-written voice stays behind");
            }
        }
    }

    /// Writes a file aside and flushes it.
    fn write_aside(&self, bytes: &[u8]) -> Result<(Aside, Metadata), io::Error> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let aside = Aside(self.folder.join(format!("{WRITING}{}-{:016x}", std::process::id(), fastrand::u64(..))));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&aside.0)?;
        file.write_all(bytes)?;
        // The kernel's own stamp is as coarse as its clock ticks; two versions of a file must never look the same.
        file.set_modified(SystemTime::now())?;
        file.sync_all()?;
        let metadata = file.metadata()?;
        Ok((aside, metadata))
    }

    fn flush_folder(&self) -> io::Result<()> {
        File::open(&self.folder)?.sync_all()
    }
}

impl VoiceStore for LocalStore {
    fn list(&self) -> Result<Vec<Listed>, StoreError> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| failed(&error))?,
        };
        let mut files = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| failed(&error))?;
            let name = entry.file_name().into_string().unwrap_or_default();
            if !name.ends_with(EXTENSION) || name.starts_with('.') {
                continue;
            }
            // One that is gone by now was deleted by another host.
            if let Ok(metadata) = fs::metadata(entry.path())
                && metadata.is_file()
            {
                files.push(listed(&name, &metadata));
            }
        }
        Ok(files)
    }

    fn read(&self, file: &str, limit: u64) -> Result<Content, StoreError> {
        let opened = open(&self.path(file)?).map_err(|error| failed(&error))?;
        let metadata = opened.metadata().map_err(|error| failed(&error))?;
        if !metadata.is_file() {
            return Err(StoreError::NotFound);
        }
        let len = metadata.len().min(limit);
        let mut bytes = Vec::with_capacity(usize::try_from(len).unwrap_or_default());
        opened.take(limit).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
        Ok(Content { bytes, listed: listed(file, &metadata) })
    }

    fn put(&self, file: &str, bytes: Vec<u8>, put: Put) -> Result<Listed, StoreError> {
        let path = self.path(file)?;
        let (aside, metadata) = self.write_aside(&bytes).map_err(|error| failed(&error))?;
        match put {
            Put::Replace => fs::rename(&aside.0, &path),
            Put::IfAbsent => fs::hard_link(&aside.0, &path),
        }
        .and_then(|()| self.flush_folder())
        .map_err(|error| failed(&error))?;
        Ok(listed(file, &metadata))
    }

    fn delete(&self, file: &str) -> Result<(), StoreError> {
        fs::remove_file(self.path(file)?).and_then(|()| self.flush_folder()).map_err(|error| failed(&error))
    }

    fn set_aside(&self, damaged: &Listed) -> Result<String, StoreError> {
        let aside = format!("{}{DAMAGED}", damaged.file);
        let (from, to) = (self.path(&damaged.file)?, self.path(&aside)?);
        fs::rename(&from, &to).map_err(|error| failed(&error))?;
        let moved = fs::metadata(&to).map_err(|error| failed(&error))?;
        if listed(&damaged.file, &moved).version != damaged.version {
            // Another host has just put a new one there: back with it, unless there is a newer one still.
            let back = fs::hard_link(&to, &from).and_then(|()| fs::remove_file(&to));
            return back.map_err(|error| failed(&error)).and(Err(StoreError::NotFound));
        }
        self.flush_folder().map_err(|error| failed(&error)).map(|()| aside)
    }

    fn obstacle(&self) -> Option<String> {
        // The folder is made for the first voice: until then it is the one above it that counts.
        let folder = self.folder.ancestors().find(|folder| folder.is_dir())?;
        // A file without a name, of which nothing is left. Where there is no such thing nothing can be told.
        let nameless = OpenOptions::new().write(true).custom_flags(libc::O_TMPFILE).open(folder);
        let is_obstacle = |error: &io::Error| matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem);
        nameless.err().filter(is_obstacle).map(|error| format!("{}: {error}", folder.display()))
    }

    fn place(&self) -> String {
        self.folder.display().to_string()
    }

    fn poll_every(&self) -> Option<Duration> {
        Some(POLL)
    }
}

/// A file that is being written; whatever is left of it when it is dropped is deleted.
struct Aside(PathBuf);

impl Drop for Aside {
    fn drop(&mut self) {
        // A file that was moved into place is not there any more.
        if let Err(error) = fs::remove_file(&self.0)
            && error.kind() != ErrorKind::NotFound
        {
            tracing::warn!(%error, file = %self.0.display(), "a half-written voice stays behind");
        }
    }
}

/// Opens a file for reading without waiting for a writer, should it be a pipe.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)
}

fn listed(file: &str, metadata: &Metadata) -> Listed {
    // Moving a file keeps these, so the version of what was put is known before others may replace it.
    let version = format!("{:x}-{}-{}-{}", metadata.ino(), metadata.len(), metadata.mtime(), metadata.mtime_nsec());
    Listed { file: file.to_owned(), version, bytes: metadata.len(), modified: metadata.modified().ok() }
}

fn failed(error: &io::Error) -> StoreError {
    match error.kind() {
        ErrorKind::NotFound => StoreError::NotFound,
        ErrorKind::AlreadyExists => StoreError::Exists,
        _ => StoreError::Failed(error.to_string()),
    }
}
