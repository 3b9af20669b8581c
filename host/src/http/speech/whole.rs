//! A complete body: true sizes, a length, and the counts of tokens.

use axum::body::Body;
use axum::response::Response;
use omni_plugin_api::FinishReason;

use super::headers;
use super::pieces::{first_audio, next_audio};
use super::record::Record;
use super::validate::Accepted;
use super::words::{self, Alignment};
use crate::audio::chain::{self, Chain, ChainError, Wanted};
use crate::audio::encode::{EncodeError, Length, Shape};
use crate::audio::{Format, pcm, wav};
use crate::engine::align::WordTime;
use crate::engine::{Finish, SpeechHead, SpeechStream};
use crate::http::error::ApiError;
use crate::http::state::App;
use crate::observe::trace;

/// A complete piece of audio.
pub struct Clip {
    /// What was known before the first sample.
    pub head: SpeechHead,
    /// How it ended.
    pub finish: Finish,
    /// Samples of all channels together.
    pub samples: usize,
    /// The file.
    pub bytes: Vec<u8>,
    /// When its words are spoken, where that was wanted and could be found.
    pub words: Option<Vec<WordTime>>,
}

/// Waits for all of a stream, makes a file of it, and finds its words where they are wanted.
pub async fn collect(stream: SpeechStream, wanted: Wanted, words: Option<Alignment>) -> Result<Clip, ApiError> {
    collect_while(stream, wanted, words, |_| Ok(())).await
}

/// The same for as long as `may_grow` takes the number of each piece's samples.
pub async fn collect_while(
    mut stream: SpeechStream,
    wanted: Wanted,
    words: Option<Alignment>,
    mut may_grow: impl FnMut(usize) -> Result<(), ApiError>,
) -> Result<Clip, ApiError> {
    let shape = Shape { sample_rate_hz: stream.head.sample_rate_hz, channels: stream.head.channels };
    let mut gathered = Gathered::new(wanted, shape, words.is_some())?;
    let mut samples = 0;
    let mut audio = Some(first_audio(&mut stream).await?);
    while let Some(piece) = audio {
        may_grow(piece.len())?;
        samples += piece.len();
        gathered.take(&piece)?;
        audio = next_audio(&mut stream).await.transpose()?;
    }
    let mut head = stream.head.clone();
    let finish = stream.finish().unwrap_or(Finish { reason: FinishReason::Stop, generated: 0 });
    // The place in the model is free for the next request while this one is encoded.
    drop(stream);
    let encoding = trace::encode(wanted.format.name());
    let (heard, bytes) = off_the_edge(wanted, move || encoding.in_scope(|| Ok((gathered.heard()?, gathered.file()?)))).await?;
    head.sample_rate_hz = wanted.sample_rate_hz.unwrap_or(head.sample_rate_hz);
    let words = match words {
        Some(words) => words.find(heard, Shape { sample_rate_hz: head.sample_rate_hz, ..shape }).await,
        None => None,
    };
    Ok(Clip { head, finish, samples, bytes, words })
}

/// A clip while it grows: as bytes where they are made in passing, which halves the memory, else as samples until its length is known.
/// Where the samples are wanted for themselves they are kept as well.
enum Gathered {
    Bytes { chain: Box<Chain>, bytes: Vec<u8>, format: Format, shape: Shape },
    Samples { wanted: Wanted, shape: Shape, samples: Vec<f32>, are_heard: bool },
}

impl Gathered {
    fn new(wanted: Wanted, shape: Shape, are_heard: bool) -> Result<Self, ApiError> {
        if are_heard || !wanted.is_plain() {
            return Ok(Self::Samples { wanted, shape, samples: Vec::new(), are_heard });
        }
        let chain = Chain::open(wanted, shape, Length::Open).map_err(|error| ApiError::failed(error.to_string()))?;
        Ok(Self::Bytes { chain: Box::new(chain), bytes: Vec::new(), format: wanted.format, shape })
    }

    fn take(&mut self, piece: &[f32]) -> Result<(), ApiError> {
        match self {
            Self::Samples { samples, .. } => samples.extend_from_slice(piece),
            Self::Bytes { chain, bytes, .. } => chain.push(piece, bytes).map_err(|error| ApiError::failed(error.to_string()))?,
        }
        Ok(())
    }

    /// The samples as the file has them, at its speed and rate; none where nobody listens.
    fn heard(&self) -> Result<Vec<f32>, ChainError> {
        match self {
            Self::Samples { wanted, shape, samples, are_heard: true } => {
                let wanted = Wanted { format: Format::Pcm, ..*wanted };
                Ok(pcm::samples(&chain::whole(wanted, *shape, samples)?))
            }
            Self::Samples { .. } | Self::Bytes { .. } => Ok(Vec::new()),
        }
    }

    /// The file, with true sizes.
    fn file(self) -> Result<Vec<u8>, ChainError> {
        match self {
            Self::Samples { wanted, shape, samples, .. } => chain::whole(wanted, shape, &samples),
            Self::Bytes { chain, mut bytes, format, shape } => {
                chain.finish(&mut bytes)?;
                if format == Format::Wav {
                    let len = bytes.len().saturating_sub(wav::HEADER_BYTES);
                    let header = wav::file_header(shape.sample_rate_hz, shape.channels, len);
                    let header = header.ok_or(ChainError::Encode(EncodeError::TooLong("wav")))?;
                    bytes[..wav::HEADER_BYTES].copy_from_slice(&header);
                }
                Ok(bytes)
            }
        }
    }
}

/// Runs a step towards the format: between two awaits if it is cheap, else on a thread that may block.
pub(super) async fn off_the_edge<T: Send + 'static>(
    wanted: Wanted,
    work: impl FnOnce() -> Result<T, ChainError> + Send + 'static,
) -> Result<T, ApiError> {
    let failed = |reason: String| ApiError::failed(reason);
    if wanted.is_plain() {
        return work().map_err(|error| failed(error.to_string()));
    }
    let done = tokio::task::spawn_blocking(work).await.map_err(|error| failed(format!("the encoder was lost: {error}")))?;
    done.map_err(|error| failed(error.to_string()))
}

/// All of a request's audio; once more with another seed where the first one did not lead to the end of the text.
pub async fn spoken(app: &App, accepted: &Accepted, record: &mut Record) -> Result<Clip, ApiError> {
    let first = attempt(app, accepted, record).await;
    let again = first.as_ref().err().filter(|error| error.is_incomplete()).and_then(|_| accepted.again());
    let clip = match again {
        None => first?,
        Some(again) => {
            tracing::warn!(model = again.served.id, seed = again.request.seed, "the audio is incomplete: once more with another seed");
            attempt(app, &again, record).await?
        }
    };
    record.made(clip.samples);
    record.done();
    Ok(clip)
}

async fn attempt(app: &App, accepted: &Accepted, record: &Record) -> Result<Clip, ApiError> {
    let stream = accepted.speak(app).await?;
    record.warned(&stream.head.warnings);
    collect(stream, accepted.wanted, accepted.words.clone()).await
}

/// The answer.
pub async fn answer(app: &App, accepted: &Accepted, record: &mut Record) -> Result<Response, ApiError> {
    let clip = spoken(app, accepted, record).await?;
    let mut response = Response::new(Body::from(clip.bytes));
    headers::add_common(&mut response, &clip.head, accepted.wanted.format.content_type());
    headers::add_usage(response.headers_mut(), clip.head.usage, clip.finish);
    if let Some(times) = &clip.words {
        words::add(response.headers_mut(), times);
    }
    Ok(response)
}
