//! Files of this machine, below the directories that the operator named.

use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use bytes::Bytes;

use super::SourceSettings;
use crate::reference::ReferenceError;

/// A file that was let through: what it is called in caches, and its content while it is open.
#[derive(Debug)]
pub struct Opened {
    /// Its real path.
    pub path: PathBuf,
    /// When it was changed last.
    pub modified: Option<SystemTime>,
    /// Its length in bytes.
    pub len: u64,
    file: File,
}

/// Opens a file if it lies below one of the roots, wherever links lead.
pub fn open(path: &Path, settings: &SourceSettings) -> Result<Opened, ReferenceError> {
    let refused = |message: String| ReferenceError::Locator(message);
    if settings.local_roots.is_empty() {
        return Err(refused("Cannot load local files without `--allowed-local-media-path`.".to_owned()));
    }
    let outside = || {
        let roots: Vec<String> = settings.local_roots.iter().map(|root| root.display().to_string()).collect();
        let (path, roots) = (path.display(), roots.join(", "));
        refused(format!("The file path {path} must be a subpath of `--allowed-local-media-path {roots}`."))
    };
    let roots: Vec<PathBuf> = settings.local_roots.iter().filter_map(|root| fs::canonicalize(root).ok()).collect();
    let is_inside = |path: &Path| roots.iter().any(|root| path.starts_with(root) && path != root);
    let Ok(real) = fs::canonicalize(path) else {
        // Whether a file exists is told of places that may be read only.
        let seems_inside = is_inside(&plain(path)) || settings.local_roots.iter().any(|root| plain(path).starts_with(plain(root)));
        return Err(if seems_inside { refused(format!("The file {} cannot be read", path.display())) } else { outside() });
    };
    if !is_inside(&real) {
        return Err(outside());
    }
    let unreadable = |_| refused(format!("The file {} cannot be read", path.display()));
    // Neither a link that was put there since nor a pipe that nobody writes to.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(&real).map_err(unreadable)?;
    let about = file.metadata().map_err(unreadable)?;
    if !about.is_file() {
        return Err(refused(format!("{} is not a file", path.display())));
    }
    if about.len() > settings.bytes as u64 {
        return Err(ReferenceError::TooLarge { limit_bytes: settings.bytes });
    }
    Ok(Opened { path: real, modified: about.modified().ok(), len: about.len(), file })
}

impl Opened {
    /// Its content; one that grows meanwhile past `limit` is refused.
    pub fn read(self, limit: usize) -> Result<Bytes, ReferenceError> {
        let mut bytes = Vec::new();
        let read = self.file.take(limit as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|error| ReferenceError::Locator(format!("The file {} cannot be read: {error}", self.path.display())))?;
        if bytes.len() > limit {
            return Err(ReferenceError::TooLarge { limit_bytes: limit });
        }
        Ok(bytes.into())
    }
}

/// A path without its `.` and `..`, looked at as text alone.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_what_lies_below_a_root_is_read_whatever_it_is_called() {
        let directory = tempfile::tempdir().expect("a directory");
        let (root, outside) = (directory.path().join("media"), directory.path().join("secret.wav"));
        fs::create_dir_all(root.join("deep")).expect("directories");
        fs::write(root.join("deep/a.wav"), b"sound").expect("a file");
        fs::write(&outside, b"secret").expect("a file");
        symlink(&outside, root.join("link.wav")).expect("a link");
        symlink(root.join("deep"), root.join("inner")).expect("a link");
        symlink("/proc/self/environ", root.join("proc.wav")).expect("a link");
        let settings = SourceSettings { local_roots: vec![root.clone()], bytes: 100, ..SourceSettings::default() };
        let read = |path: &Path| open(path, &settings).and_then(|opened| opened.read(100));
        for path in ["deep/a.wav", "inner/a.wav", "deep/../deep/./a.wav"] {
            assert_eq!(read(&root.join(path)), Ok(Bytes::from_static(b"sound")), "{path}");
        }
        for path in [
            root.join("link.wav"),
            root.join("../secret.wav"),
            root.join("proc.wav"),
            outside.clone(),
            root.clone(),
            PathBuf::from("/etc/passwd"),
            PathBuf::from("/nowhere/at/all"),
            root.join("../nowhere"),
        ] {
            let error = read(&path).expect_err("it is outside").to_string();
            assert!(error.contains("must be a subpath of"), "{}: {error}", path.display());
        }
        for (path, part) in [("gone.wav", "cannot be read"), ("deep", "is not a file")] {
            let error = read(&root.join(path)).expect_err("it is no file").to_string();
            assert!(error.contains(part), "{path}: {error}");
        }
        fs::write(root.join("large.wav"), vec![0; 101]).expect("a file");
        assert_eq!(read(&root.join("large.wav")), Err(ReferenceError::TooLarge { limit_bytes: 100 }));
        let error = open(&outside, &SourceSettings::default()).expect_err("no root").to_string();
        assert_eq!(error, "Cannot load local files without `--allowed-local-media-path`.");
    }

    #[test]
    fn a_pipe_is_refused_at_once() {
        let directory = tempfile::tempdir().expect("a directory");
        let pipe = directory.path().join("pipe.wav");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
        let settings = SourceSettings { local_roots: vec![directory.path().to_owned()], ..SourceSettings::default() };
        assert!(open(&pipe, &settings).expect_err("a pipe").to_string().contains("is not a file"));
    }
}
