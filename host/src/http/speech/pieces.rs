//! A stream of audio as encoded pieces, whose first one already exists.

use std::collections::VecDeque;

use bytes::Bytes;
use tokio::sync::watch;

use super::record::Record;
use crate::audio::{Format, pcm, wav};
use crate::engine::{Finish, SpeechHead, SpeechStream};
use crate::http::error::ApiError;

/// Encoded pieces: for WAV the header alone, then samples; each piece holds whole samples of all channels.
pub struct Pieces {
    stream: SpeechStream,
    ready: VecDeque<Bytes>,
    closing: watch::Receiver<bool>,
}

impl Pieces {
    /// Waits for the first audio, so that an error before it keeps its status.
    pub async fn begin(
        mut stream: SpeechStream,
        format: Format,
        closing: watch::Receiver<bool>,
        record: &mut Record,
    ) -> Result<Self, ApiError> {
        let first = first_audio(&mut stream).await?;
        record.made(first.len());
        let mut ready = VecDeque::new();
        if format == Format::Wav {
            ready.push_back(Bytes::copy_from_slice(&wav::stream_header(stream.head.sample_rate_hz, stream.head.channels)));
        }
        ready.push_back(Bytes::from(pcm::bytes(&first)));
        Ok(Self { stream, ready, closing })
    }

    /// What was known before the first sample.
    pub fn head(&self) -> &SpeechHead {
        &self.stream.head
    }

    /// How it ended, after the end.
    pub fn finish(&self) -> Option<Finish> {
        self.stream.finish()
    }

    /// The next piece; none at the end. An error ends the stream.
    pub async fn next(&mut self, record: &mut Record) -> Option<Result<Bytes, ApiError>> {
        if let Some(piece) = self.ready.pop_front() {
            return Some(Ok(piece));
        }
        match self.next_audio().await {
            Some(Ok(samples)) => {
                record.made(samples.len());
                Some(Ok(Bytes::from(pcm::bytes(&samples))))
            }
            Some(Err(error)) => {
                record.failed(error.message());
                Some(Err(error))
            }
            None => {
                record.done();
                None
            }
        }
    }

    async fn next_audio(&mut self) -> Option<Result<Vec<f32>, ApiError>> {
        tokio::select! {
            biased;
            audio = next_audio(&mut self.stream) => audio,
            _ = self.closing.wait_for(|closing| *closing) => Some(Err(ApiError::stopping())),
        }
    }
}

/// The next audio that is not empty; none at the end.
pub async fn next_audio(stream: &mut SpeechStream) -> Option<Result<Vec<f32>, ApiError>> {
    loop {
        match stream.next().await {
            Some(Ok(samples)) if samples.is_empty() => (),
            Some(piece) => return Some(piece.map_err(ApiError::from)),
            None => return None,
        }
    }
}

/// The first audio; an error where there is none at all.
pub async fn first_audio(stream: &mut SpeechStream) -> Result<Vec<f32>, ApiError> {
    next_audio(stream).await.unwrap_or_else(|| Err(ApiError::failed("TTS model did not produce audio output.")))
}
