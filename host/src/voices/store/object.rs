//! Voices in a bucket of an S3-compatible object store, which any number of hosts may share.
//!
//! A put is whole or not at all, and one that must not replace anything says so to the store (`If-None-Match: *`), which decides between
//! several hosts at once. Credentials, region and endpoint are the usual variables (`AWS_ACCESS_KEY_ID`, `AWS_REGION`, `AWS_ENDPOINT_URL` …).

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::TryStreamExt;
use object_store::aws::AmazonS3Builder;
use object_store::path::Path;
use object_store::{Error, GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, RetryConfig};
use tokio::runtime::{Builder, Runtime};

use super::{Content, DAMAGED, EXTENSION, Listed, Put, StoreError, VoiceStore};

/// How often to look for changes by others.
const POLL: Duration = Duration::from_secs(2);
/// How often a request is tried again, and for how long altogether.
const RETRIES: usize = 3;
const PATIENCE: Duration = Duration::from_secs(15);
/// The scheme of an address.
const SCHEME: &str = "s3://";

/// A bucket of voices.
pub struct ObjectVoices {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    place: String,
    /// None only while it is dropped, which may happen where a runtime must not be waited for.
    runtime: Option<Runtime>,
}

impl ObjectVoices {
    /// The voices below `s3://bucket/prefix`, with what the environment sets.
    pub fn open(address: &str) -> Result<Self, StoreError> {
        Self::open_with(address, &[])
    }

    /// The same with settings, called as the variables are, in any case, that win over the environment.
    pub fn open_with(address: &str, settings: &[(&str, &str)]) -> Result<Self, StoreError> {
        let rest = address.strip_prefix(SCHEME).unwrap_or(address);
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(StoreError::Failed(format!("expected {SCHEME}BUCKET/PREFIX, found '{address}'")));
        }
        // The client brings no TLS of its own. Somebody else may have chosen one for the process already, which does as well.
        drop(rustls::crypto::ring::default_provider().install_default());
        let retry = RetryConfig { max_retries: RETRIES, retry_timeout: PATIENCE, ..RetryConfig::default() };
        let unusable = |error: Error| StoreError::Failed(format!("{address} cannot be used: {error}"));
        let mut builder = AmazonS3Builder::from_env().with_bucket_name(bucket).with_retry(retry);
        for (key, value) in settings {
            builder = builder.with_config(key.to_ascii_lowercase().parse().map_err(unusable)?, *value);
        }
        let store = builder.build().map_err(unusable)?;
        let prefix = Path::parse(prefix.trim_end_matches('/')).map_err(|error| StoreError::Failed(error.to_string()))?;
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("voice store").enable_all().build();
        let runtime = runtime.map_err(|error| StoreError::Failed(format!("no thread for the voice store: {error}")))?;
        Ok(Self { store: Arc::new(store), prefix, place: address.to_owned(), runtime: Some(runtime) })
    }

    fn path(&self, file: &str) -> Path {
        self.prefix.clone().join(file)
    }

    /// Waits for an answer of the store.
    fn wait<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, StoreError> {
        let runtime = self.runtime.as_ref().ok_or_else(|| StoreError::Unavailable("it is closed".to_owned()))?;
        runtime.block_on(work).map_err(failed)
    }

    fn get(&self, file: &str, range: Option<GetRange>) -> Result<Content, StoreError> {
        let options = GetOptions { range, ..GetOptions::default() };
        self.wait(async {
            let found = self.store.get_opts(&self.path(file), options).await?;
            let listed = listed(file, &found.meta);
            Ok(Content { bytes: found.bytes().await?.into(), listed })
        })
    }
}

impl VoiceStore for ObjectVoices {
    fn list(&self) -> Result<Vec<Listed>, StoreError> {
        let objects: Vec<ObjectMeta> = self.wait(self.store.list(Some(&self.prefix)).try_collect())?;
        let files = objects.iter().filter_map(|meta| {
            let parts: Vec<_> = meta.location.prefix_match(&self.prefix)?.collect();
            let [file] = parts.as_slice() else { return None };
            Some(listed(file.as_ref(), meta))
        });
        Ok(files.filter(|listed| listed.file.ends_with(EXTENSION)).collect())
    }

    fn read(&self, file: &str, limit: u64) -> Result<Content, StoreError> {
        match self.get(file, Some(GetRange::Bounded(0..limit))) {
            // There is no range in nothing; an empty object is read as a whole.
            Err(StoreError::Unavailable(_)) if self.wait(self.store.head(&self.path(file)))?.size == 0 => self.get(file, None),
            content => content,
        }
    }

    fn put(&self, file: &str, bytes: Vec<u8>, put: Put) -> Result<Listed, StoreError> {
        let mode = match put {
            Put::IfAbsent => PutMode::Create,
            Put::Replace => PutMode::Overwrite,
        };
        let options = PutOptions { mode, ..PutOptions::default() };
        let (len, payload) = (bytes.len() as u64, PutPayload::from(bytes.clone()));
        let stored = match self.wait(self.store.put_opts(&self.path(file), payload, options)) {
            // A put whose answer was lost is sent again, and then finds itself.
            Err(StoreError::Exists) => {
                let there = self.get(file, None)?;
                return if there.bytes == bytes { Ok(there.listed) } else { Err(StoreError::Exists) };
            }
            stored => stored?,
        };
        Ok(Listed { file: file.to_owned(), version: stored.e_tag.unwrap_or_default(), bytes: len, modified: Some(SystemTime::now()) })
    }

    fn delete(&self, file: &str) -> Result<(), StoreError> {
        // Deleting nothing succeeds there, so it is looked up before.
        self.wait(self.store.head(&self.path(file)))?;
        self.wait(self.store.delete(&self.path(file)))
    }

    fn set_aside(&self, damaged: &Listed) -> Result<String, StoreError> {
        let aside = format!("{}{DAMAGED}", damaged.file);
        let from = self.path(&damaged.file);
        let is_still_there = || -> Result<bool, StoreError> {
            let now = self.wait(self.store.head(&from))?;
            Ok(listed(&damaged.file, &now).version == damaged.version)
        };
        if !is_still_there()? {
            return Err(StoreError::NotFound);
        }
        self.wait(self.store.copy(&from, &self.path(&aside)))?;
        if !is_still_there()? {
            return Err(StoreError::NotFound);
        }
        self.wait(self.store.delete(&from))?;
        Ok(aside)
    }

    fn place(&self) -> String {
        self.place.clone()
    }

    fn poll_every(&self) -> Option<Duration> {
        Some(POLL)
    }
}

impl Drop for ObjectVoices {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn listed(file: &str, meta: &ObjectMeta) -> Listed {
    let modified = SystemTime::from(meta.last_modified);
    Listed { file: file.to_owned(), version: meta.e_tag.clone().unwrap_or_default(), bytes: meta.size, modified: Some(modified) }
}

fn failed(error: Error) -> StoreError {
    match error {
        Error::NotFound { .. } => StoreError::NotFound,
        Error::AlreadyExists { .. } => StoreError::Exists,
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } | Error::NotSupported { .. } => {
            StoreError::Failed(error.to_string())
        }
        other => StoreError::Unavailable(other.to_string()),
    }
}
