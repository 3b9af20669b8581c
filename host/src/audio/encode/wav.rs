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
