//! A clip of reference audio.

use super::ReferenceError;
use crate::audio::resample::Resampler;

/// Decoded reference audio.
#[derive(Clone, PartialEq)]
pub struct Clip {
    /// Mono samples, full scale 1.0.
    pub samples: Vec<f32>,
    /// Their rate in Hz: that of the file.
    pub sample_rate_hz: u32,
    /// SHA-256 of the encoded bytes: it names the content in every cache.
    pub sha256: [u8; 32],
}

impl Clip {
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
