//! Decoded audio on its way to mono, counted and bounded.

use std::time::Instant;

use super::DecodeLimits;
use crate::reference::ReferenceError;

/// Rates that audio has. Others are a broken file.
const RATES_HZ: std::ops::RangeInclusive<u32> = 2_000..=768_000;
/// Most channels: what any of the formats can name.
const MAX_CHANNELS: usize = 64;

/// What was decoded so far.
pub struct Mono {
    limits: DecodeLimits,
    until: Instant,
    shape: Option<(u32, usize)>,
    samples: Vec<f32>,
    /// Samples a channel, also of those that were not kept.
    len: u64,
    packets: u64,
    is_cut: bool,
}

impl Mono {
    /// Nothing yet.
    pub fn new(limits: &DecodeLimits) -> Self {
        let until = Instant::now() + limits.patience;
        Self { limits: *limits, until, shape: None, samples: Vec::new(), len: 0, packets: 0, is_cut: false }
    }

    /// Counts a packet before it is decoded; false when there were enough.
    pub fn goes_on(&mut self) -> Result<bool, ReferenceError> {
        self.packets += 1;
        if self.packets > self.limits.packets || Instant::now() >= self.until {
            return Err(ReferenceError::Corrupted("it takes too long to decode".to_owned()));
        }
        Ok(!self.is_cut)
    }

    /// Takes interleaved samples in.
    pub fn take(&mut self, rate_hz: u32, channels: usize, interleaved: &[f32]) -> Result<(), ReferenceError> {
        self.check_shape(rate_hz, channels)?;
        let frames = interleaved.chunks_exact(channels);
        self.len += frames.len() as u64;
        let room = self.kept_frames(rate_hz).saturating_sub(self.samples.len());
        self.samples.extend(frames.take(room).map(|frame| frame.iter().sum::<f32>() / channels as f32));
        let total = self.len.saturating_mul(channels as u64);
        self.is_cut = self.len as f64 > self.limits.decoded_seconds * f64::from(rate_hz) || total > self.limits.decoded_samples;
        Ok(())
    }

    /// No more than this is kept of a clip that will be refused.
    fn kept_frames(&self, rate_hz: u32) -> usize {
        (self.limits.max_seconds * f64::from(rate_hz)) as usize + 1
    }

    fn check_shape(&mut self, rate_hz: u32, channels: usize) -> Result<(), ReferenceError> {
        let shape = *self.shape.get_or_insert((rate_hz, channels));
        let wrong = match shape {
            (rate, _) if !RATES_HZ.contains(&rate) => format!("a sample rate of {rate} Hz is none"),
            (_, channels) if !(1..=MAX_CHANNELS).contains(&channels) => format!("{channels} channels are not supported"),
            _ if shape != (rate_hz, channels) => "its sample rate or its channels change on the way".to_owned(),
            _ => return Ok(()),
        };
        Err(ReferenceError::Corrupted(wrong))
    }

    /// The samples and their rate, if they are as long as a clip has to be.
    pub fn checked(self, limits: &DecodeLimits) -> Result<(Vec<f32>, u32), ReferenceError> {
        let Some((rate_hz, _)) = self.shape.filter(|_| self.len > 0) else {
            return Err(ReferenceError::Corrupted("there is no audio in it".to_owned()));
        };
        let seconds = self.len as f64 / f64::from(rate_hz);
        let DecodeLimits { min_seconds, max_seconds, .. } = *limits;
        if seconds > max_seconds {
            return Err(ReferenceError::TooLong { seconds, at_least: self.is_cut, max_seconds });
        }
        if seconds < min_seconds {
            return Err(ReferenceError::TooShort { seconds, min_seconds });
        }
        Ok((self.samples, rate_hz))
    }
}
