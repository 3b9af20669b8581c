//! AAC-LC in ADTS.
//!
//! ADTS has no place for lengths: a decoder gives 1024 samples of delay before the audio, and silence up to the end of the last frame.

use syom::{EncodeOptions, EncodedFrame};

use super::encoder::{Codec, EncodeError, Shape};
use super::planes::Planes;
use crate::audio::Format;

/// Passes samples on; the codec itself makes frames of them.
pub struct Aac {
    encoder: syom::Encoder,
    channels: usize,
    planes: Planes,
    has_samples: bool,
}

impl Aac {
    /// Begins a stream.
    pub fn open(shape: Shape) -> Result<Self, EncodeError> {
        let options = EncodeOptions::adts().with_bitrate_bps(bitrate_bps(shape));
        let encoder = syom::Encoder::new(shape.sample_rate_hz, usize::from(shape.channels), &options);
        Ok(Self {
            encoder: encoder.map_err(|_| EncodeError::shape(Format::Aac, shape))?,
            channels: usize::from(shape.channels),
            planes: Planes::new(shape.channels),
            has_samples: false,
        })
    }
}

impl Codec for Aac {
    fn header(&mut self, _out: &mut Vec<u8>) -> Result<(), EncodeError> {
        Ok(())
    }

    fn push(&mut self, samples: &[f32], out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.has_samples |= !samples.is_empty();
        self.planes.drop_front(self.planes.len());
        self.planes.extend(samples);
        let planes = self.planes.part(0..self.planes.len());
        self.encoder.feed(&planes[..self.channels], append(out)).map(drop).map_err(failed)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        if self.has_samples { self.encoder.finish(append(out)).map(drop).map_err(failed) } else { Ok(()) }
    }
}

fn append(out: &mut Vec<u8>) -> impl FnMut(EncodedFrame<'_>) -> syom::Result<()> {
    |frame| {
        out.extend_from_slice(frame.au);
        Ok(())
    }
}

/// A bit rate at which speech is hard to tell from the original: four bits a sample, up to where more is of no use.
fn bitrate_bps(shape: Shape) -> u32 {
    shape.sample_rate_hz.saturating_mul(4).min(128_000) * if shape.channels == 1 { 2 } else { 3 } / 2
}

fn failed(error: syom::AacError) -> EncodeError {
    EncodeError::codec(Format::Aac, &error)
}
