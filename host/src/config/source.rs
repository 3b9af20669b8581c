//! Finding and reading the files that are named.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{ConfigError, packaged, yaml};

/// A deploy file: where it was found and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The file as messages name it.
    pub name: Arc<str>,
    /// The text.
    pub text: String,
    place: Place,
}

/// Where a file lies, which decides what a path in it is relative to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Disk(PathBuf),
    Packaged(&'static str),
    Family,
}

impl Source {
    /// The file of a command line: a path, or the bare name of a file in this folder or of a packaged one, with or without `.yaml`.
    pub fn open(reference: &str) -> Result<Self, ConfigError> {
        find(reference, Path::new(""))
    }

    /// A packaged file by its name without `.yaml`.
    pub fn packaged(name: &str) -> Option<Self> {
        let (name, text) = packaged::find(name)?;
        Some(Self { name: format!("deploy/{name}.yaml").into(), text: text.to_owned(), place: Place::Packaged(name) })
    }

    /// The file that a family carries.
    pub fn of_family(family: &str, text: &str) -> Self {
        Self { name: format!("the deploy file of {family}").into(), text: text.to_owned(), place: Place::Family }
    }

    /// A text under a name, for tests.
    #[cfg(test)]
    pub(crate) fn of_test(name: &str, text: &str) -> Self {
        Self { name: name.into(), text: text.to_owned(), place: Place::Family }
    }

    /// The base that this file names, relative to where it lies.
    pub fn base(&self, reference: &str) -> Result<Self, ConfigError> {
        match &self.place {
            Place::Disk(path) => find(reference, path.parent().unwrap_or(Path::new(""))),
            Place::Packaged(_) | Place::Family => {
                Self::packaged(stem(reference)).ok_or_else(|| not_found(reference, &["the packaged files".to_owned()]))
            }
        }
    }

    /// Whether two sources are the same file.
    pub fn is(&self, other: &Self) -> bool {
        match (&self.place, &other.place) {
            (Place::Disk(one), Place::Disk(two)) => {
                one == two || std::fs::canonicalize(one).ok().is_some_and(|one| std::fs::canonicalize(two).ok() == Some(one))
            }
            (one, two) => one == two,
        }
    }
}

fn find(reference: &str, folder: &Path) -> Result<Source, ConfigError> {
    let path = folder.join(reference);
    if is_readable(&path) {
        return read(path);
    }
    let with_end = folder.join(format!("{reference}.yaml"));
    if is_readable(&with_end) {
        return read(with_end);
    }
    let is_bare = Path::new(reference).components().count() == 1 && !reference.starts_with(['.', '/']);
    let mut tried = vec![path.display().to_string()];
    if is_bare {
        tried.push("the packaged files".to_owned());
    }
    let packaged = if is_bare { Source::packaged(stem(reference)) } else { None };
    packaged.ok_or_else(|| not_found(reference, &tried))
}

/// A file, or a pipe such as the one a shell makes of `<(...)`.
fn is_readable(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| !found.is_dir())
}

fn read(path: PathBuf) -> Result<Source, ConfigError> {
    let name: Arc<str> = path.display().to_string().into();
    let mut text = String::new();
    let limit = yaml::MAX_BYTES as u64 + 1;
    let read = File::open(&path).and_then(|file| file.take(limit).read_to_string(&mut text));
    match read {
        Ok(_) => Ok(Source { name, text, place: Place::Disk(path) }),
        Err(error) => Err(ConfigError::file(&name, format!("expected a readable text file, found: {error}"))),
    }
}

fn not_found(reference: &str, tried: &[String]) -> ConfigError {
    let near = packaged::near(stem(reference)).map(|name| format!("; did you mean {name}")).unwrap_or_default();
    ConfigError::file(&reference.into(), format!("expected a deploy file, found none: tried {}{near}", tried.join(" and ")))
}

fn stem(reference: &str) -> &str {
    let name = Path::new(reference).file_name().and_then(|name| name.to_str()).unwrap_or(reference);
    name.strip_suffix(".yaml").or_else(|| name.strip_suffix(".yml")).unwrap_or(name)
}
