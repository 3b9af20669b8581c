//! Checkpoints by model id: `org/name`, or `org/name@revision`, found in the local cache of the Hugging Face tools.
//!
//! The cache is shared with those tools: `models--org--name/` holds `refs/<revision>`, a file with a commit, and `snapshots/<commit>/`,
//! the files. Nothing is fetched unless the operator allows it ([`Hub::with_download`]); then missing files are put into the same cache.

mod cache;
mod download;
mod fetch;
#[cfg(test)]
mod server;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::observe::LoadProgress;

/// Where models are looked for.
#[derive(Clone, Default)]
pub struct Hub {
    cache: Option<PathBuf>,
    download: Option<Download>,
}

/// How missing models are fetched.
#[derive(Clone)]
struct Download {
    endpoint: String,
    token: Option<String>,
    progress: Arc<dyn LoadProgress>,
}

/// Why a model id gives no checkpoint.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// Neither a folder nor an id.
    #[error("'{0}' is neither a directory nor a model id such as org/name or org/name@revision")]
    NotAnId(String),
    /// There is no cache to look in.
    #[error("'{0}' is not a directory, and there is no hub cache to look for a model id in: set HF_HUB_CACHE or HF_HOME")]
    NoCache(String),
    /// The cache has no such model.
    #[error("'{model}' is neither a directory nor a model id in the hub cache '{}'{hint}", cache.display())]
    NotCached {
        /// As asked for.
        model: String,
        /// Where it was looked for.
        cache: PathBuf,
        /// What could be done.
        hint: &'static str,
    },
    /// A download failed.
    #[error("'{model}' could not be downloaded: {reason}")]
    Download {
        /// As asked for.
        model: String,
        /// Why.
        reason: String,
    },
}

/// A model id in its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Id {
    name: String,
    revision: String,
}

impl Hub {
    /// The cache that the environment names; nothing is downloaded.
    pub fn from_environment() -> Self {
        let value = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        Self::from_variables(&value)
    }

    fn from_variables(value: &dyn Fn(&str) -> Option<String>) -> Self {
        Self { cache: cache::folder(value), download: None }
    }

    /// The same, with missing models fetched from the hub. `HF_HUB_OFFLINE` forbids it.
    #[must_use]
    pub fn with_download(self, progress: Arc<dyn LoadProgress>) -> Self {
        let value = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        self.with_download_from(&value, progress)
    }

    fn with_download_from(self, value: &dyn Fn(&str) -> Option<String>, progress: Arc<dyn LoadProgress>) -> Self {
        if cache::is_offline(value) {
            return Self { download: None, ..self };
        }
        let download = Download { endpoint: cache::endpoint(value), token: cache::token(value), progress };
        Self { download: Some(download), ..self }
    }

    /// The folder of a checkpoint: `model` itself if it is one, else the snapshot of that id.
    pub fn resolve(&self, model: &Path) -> Result<PathBuf, HubError> {
        if model.is_dir() {
            return Ok(model.to_owned());
        }
        let shown = model.display().to_string();
        let id = model.to_str().and_then(Id::parse).ok_or_else(|| HubError::NotAnId(shown.clone()))?;
        let cache = self.cache.as_deref().ok_or_else(|| HubError::NoCache(shown.clone()))?;
        match &self.download {
            Some(download) => download.snapshot(cache, &id).map_err(|reason| HubError::Download { model: shown, reason }),
            None => cache::snapshot(cache, &id).ok_or_else(|| {
                let hint = "; --download fetches it, unless HF_HUB_OFFLINE forbids it";
                HubError::NotCached { model: shown, cache: cache.to_owned(), hint }
            }),
        }
    }
}

impl Id {
    /// Parses `name`, `org/name` and either with `@revision`. Letters, digits and `-_.` only, so that no id leaves the cache's folder.
    fn parse(text: &str) -> Option<Self> {
        let (name, revision) = text.split_once('@').unwrap_or((text, "main"));
        let is_part = |part: &str| {
            let known = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
            !part.is_empty() && part.len() <= 96 && part.chars().all(known) && part.chars().any(|letter| letter != '.')
        };
        let parts = name.split('/').count();
        let is_id = parts <= 2 && name.split('/').all(is_part) && revision.split('/').all(is_part);
        is_id.then(|| Self { name: name.to_owned(), revision: revision.to_owned() })
    }

    /// The folder of the model inside a cache.
    fn folder(&self, cache: &Path) -> PathBuf {
        cache.join(format!("models--{}", self.name.replace('/', "--")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_at_most_two_parts_and_never_lead_out_of_the_cache() {
        let id = |name: &str, revision: &str| Some(Id { name: name.into(), revision: revision.into() });
        assert_eq!(Id::parse("acme/voice"), id("acme/voice", "main"));
        assert_eq!(Id::parse("voice"), id("voice", "main"));
        assert_eq!(Id::parse("acme/voice-1.5_x@refs/pr/1"), id("acme/voice-1.5_x", "refs/pr/1"));
        for text in ["", "a/b/c", "../voice", "acme/..", "acme/voice@", "acme/voice@../x", "acme//voice", "a\\b", "a b", "/etc"] {
            assert_eq!(Id::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_folder_is_itself_and_what_is_neither_says_so() {
        let hub = tempfile::tempdir().expect("a folder");
        let with_cache = Hub { cache: Some(hub.path().to_owned()), download: None };
        assert_eq!(with_cache.resolve(hub.path()).expect("a folder"), hub.path());
        let told = |hub: &Hub, model: &str| hub.resolve(Path::new(model)).expect_err("it is not there").to_string();
        assert!(told(&with_cache, "acme/voice").contains("--download"), "{}", told(&with_cache, "acme/voice"));
        assert!(told(&with_cache, "/no/such/folder").contains("neither a directory nor a model id"));
        assert!(told(&Hub::default(), "acme/voice").contains("no hub cache"));
    }
}
