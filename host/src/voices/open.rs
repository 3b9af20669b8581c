//! Which store the operator means.

use std::path::PathBuf;

use super::registry::Rules;
use super::store::{LocalStore, MemoryStore, StoreError, VoiceStore};
use crate::config::Environment;

/// The store that ends with the process.
const MEMORY: &str = "memory:";
/// How addresses of buckets begin.
const BUCKET: &str = "s3://";
/// Where vLLM-Omni keeps voices, below the home directory.
const BELOW_HOME: &str = ".cache/vllm-omni/speakers";

/// Opens a place: a folder, `memory:`, or `s3://bucket/prefix`.
pub fn open_store(place: &str) -> Result<Box<dyn VoiceStore>, StoreError> {
    match place {
        MEMORY => Ok(Box::new(MemoryStore::default())),
        bucket if bucket.starts_with(BUCKET) => open_bucket(bucket),
        folder => Ok(Box::new(LocalStore::new(with_home(folder)?))),
    }
}

#[cfg(feature = "object-store")]
fn open_bucket(address: &str) -> Result<Box<dyn VoiceStore>, StoreError> {
    Ok(Box::new(super::store::ObjectVoices::open(address)?))
}

#[cfg(not(feature = "object-store"))]
fn open_bucket(address: &str) -> Result<Box<dyn VoiceStore>, StoreError> {
    Err(StoreError::Failed(format!("this build has no object store ({address}); build it with --features object-store")))
}

fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| !home.as_os_str().is_empty())
}

/// A folder whose `~` is the home directory.
fn with_home(folder: &str) -> Result<PathBuf, StoreError> {
    let below = match folder.strip_prefix('~') {
        Some("") => "",
        Some(rest) if rest.starts_with('/') => rest.trim_start_matches('/'),
        _ => return Ok(PathBuf::from(folder)),
    };
    home().map(|home| home.join(below)).ok_or_else(|| StoreError::Failed(format!("'{folder}': there is no home directory")))
}

/// The place and the rules that the reference's variables set; without any, the place that vLLM-Omni uses.
pub fn settings(environment: &Environment) -> (String, Rules) {
    let below_home = || home().map_or_else(|| MEMORY.to_owned(), |home| home.join(BELOW_HOME).display().to_string());
    let place = environment.speaker_samples_dir.as_ref().map_or_else(below_home, |folder| folder.display().to_string());
    let rules = Rules { policy: environment.registration_policy, max_voices: environment.speaker_max_uploaded };
    (place, rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_known_by_its_beginning() {
        let place = |text: &str| open_store(text).expect("a store").place();
        assert_eq!(place("memory:"), "memory");
        assert_eq!(place("/voices"), "/voices");
        assert!(!place("~/voices").contains('~'));
        assert!(open_store("s3://").is_err());
    }
}
