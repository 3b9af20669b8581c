//! A lock between processes: several test binaries may run at once and share a build folder and a Python environment.

use std::fs::{self, File};
use std::path::Path;

/// Holds an exclusive lock on a file until dropped.
#[derive(Debug)]
pub struct FileLock {
    _file: File,
}

impl FileLock {
    /// Waits for the lock on `path`, making the file and its folder where they are missing.
    ///
    /// # Panics
    /// When the file cannot be made or locked.
    pub fn wait(path: &Path) -> Self {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).unwrap_or_else(|error| panic!("cannot make {}: {error}", folder.display()));
        }
        let file = File::create(path).unwrap_or_else(|error| panic!("cannot open {}: {error}", path.display()));
        file.lock().unwrap_or_else(|error| panic!("cannot lock {}: {error}", path.display()));
        Self { _file: file }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_holder_has_to_wait() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("deep/lock");
        let held = FileLock::wait(&path);
        let other = File::open(&path).expect("the lock file exists");
        assert!(other.try_lock().is_err(), "the lock was given twice");
        drop(held);
        assert!(other.try_lock().is_ok(), "the lock was not given back");
    }
}
