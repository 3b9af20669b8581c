//! A stream of audio as encoded pieces, whose first one already exists.

use std::collections::VecDeque;

use bytes::Bytes;
use tokio::sync::watch;
use tracing::Span;

use super::record::Record;
use super::whole::off_the_edge;
use crate::audio::chain::{Chain, ChainError, Wanted};
use crate::audio::encode::{Length, Shape};
use crate::engine::{Finish, SpeechHead, SpeechStream};
use crate::http::error::ApiError;
use crate::observe::trace;

/// Encoded pieces: what comes before the samples alone, then samples. Of WAV and PCM each piece holds whole samples of all channels.
pub struct Pieces {
    stream: SpeechStream,
    head: SpeechHead,
    wanted: Wanted,
    /// Absent once the stream has ended.
    chain: Option<Box<Chain>>,
    ready: VecDeque<Bytes>,
    closing: watch::Receiver<bool>,
    /// Entered while something is encoded.
    encoding: Span,
}

impl Pieces {
    /// Waits for the first audio, so that an error before it keeps its status.
    pub async fn begin(
        mut stream: SpeechStream,
        wanted: Wanted,
        closing: watch::Receiver<bool>,
        record: &mut Record,
    ) -> Result<Self, ApiError> {
        let first = first_audio(&mut stream).await?;
        record.made(first.len());
        let shape = Shape { sample_rate_hz: stream.head.sample_rate_hz, channels: stream.head.channels };
        let failed = |error: ChainError| ApiError::failed(error.to_string());
        let mut chain = Chain::open(wanted, shape, Length::Open).map_err(failed)?;
        let mut header = Vec::new();
        chain.header(&mut header).map_err(failed)?;
        let head = SpeechHead { sample_rate_hz: chain.shape().sample_rate_hz, ..stream.head.clone() };
        let encoding = trace::encode(wanted.format.name());
        let mut pieces = Self { stream, head, wanted, chain: Some(Box::new(chain)), ready: VecDeque::new(), closing, encoding };
        pieces.keep(header);
        let encoded = pieces.encode(first).await?;
        pieces.keep(encoded);
        Ok(pieces)
    }

    /// What was known before the first sample.
    pub fn head(&self) -> &SpeechHead {
        &self.head
    }

    /// How it ended, after the end.
    pub fn finish(&self) -> Option<Finish> {
        self.stream.finish()
    }

    /// The next piece; none at the end. An error ends the stream.
    pub async fn next(&mut self, record: &mut Record) -> Option<Result<Bytes, ApiError>> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                return Some(Ok(piece));
            }
            match self.advance(record).await {
                Ok(true) => {}
                Ok(false) => {
                    record.done();
                    return None;
                }
                Err(error) => {
                    record.failed(error.message());
                    return Some(Err(error));
                }
            }
        }
    }

    /// Encodes the next audio, or the end. `false` when nothing is left.
    async fn advance(&mut self, record: &mut Record) -> Result<bool, ApiError> {
        if self.chain.is_none() {
            return Ok(false);
        }
        let encoded = match self.next_audio().await {
            Some(audio) => {
                let samples = audio?;
                record.made(samples.len());
                self.encode(samples).await?
            }
            None => self.close().await?,
        };
        self.keep(encoded);
        Ok(true)
    }

    /// Keeps bytes for the reader; an encoder may have none yet.
    fn keep(&mut self, bytes: Vec<u8>) {
        if !bytes.is_empty() {
            self.ready.push_back(Bytes::from(bytes));
        }
    }

    async fn encode(&mut self, samples: Vec<f32>) -> Result<Vec<u8>, ApiError> {
        let Some(mut chain) = self.chain.take() else { return Ok(Vec::new()) };
        let encoding = self.encoding.clone();
        let work = move || {
            let _entered = encoding.entered();
            let mut bytes = Vec::new();
            chain.push(&samples, &mut bytes)?;
            Ok((chain, bytes))
        };
        let (chain, bytes) = off_the_edge(self.wanted, work).await?;
        self.chain = Some(chain);
        Ok(bytes)
    }

    /// What the encoder still holds.
    async fn close(&mut self) -> Result<Vec<u8>, ApiError> {
        let Some(chain) = self.chain.take() else { return Ok(Vec::new()) };
        let encoding = self.encoding.clone();
        let work = move || {
            let _entered = encoding.entered();
            let mut bytes = Vec::new();
            chain.finish(&mut bytes)?;
            Ok(bytes)
        };
        off_the_edge(self.wanted, work).await
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
