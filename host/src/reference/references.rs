//! All of it together: from a locator to a clip, from a clip to what a model makes of it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Uri;
use sha2::{Digest, Sha256};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::source::{Download, Locator, SourceSettings, open};
use super::waveforms::{Origin, Waveforms};
use super::{Clip, ContentId, DEFAULT_BYTES, DecodeLimits, FeatureKey, Features, Profiles, ReferenceError, Tensors, decode};
use crate::engine::{Served, SpeechError};

/// How long a clip waits for a thread before its request is told to come again.
const WAIT: Duration = Duration::from_secs(10);

/// What may be fetched, how large it may be, and what is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceSettings {
    /// What may be fetched.
    pub source: SourceSettings,
    /// Bounds of a decode.
    pub limits: DecodeLimits,
    /// Bytes of features that are kept.
    pub feature_bytes: usize,
    /// Bytes of decoded clips that are kept.
    pub waveform_bytes: usize,
    /// Downloads at once, and decodes at once.
    pub threads: usize,
    /// A folder of speakers' vectors.
    pub profiles: Option<PathBuf>,
}

impl Default for ReferenceSettings {
    fn default() -> Self {
        Self {
            source: SourceSettings::default(),
            limits: DecodeLimits::default(),
            feature_bytes: DEFAULT_BYTES,
            waveform_bytes: 512 << 20,
            threads: 8,
            profiles: None,
        }
    }
}

/// Reference audio of a server. Cheap to clone.
#[derive(Clone)]
pub struct References(Arc<Inner>);

struct Inner {
    settings: ReferenceSettings,
    waveforms: Waveforms,
    features: Features,
    downloads: Arc<Semaphore>,
    decodes: Arc<Semaphore>,
    profiles: Option<Profiles>,
}

impl Default for References {
    fn default() -> Self {
        Self::new(ReferenceSettings::default())
    }
}

impl References {
    /// With nothing kept yet.
    pub fn new(settings: ReferenceSettings) -> Self {
        let (waveforms, features) = (Waveforms::new(settings.waveform_bytes), Features::new(settings.feature_bytes));
        let threads = || Arc::new(Semaphore::new(settings.threads.max(1)));
        let (downloads, decodes) = (threads(), threads());
        let profiles = settings.profiles.as_ref().map(Profiles::new);
        Self(Arc::new(Inner { settings, waveforms, features, downloads, decodes, profiles }))
    }

    /// What models made of clips.
    pub fn features(&self) -> &Features {
        &self.0.features
    }

    /// The clip that a client means: fetched, decoded and checked, or kept from another time. Dropping the future ends a download.
    pub async fn clip(&self, locator: &str) -> Result<Arc<Clip>, ReferenceError> {
        let (text, limit) = (locator.to_owned(), self.0.settings.source.bytes);
        match self.work(&self.0.decodes, move || Locator::read(&text, limit)).await? {
            Locator::Inline(bytes) => self.decode(bytes).await,
            Locator::Web(uri) => self.on_the_web(uri).await,
            Locator::File(path) => {
                let references = self.clone();
                self.work(&self.0.decodes, move || references.in_a_file(&path)).await
            }
        }
    }

    /// The clip in a file's bytes, decoded now or kept from another time.
    pub async fn decode(&self, bytes: Bytes) -> Result<Arc<Clip>, ReferenceError> {
        let references = self.clone();
        self.work(&self.0.decodes, move || references.decoded(None, bytes)).await
    }

    async fn on_the_web(&self, uri: Uri) -> Result<Arc<Clip>, ReferenceError> {
        let origin = Origin::Web(uri.clone());
        if let Some(clip) = self.0.waveforms.at(&origin) {
            return Ok(clip);
        }
        let (download, hang_up) = Download::new(&self.0.settings.source);
        let bytes = self.work(&self.0.downloads, move || download.fetch(&uri)).await?;
        drop(hang_up);
        let references = self.clone();
        self.work(&self.0.decodes, move || references.decoded(Some(origin), bytes)).await
    }

    fn in_a_file(&self, path: &std::path::Path) -> Result<Arc<Clip>, ReferenceError> {
        let opened = open(path, &self.0.settings.source)?;
        let origin = Origin::File(opened.path.clone(), opened.modified, opened.len);
        match self.0.waveforms.at(&origin) {
            Some(clip) => Ok(clip),
            None => self.decoded(Some(origin), opened.read(self.0.settings.source.bytes)?),
        }
    }

    /// Decodes bytes that came from somewhere, unless they were decoded before. It blocks.
    fn decoded(&self, origin: Option<Origin>, bytes: Bytes) -> Result<Arc<Clip>, ReferenceError> {
        let encoded = Sha256::digest(&bytes).into();
        let clip = match self.0.waveforms.of(&encoded) {
            Some(clip) => clip,
            None => Arc::new(decode(bytes, &self.0.settings.limits)?),
        };
        self.0.waveforms.put(origin, encoded, &clip);
        Ok(clip)
    }

    /// Runs work that blocks, when one of these threads is free.
    async fn work<T: Send + 'static>(
        &self,
        threads: &Arc<Semaphore>,
        work: impl FnOnce() -> Result<T, ReferenceError> + Send + 'static,
    ) -> Result<T, ReferenceError> {
        let permit: OwnedSemaphorePermit = match tokio::time::timeout(WAIT, Arc::clone(threads).acquire_owned()).await {
            Ok(Ok(permit)) => permit,
            Ok(Err(_)) | Err(_) => return Err(ReferenceError::Busy),
        };
        let done = tokio::task::spawn_blocking(move || {
            // Held by the thread, which may outlive who asked for the work.
            let _permit = permit;
            work()
        });
        done.await.unwrap_or_else(|error| Err(ReferenceError::Ours(format!("a thread of references was lost: {error}"))))
    }

    /// What a model makes of a clip, made now or kept from another time.
    pub async fn tensors(&self, model: &Arc<Served>, clip: &Arc<Clip>, transcript: Option<&str>) -> Result<Tensors, SpeechError> {
        let transcript = transcript.map(str::to_owned);
        let key = FeatureKey { content: clip.content(), model: model.id.clone(), transcript: transcript.clone() };
        let (model, clip) = (Arc::clone(model), Arc::clone(clip));
        let encode = || async move { model.encode_reference(clip, transcript).await };
        self.0.features.get_or_encode(key, encode).await
    }

    /// The vector of a speaker of the folder of profiles, as it is there now.
    pub async fn profile(&self, name: &str) -> Result<Option<Vec<f32>>, ReferenceError> {
        let Some(profiles) = self.0.profiles.clone() else { return Ok(None) };
        let name = name.to_owned();
        self.work(&self.0.decodes, move || profiles.find(&name).map_err(ReferenceError::Unusable)).await
    }

    /// The names of the folder of profiles.
    pub async fn profile_names(&self) -> Result<Vec<String>, ReferenceError> {
        let Some(profiles) = self.0.profiles.clone() else { return Ok(Vec::new()) };
        self.work(&self.0.decodes, move || Ok(profiles.names())).await
    }

    /// Forgets a sound and all that was made of it.
    pub fn forget(&self, content: &ContentId) {
        self.0.waveforms.forget(content);
        self.0.features.forget(content);
    }
}

/// What a client is told of a reference that cannot be used.
pub fn refusal(error: &ReferenceError) -> SpeechError {
    let message = error.to_string();
    match error {
        ReferenceError::Busy => SpeechError::Unavailable { message, retry_after_s: 1 },
        ReferenceError::Ours(_) => SpeechError::failed(message),
        _ => SpeechError::Invalid { field: Some("ref_audio".to_owned()), message },
    }
}
