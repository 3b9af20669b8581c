//! Memory for uploads: bodies are whole in memory while they are read and decoded, so there is a bound on all of them together.

use std::sync::Arc;
use std::time::Duration;

use http::header;
use http::request::Parts;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::engine::SpeechError;
use crate::http::error::ApiError;
use crate::http::limits::BodyLimits;

/// Memory for all uploads together, in MiB.
const ROOM_MIB: u32 = 256;
/// How long an upload waits for its share. A slow one is given up by then, and its share is free again.
const PATIENCE: Duration = Duration::from_secs(35);

/// The room. Cheap to clone.
#[derive(Clone)]
pub struct UploadRoom(Arc<Semaphore>);

impl Default for UploadRoom {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(ROOM_MIB as usize)))
    }
}

impl UploadRoom {
    /// Room for a body, as large as its head says, or as large as a body may be.
    pub async fn enter(&self, head: &Parts) -> Result<OwnedSemaphorePermit, ApiError> {
        let largest = BodyLimits::of(head).bytes;
        let announced = head.headers.get(header::CONTENT_LENGTH).and_then(|len| len.to_str().ok()?.parse::<usize>().ok());
        let mib = announced.unwrap_or(largest).min(largest).div_ceil(1 << 20).max(1);
        let share = Arc::clone(&self.0).acquire_many_owned(u32::try_from(mib).unwrap_or(ROOM_MIB).min(ROOM_MIB));
        match timeout(PATIENCE, share).await {
            Ok(Ok(share)) => Ok(share),
            // The semaphore is never closed.
            Ok(Err(_)) | Err(_) => Err(SpeechError::Overloaded { retry_after_s: 1 }.into()),
        }
    }
}
