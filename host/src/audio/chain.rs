//! What a model makes into what a client asked for: first the speed, then the sample rate, then the format.

use super::Format;
use super::encode::{self, EncodeError, Encoder, Length, Shape};
use super::resample::{self, ResampleError, Resampler};
use super::speed::{self, SpeedError, Stretch};

/// What a client asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wanted {
    /// The format.
    pub format: Format,
    /// How many times as fast; 1 where the model itself has seen to it.
    pub speed: f64,
    /// The rate of the answer; the model's own where none is asked for.
    pub sample_rate_hz: Option<u32>,
}

impl Wanted {
    /// Whether getting there is so cheap that it may be done between two awaits.
    pub fn is_plain(self) -> bool {
        self.format.is_plain() && self.speed == 1.0 && self.sample_rate_hz.is_none()
    }
}

/// A failure on the way.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ChainError {
    /// The speed cannot be had.
    #[error(transparent)]
    Speed(#[from] SpeedError),
    /// The rate cannot be had.
    #[error(transparent)]
    Resample(#[from] ResampleError),
    /// The format cannot be had, or its encoder failed.
    #[error(transparent)]
    Encode(#[from] EncodeError),
}

/// One stream on its way to a client.
pub struct Chain {
    stretch: Option<Stretch>,
    resampler: Option<Resampler>,
    encoder: Encoder,
    shape: Shape,
    /// Samples between two steps.
    stretched: Vec<f32>,
    resampled: Vec<f32>,
}

impl Chain {
    /// Begins a stream of a model's samples; `length` counts those.
    pub fn open(wanted: Wanted, model: Shape, length: Length) -> Result<Self, ChainError> {
        let Shape { sample_rate_hz, channels } = model;
        let shape = Shape { sample_rate_hz: wanted.sample_rate_hz.unwrap_or(sample_rate_hz), channels };
        let stretch = (wanted.speed != 1.0).then(|| Stretch::new(sample_rate_hz, channels, wanted.speed)).transpose()?;
        let is_other_rate = shape.sample_rate_hz != sample_rate_hz;
        let resampler = is_other_rate.then(|| Resampler::new(sample_rate_hz, shape.sample_rate_hz, channels)).transpose()?;
        let length = match length {
            Length::Open => Length::Open,
            Length::Known(len) => {
                let len = if stretch.is_some() { speed::output_len(len, wanted.speed) } else { len };
                Length::Known(resample::output_len(len, sample_rate_hz, shape.sample_rate_hz))
            }
        };
        let encoder = encode::open(wanted.format, shape, length)?;
        Ok(Self { stretch, resampler, encoder, shape, stretched: Vec::new(), resampled: Vec::new() })
    }

    /// The shape of the answer.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Appends what comes before all samples: see [`Encoder::header`].
    pub fn header(&mut self, out: &mut Vec<u8>) -> Result<(), ChainError> {
        Ok(self.encoder.header(out)?)
    }

    /// Takes whole frames of the model's samples and appends the bytes that are complete, which may be none.
    pub fn push(&mut self, samples: &[f32], out: &mut Vec<u8>) -> Result<(), ChainError> {
        let Some(stretch) = &mut self.stretch else { return self.resample(samples, out) };
        let mut stretched = std::mem::take(&mut self.stretched);
        stretched.clear();
        stretch.push(samples, &mut stretched);
        let done = self.resample(&stretched, out);
        self.stretched = stretched;
        done
    }

    /// Appends all that any step still holds.
    pub fn finish(mut self, out: &mut Vec<u8>) -> Result<(), ChainError> {
        if let Some(stretch) = self.stretch.take() {
            let mut rest = Vec::new();
            stretch.finish(&mut rest);
            self.resample(&rest, out)?;
        }
        if let Some(resampler) = self.resampler.take() {
            let mut rest = Vec::new();
            resampler.finish(&mut rest);
            self.encoder.push(&rest, out)?;
        }
        Ok(self.encoder.finish(out)?)
    }

    fn resample(&mut self, samples: &[f32], out: &mut Vec<u8>) -> Result<(), ChainError> {
        let Some(resampler) = &mut self.resampler else { return Ok(self.encoder.push(samples, out)?) };
        self.resampled.clear();
        resampler.push(samples, &mut self.resampled);
        Ok(self.encoder.push(&self.resampled, out)?)
    }
}

/// All of a clip as a file.
pub fn whole(wanted: Wanted, model: Shape, samples: &[f32]) -> Result<Vec<u8>, ChainError> {
    let len = samples.len() / usize::from(model.channels.max(1));
    let mut chain = Chain::open(wanted, model, Length::Known(len as u64))?;
    let mut bytes = Vec::new();
    chain.push(samples, &mut bytes)?;
    chain.finish(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MODEL: Shape = Shape { sample_rate_hz: 24_000, channels: 1 };

    fn streamed(wanted: Wanted, samples: &[f32], piece: usize) -> Vec<u8> {
        let mut chain = Chain::open(wanted, MODEL, Length::Open).expect("all of it can be had");
        let mut bytes = Vec::new();
        for piece in samples.chunks(piece) {
            chain.push(piece, &mut bytes).expect("pieces are whole");
        }
        chain.finish(&mut bytes).expect("the length is open");
        bytes
    }

    #[test]
    fn what_cannot_be_had_is_named() {
        let wanted = Wanted { format: Format::Mp3, speed: 1.0, sample_rate_hz: None };
        assert!(matches!(Chain::open(Wanted { speed: 9.0, ..wanted }, MODEL, Length::Open), Err(ChainError::Speed(_))));
        assert!(matches!(Chain::open(Wanted { sample_rate_hz: Some(0), ..wanted }, MODEL, Length::Open), Err(ChainError::Resample(_))));
        assert!(matches!(Chain::open(Wanted { sample_rate_hz: Some(18_000), ..wanted }, MODEL, Length::Open), Err(ChainError::Encode(_))));
    }

    #[test]
    fn every_wish_can_be_had_with_every_other() {
        let samples: Vec<f32> = (0..5_000_u16).map(|at| (f32::from(at) * 0.05).sin() * 0.5).collect();
        for format in Format::ALL.iter().copied() {
            for speed in [0.25, 1.0, 1.7, 4.0] {
                for sample_rate_hz in resample::RATES_HZ.map(Some).into_iter().chain([None]) {
                    let wanted = Wanted { format, speed, sample_rate_hz };
                    assert!(whole(wanted, MODEL, &samples).is_ok_and(|bytes| bytes.len() > 100), "{wanted:?}");
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn a_stream_is_the_file_whatever_is_asked_for(
            samples in prop::collection::vec(-1.0_f32..1.0, 0..6_000),
            speed in prop_oneof![Just(1.0), 0.25_f64..=4.0],
            sample_rate_hz in prop::option::of(prop::sample::select(resample::RATES_HZ.to_vec())),
            piece in 1_usize..3_000,
        ) {
            let wanted = Wanted { format: Format::Pcm, speed, sample_rate_hz };
            let file = whole(wanted, MODEL, &samples);
            prop_assert!(file.is_ok());
            prop_assert!(file.is_ok_and(|file| file == streamed(wanted, &samples, piece)));
        }
    }
}
