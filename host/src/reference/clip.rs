//! A clip of reference audio.

use sha2::{Digest, Sha256};

use super::ReferenceError;
use crate::audio::resample::Resampler;

/// Numbers that are hashed at once.
const BLOCK: usize = 4096;

/// Names a sound in every cache, whatever it is called, wherever it came from and however it was encoded.
pub type ContentId = [u8; 32];

/// Names numbers by themselves and their rate; a speaker's vector has none.
pub fn content_of(rate_hz: Option<u32>, numbers: &[f32]) -> ContentId {
    let mut hash = Sha256::new();
    hash.update(rate_hz.unwrap_or_default().to_le_bytes());
    hash.update((numbers.len() as u64).to_le_bytes());
    for block in numbers.chunks(BLOCK) {
        hash.update(block.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>());
    }
    hash.finalize().into()
}

/// Decoded reference audio.
#[derive(Clone, PartialEq)]
pub struct Clip {
    /// Mono samples, full scale 1.0.
    pub samples: Vec<f32>,
    /// Their rate in Hz: that of the file.
    pub sample_rate_hz: u32,
    content: ContentId,
}

impl Clip {
    /// A clip of these samples.
    pub fn new(samples: Vec<f32>, sample_rate_hz: u32) -> Self {
        let content = content_of(Some(sample_rate_hz), &samples);
        Self { samples, sample_rate_hz, content }
    }

    /// What its sound is called in caches.
    pub fn content(&self) -> ContentId {
        self.content
    }

    /// Its length in seconds.
    pub fn seconds(&self) -> f64 {
        self.samples.len() as f64 / f64::from(self.sample_rate_hz.max(1))
    }

    /// Bytes of its samples.
    pub fn bytes(&self) -> usize {
        self.samples.len() * size_of::<f32>()
    }

    /// Its samples at another rate.
    pub fn at(&self, rate_hz: u32) -> Result<Vec<f32>, ReferenceError> {
        if rate_hz == self.sample_rate_hz {
            return Ok(self.samples.clone());
        }
        let unusable = |error| ReferenceError::Unusable(format!("Reference {error}; use a common sample rate such as 24000 Hz"));
        let mut resampler = Resampler::new(self.sample_rate_hz, rate_hz, 1).map_err(unusable)?;
        let mut samples = Vec::new();
        resampler.push(&self.samples, &mut samples);
        resampler.finish(&mut samples);
        Ok(samples)
    }
}

/// Without the samples, of which there are a million.
impl std::fmt::Debug for Clip {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { samples, sample_rate_hz, .. } = self;
        formatter.debug_struct("Clip").field("samples", &samples.len()).field("sample_rate_hz", sample_rate_hz).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_is_told_by_its_samples_and_their_rate() {
        let samples: Vec<f32> = (0..10_000).map(|at| at as f32 / 10_000.0).collect();
        let clip = Clip::new(samples.clone(), 8_000);
        assert_eq!(clip.content(), Clip::new(samples.clone(), 8_000).content());
        let mut other = samples.clone();
        other[9_999] += 1e-6;
        for other in [Clip::new(other, 8_000), Clip::new(samples.clone(), 16_000), Clip::new(samples[1..].to_vec(), 8_000)] {
            assert_ne!(clip.content(), other.content());
        }
        assert_ne!(clip.content(), content_of(None, &samples), "a vector of the same numbers is something else");
    }
}
