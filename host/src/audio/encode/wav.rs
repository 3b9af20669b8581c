//! RIFF WAVE: a header of 44 bytes, then the 16-bit samples.

use super::encoder::{Codec, EncodeError, Length, Shape};
use crate::audio::{Format, pcm, wav};

/// Keeps the header until it is asked for.
pub struct Wav {
    header: [u8; wav::HEADER_BYTES],
}

impl Wav {
    /// Begins a stream: with its true sizes where they are known, else with the sizes that mean "until the end".
    pub fn open(shape: Shape, length: Length) -> Result<Self, EncodeError> {
        let header = match length {
            Length::Open => Some(wav::stream_header(shape.sample_rate_hz, shape.channels)),
            Length::Known(len) => {
                let data_len = usize::try_from(len).ok().and_then(|len| len.checked_mul(pcm::SAMPLE_BYTES * usize::from(shape.channels)));
                data_len.and_then(|data_len| wav::file_header(shape.sample_rate_hz, shape.channels, data_len))
            }
        };
        Ok(Self { header: header.ok_or(EncodeError::TooLong(Format::Wav.name()))? })
    }
}

impl Codec for Wav {
    fn header(&mut self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.extend_from_slice(&self.header);
        Ok(())
    }

    fn push(&mut self, samples: &[f32], out: &mut Vec<u8>) -> Result<(), EncodeError> {
        pcm::append(samples, out);
        Ok(())
    }

    fn finish(&mut self, _out: &mut Vec<u8>) -> Result<(), EncodeError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{in_pieces, shape, speech};
    use super::*;
    use std::io::Cursor;

    #[test]
    fn another_reader_finds_shape_length_and_samples() {
        for (rate_hz, channels) in [(8_000, 1), (22_050, 2), (48_000, 1)] {
            let shape = shape(rate_hz, channels);
            let samples = speech(3_001, shape);
            let bytes = in_pieces(Format::Wav, shape, Length::Known(3_001), &samples, 100);
            let mut reader = hound::WavReader::new(Cursor::new(bytes)).expect("it is WAV");
            assert_eq!((reader.spec().sample_rate, reader.spec().channels, reader.duration()), (rate_hz, channels, 3_001));
            let found: Vec<i16> = reader.samples().map(|sample| sample.expect("it is there")).collect();
            assert!(found.into_iter().eq(samples.iter().map(|sample| pcm::to_i16(*sample))));
        }
    }

    #[test]
    fn sizes_are_true_or_open() {
        let samples = speech(1_000, shape(24_000, 2));
        let file = in_pieces(Format::Wav, shape(24_000, 2), Length::Known(1_000), &samples, 10);
        assert_eq!((file.len(), &file[4..8], &file[40..44]), (4_044, &4_036_u32.to_le_bytes()[..], &4_000_u32.to_le_bytes()[..]));
        let stream = in_pieces(Format::Wav, shape(24_000, 2), Length::Open, &samples, 10);
        assert_eq!((stream.len(), &stream[4..8], &stream[40..44]), (4_044, &[0xFF; 4][..], &[0xFF; 4][..]));
    }

    #[test]
    fn four_gigabytes_are_too_long() {
        for len in [u64::from(u32::MAX) / 2, u64::MAX] {
            assert_eq!(Wav::open(shape(24_000, 1), Length::Known(len)).err(), Some(EncodeError::TooLong("wav")));
        }
    }
}
