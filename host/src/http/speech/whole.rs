//! A complete body: true sizes, a length, and the counts of tokens.

use axum::body::Body;
use axum::response::Response;
use omni_plugin_api::FinishReason;

use super::headers;
use super::pieces::{first_audio, next_audio};
use super::record::Record;
use crate::audio::{Format, pcm, wav};
use crate::engine::{Finish, SpeechHead, SpeechStream};
use crate::http::error::ApiError;

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
}

/// Waits for all of a stream and makes a file of it.
pub async fn collect(stream: SpeechStream, format: Format) -> Result<Clip, ApiError> {
    collect_while(stream, format, |_| Ok(())).await
}

/// The same for as long as `may_grow` takes the number of each piece's samples.
pub async fn collect_while(
    mut stream: SpeechStream,
    format: Format,
    mut may_grow: impl FnMut(usize) -> Result<(), ApiError>,
) -> Result<Clip, ApiError> {
    let header_len = if format == Format::Wav { wav::HEADER_BYTES } else { 0 };
    let mut bytes = vec![0; header_len];
    let mut audio = Some(first_audio(&mut stream).await?);
    while let Some(samples) = audio {
        may_grow(samples.len())?;
        pcm::append(&samples, &mut bytes);
        audio = next_audio(&mut stream).await.transpose()?;
    }
    let (head, samples) = (stream.head.clone(), (bytes.len() - header_len) / pcm::SAMPLE_BYTES);
    if format == Format::Wav {
        write_header(&mut bytes, &head)?;
    }
    let finish = stream.finish().unwrap_or(Finish { reason: FinishReason::Stop, generated: 0 });
    Ok(Clip { head, finish, samples, bytes })
}

fn write_header(bytes: &mut [u8], head: &SpeechHead) -> Result<(), ApiError> {
    let header = wav::file_header(head.sample_rate_hz, head.channels, bytes.len() - wav::HEADER_BYTES);
    let header = header.ok_or_else(|| ApiError::failed("the audio is longer than a WAV file can be"))?;
    bytes[..wav::HEADER_BYTES].copy_from_slice(&header);
    Ok(())
}

/// The answer.
pub async fn answer(stream: SpeechStream, format: Format, record: &mut Record) -> Result<Response, ApiError> {
    let clip = collect(stream, format).await?;
    record.made(clip.samples);
    record.done();
    let mut response = Response::new(Body::from(clip.bytes));
    headers::add_common(&mut response, &clip.head, format.content_type());
    headers::add_usage(response.headers_mut(), clip.head.usage, clip.finish);
    Ok(response)
}
