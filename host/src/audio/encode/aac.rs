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

#[cfg(test)]
mod tests {
    use super::super::encoder::Length;
    use super::super::testing::{decode, end_likeness, in_pieces, likeness, shape, speech};
    use super::*;

    /// Samples a channel in a frame, and in front of the audio.
    const FRAME: usize = 1_024;

    #[test]
    fn another_decoder_finds_all_of_the_audio_behind_the_delay() {
        for (rate_hz, channels) in [(8_000, 1), (16_000, 2), (22_050, 1), (24_000, 1), (24_000, 2), (44_100, 2), (48_000, 1)] {
            let shape = shape(rate_hz, channels);
            let samples = speech(30_000, shape);
            let (found, decoded) = decode(in_pieces(Format::Aac, shape, Length::Open, &samples, 999));
            assert_eq!(found, shape);
            let channels = usize::from(channels);
            let surplus = decoded.len() / channels - 30_000;
            assert!((FRAME..2 * FRAME).contains(&surplus), "{shape:?}: {surplus}");
            let decoded = &decoded[FRAME * channels..];
            let likeness = (likeness(decoded, &samples, shape), end_likeness(decoded, &samples, shape));
            assert!(likeness.0 > 0.99 && likeness.1 > 0.95, "{shape:?}: {likeness:?}");
        }
    }

    #[test]
    fn a_stream_is_the_file() {
        let shape = shape(24_000, 2);
        let samples = speech(10_000, shape);
        let file = in_pieces(Format::Aac, shape, Length::Known(10_000), &samples, 10_000);
        assert!(in_pieces(Format::Aac, shape, Length::Open, &samples, 77) == file);
    }
}
