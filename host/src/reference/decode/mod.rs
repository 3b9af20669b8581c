//! Encoded bytes to a clip: wav, flac, mp3, ogg and webm (vorbis, opus), m4a and aac, aiff.
//!
//! The bytes come from strangers. A decoder is stopped by the number of its samples, packets and seconds, whatever lengths the file claims;
//! it runs on a thread of its own, so that a panic ends nothing else and a decoder that hangs is left behind.

mod check;
mod container;
mod mono;
mod opus;

use std::time::Duration;

use super::{Clip, ReferenceError};
use crate::plugin::{Overrun, limited};
use bytes::Bytes;
use omni_plugin_api::{PluginError, contain};

/// Bounds of a decode.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DecodeLimits {
    /// Most encoded bytes.
    pub encoded_bytes: usize,
    /// Shortest clip that is of use.
    pub min_seconds: f64,
    /// Longest clip that is taken.
    pub max_seconds: f64,
    /// How much of a longer clip is still decoded, to tell its length.
    pub decoded_seconds: f64,
    /// Most samples of all channels together.
    pub decoded_samples: u64,
    /// Most packets.
    pub packets: u64,
    /// Time for all of it.
    pub patience: Duration,
}

impl Default for DecodeLimits {
    fn default() -> Self {
        Self {
            encoded_bytes: 25 << 20,
            min_seconds: 1.0,
            max_seconds: 30.0,
            decoded_seconds: 600.0,
            decoded_samples: 64 << 20,
            packets: 500_000,
            patience: Duration::from_secs(10),
        }
    }
}

/// Decodes a file to mono and checks that a voice can be heard in it. It blocks, for [`DecodeLimits::patience`] at most.
pub fn decode(bytes: impl Into<Bytes>, limits: &DecodeLimits) -> Result<Clip, ReferenceError> {
    let bytes: Bytes = bytes.into();
    if bytes.len() > limits.encoded_bytes {
        return Err(ReferenceError::TooLarge { limit_bytes: limits.encoded_bytes });
    }
    if bytes.is_empty() {
        return Err(ReferenceError::Unsupported("it is empty".to_owned()));
    }
    let (within, patience) = (*limits, limits.patience);
    match limited("decode reference", patience, move || contained(bytes, &within)) {
        Ok(clip) => clip,
        Err(Overrun::TimedOut) => Err(ReferenceError::Corrupted(format!("it was not decoded within {} s", patience.as_secs_f32()))),
        Err(overrun) => Err(ReferenceError::Ours(format!("the decoder cannot run: {overrun}"))),
    }
}

/// A decoder that panics was led there by its input.
fn contained(bytes: Bytes, limits: &DecodeLimits) -> Result<Clip, ReferenceError> {
    let decoded = contain("a decoder", || Ok::<_, PluginError>(clip(bytes, limits)));
    decoded.unwrap_or_else(|_| Err(ReferenceError::Corrupted("its decoder gave up".to_owned())))
}

fn clip(bytes: Bytes, limits: &DecodeLimits) -> Result<Clip, ReferenceError> {
    let mono = container::decode(bytes, limits)?;
    let (samples, sample_rate_hz) = mono.checked(limits)?;
    check::audible(&samples)?;
    Ok(Clip::new(samples, sample_rate_hz))
}

#[cfg(test)]
mod tests;
