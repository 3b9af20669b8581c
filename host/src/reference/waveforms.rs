//! Decoded clips, kept while there is room: by the bytes they were decoded from, and by where those came from.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use http::Uri;
use lru::LruCache;

use super::budget::Budgeted;
use super::{Clip, ContentId};

/// How long a download counts as what its URL holds.
const WEB_LIFETIME: Duration = Duration::from_secs(300);
/// Most origins that are remembered.
const MAX_ORIGINS: usize = 4096;

/// Where the bytes of a clip came from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Origin {
    /// What was downloaded there.
    Web(Uri),
    /// A file, as it was then.
    File(PathBuf, Option<SystemTime>, u64),
}

/// SHA-256 of encoded bytes.
pub type Encoded = [u8; 32];

/// The clips.
pub struct Waveforms(Mutex<State>);

struct State {
    clips: Budgeted<Encoded, Arc<Clip>>,
    origins: LruCache<Origin, Held>,
}

/// What an origin held when it was looked at.
struct Held {
    encoded: Encoded,
    until: Option<Instant>,
}

impl Waveforms {
    /// Room for so many bytes of samples.
    pub fn new(bytes: usize) -> Self {
        Self(Mutex::new(State { clips: Budgeted::new("waveforms", bytes), origins: LruCache::unbounded() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The clip from there, if it is kept and what is known of the origin still counts.
    pub fn at(&self, origin: &Origin) -> Option<Arc<Clip>> {
        let mut state = self.state();
        let held = state.origins.get(origin).filter(|held| held.until.is_none_or(|until| Instant::now() < until))?;
        let encoded = held.encoded;
        state.clips.get(&encoded)
    }

    /// The clip in these bytes, if it is kept.
    pub fn of(&self, encoded: &Encoded) -> Option<Arc<Clip>> {
        self.state().clips.get(encoded)
    }

    /// Keeps the clip in these bytes, and where they came from.
    pub fn put(&self, origin: Option<Origin>, encoded: Encoded, clip: &Arc<Clip>) {
        let mut state = self.state();
        if let Some(origin) = origin {
            let until = matches!(origin, Origin::Web(_)).then(|| Instant::now() + WEB_LIFETIME);
            state.origins.put(origin, Held { encoded, until });
        }
        while state.origins.len() > MAX_ORIGINS {
            state.origins.pop_lru();
        }
        state.clips.put(encoded, Arc::clone(clip), clip.bytes());
    }

    /// Forgets a sound, however it was encoded.
    pub fn forget(&self, content: &ContentId) {
        self.state().clips.remove_where(|_, clip| clip.content() == *content);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clip_is_found_by_its_bytes_and_its_origins_counted_once_and_forgotten() {
        let waveforms = Waveforms::new(1 << 20);
        let clip = Arc::new(Clip::new(vec![0.5; 100], 8_000));
        let web = Origin::Web(Uri::from_static("http://host/a"));
        let file = |len| Origin::File(PathBuf::from("/a"), None, len);
        for origin in [Some(web.clone()), Some(file(1)), None] {
            waveforms.put(origin, [7; 32], &clip);
        }
        assert!(waveforms.at(&web).is_some() && waveforms.at(&file(1)).is_some() && waveforms.of(&[7; 32]).is_some());
        assert_eq!(waveforms.state().clips.bytes(), 400, "one clip under several names is kept once");
        assert!(waveforms.at(&file(2)).is_none(), "a file that was changed is another");
        waveforms.put(None, [8; 32], &clip);
        waveforms.forget(&clip.content());
        assert!(waveforms.at(&web).is_none() && waveforms.of(&[7; 32]).is_none() && waveforms.of(&[8; 32]).is_none());
        assert_eq!(waveforms.state().clips.bytes(), 0);
    }

    #[test]
    fn what_a_url_held_counts_for_a_while_and_origins_are_bounded() {
        let waveforms = Waveforms::new(1 << 20);
        let clip = Arc::new(Clip::new(vec![0.5; 100], 8_000));
        let web = Origin::Web(Uri::from_static("http://host/a"));
        waveforms.put(Some(web.clone()), [7; 32], &clip);
        waveforms.state().origins.put(web.clone(), Held { encoded: [7; 32], until: Some(Instant::now()) });
        assert!(waveforms.at(&web).is_none(), "it is asked for again");
        for len in 0..2 * MAX_ORIGINS as u64 {
            waveforms.put(Some(Origin::File(PathBuf::from("/a"), None, len)), [7; 32], &clip);
        }
        assert_eq!(waveforms.state().origins.len(), MAX_ORIGINS);
    }
}
