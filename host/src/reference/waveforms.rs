//! Decoded clips, kept while there is room.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use http::Uri;

use super::Clip;
use super::budget::Budgeted;

/// How long a download counts as what its URL holds.
const WEB_LIFETIME: Duration = Duration::from_secs(300);

/// What a clip is known by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum WaveKey {
    /// SHA-256 of its encoded bytes.
    Content([u8; 32]),
    /// Where it was downloaded from.
    Web(Uri),
    /// The file it was read from, as it was then.
    File(PathBuf, Option<SystemTime>, u64),
}

/// The clips.
pub struct Waveforms(Mutex<Budgeted<WaveKey, Kept>>);

#[derive(Clone)]
struct Kept {
    clip: Arc<Clip>,
    until: Option<Instant>,
}

impl Waveforms {
    /// Room for so many bytes of samples.
    pub fn new(bytes: usize) -> Self {
        Self(Mutex::new(Budgeted::new("waveforms", bytes)))
    }

    fn kept(&self) -> MutexGuard<'_, Budgeted<WaveKey, Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A clip that is kept and still counts.
    pub fn get(&self, key: &WaveKey) -> Option<Arc<Clip>> {
        let found = self.kept().get(key)?;
        found.until.is_none_or(|until| Instant::now() < until).then_some(found.clip)
    }

    /// Keeps a clip under this key, and under its content.
    pub fn put(&self, key: WaveKey, clip: &Arc<Clip>) {
        let until = matches!(key, WaveKey::Web(_)).then(|| Instant::now() + WEB_LIFETIME);
        let mut kept = self.kept();
        let content = WaveKey::Content(clip.sha256);
        if key != content {
            kept.put(key, Kept { clip: Arc::clone(clip), until }, clip.bytes());
        }
        kept.put(content, Kept { clip: Arc::clone(clip), until: None }, clip.bytes());
    }

    /// Forgets a clip, under whatever name.
    pub fn forget(&self, content: &[u8; 32]) {
        self.kept().remove_where(|_, kept| kept.clip.sha256 == *content);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clip_is_found_under_its_place_and_its_content_and_forgotten_under_both() {
        let waveforms = Waveforms::new(1 << 20);
        let clip = Arc::new(Clip { samples: vec![0.5; 100], sample_rate_hz: 8_000, sha256: [7; 32] });
        let web = WaveKey::Web(Uri::from_static("http://host/a"));
        let file = |len| WaveKey::File(PathBuf::from("/a"), None, len);
        waveforms.put(web.clone(), &clip);
        waveforms.put(file(1), &clip);
        for key in [&web, &file(1), &WaveKey::Content([7; 32])] {
            assert!(waveforms.get(key).is_some(), "{key:?}");
        }
        assert!(waveforms.get(&file(2)).is_none(), "a file that was changed is another");
        waveforms.forget(&[7; 32]);
        assert!(waveforms.get(&web).is_none() && waveforms.get(&file(1)).is_none());
        assert_eq!(waveforms.kept().bytes(), 0);
    }
}
