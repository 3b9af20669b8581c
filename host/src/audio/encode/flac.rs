//! FLAC with 16 bits, frame by frame.

use flacenc::bitsink::ByteSink;
use flacenc::component::{BitRepr, Stream, StreamInfo};
use flacenc::config;
use flacenc::error::{Verified, Verify};
use flacenc::source::{Fill, FrameBuf};

use super::encoder::{Codec, EncodeError, Length, Shape};
use crate::audio::{Format, pcm};

/// Bits of one sample.
const BITS: usize = 16;
/// The largest number of samples that the header has room for.
const MAX_LEN: u64 = (1 << 36) - 1;

/// Codes blocks of one length; the last may be shorter.
pub struct Flac {
    config: Verified<config::Encoder>,
    info: StreamInfo,
    block: FrameBuf,
    /// Interleaved samples that do not fill a block yet.
    waiting: Vec<i32>,
    frames: usize,
    sink: ByteSink,
}

impl Flac {
    /// Begins a stream.
    pub fn open(shape: Shape, length: Length) -> Result<Self, EncodeError> {
        let refused = |_| EncodeError::shape(Format::Flac, shape);
        let block_len = block_len(shape.sample_rate_hz);
        let mut info = StreamInfo::new(shape.sample_rate_hz as usize, usize::from(shape.channels), BITS).map_err(refused)?;
        info.set_block_sizes(block_len, block_len).map_err(refused)?;
        // Zero stands for "unknown": what a frame takes, and without a known length the number of samples, is told by no header.
        info.set_frame_sizes(0, 0).map_err(refused)?;
        if let Length::Known(len) = length {
            let len = usize::try_from(len).ok().filter(|_| len <= MAX_LEN).ok_or(EncodeError::TooLong(Format::Flac.name()))?;
            info.set_total_samples(len);
        }
        let config = config::Encoder::default().into_verified().map_err(|(_, error)| failed(&error))?;
        let block = FrameBuf::with_size(usize::from(shape.channels), block_len).map_err(refused)?;
        Ok(Self { config, info, block, waiting: Vec::new(), frames: 0, sink: ByteSink::new() })
    }

    /// Codes one block of interleaved samples.
    fn encode(&mut self, block: std::ops::Range<usize>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.block.fill_interleaved(&self.waiting[block]).map_err(|error| failed(&error))?;
        let frame = flacenc::encode_fixed_size_frame(&self.config, &self.block, self.frames, &self.info).map_err(|error| failed(&error))?;
        self.frames += 1;
        self.write(&frame, out)
    }

    fn write(&mut self, part: &impl BitRepr, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.sink.clear();
        part.write(&mut self.sink).map_err(|error| failed(&error))?;
        out.extend_from_slice(self.sink.as_slice());
        Ok(())
    }
}

impl Codec for Flac {
    fn header(&mut self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.write(&Stream::with_stream_info(self.info.clone()), out)
    }

    fn push(&mut self, samples: &[f32], out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.waiting.extend(samples.iter().map(|sample| i32::from(pcm::to_i16(*sample))));
        let block = self.block.size() * self.info.channels();
        let full = self.waiting.len() / block;
        for start in (0..full).map(|number| number * block) {
            self.encode(start..start + block, out)?;
        }
        self.waiting.drain(..full * block);
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        if self.waiting.is_empty() { Ok(()) } else { self.encode(0..self.waiting.len(), out) }
    }
}

/// Samples a channel in a block: about a tenth of a second, so that a stream starts soon.
fn block_len(sample_rate_hz: u32) -> usize {
    if sample_rate_hz <= 12_000 {
        1_024
    } else if sample_rate_hz <= 24_000 {
        2_048
    } else {
        4_096
    }
}

fn failed(error: &dyn std::fmt::Display) -> EncodeError {
    EncodeError::codec(Format::Flac, error)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{decode, in_pieces, shape, speech};
    use super::*;

    /// The 36 bits of the header that hold the number of samples.
    fn total(file: &[u8]) -> u64 {
        file[21..26].iter().fold(0, |total, byte| total << 8 | u64::from(*byte)) & MAX_LEN
    }

    #[test]
    fn another_decoder_finds_the_very_samples() {
        for (rate_hz, channels, len) in
            [(8_000, 1, 9_999), (11_025, 2, 1), (22_050, 2, 2_049), (24_000, 1, 2_048), (44_100, 2, 9_000), (48_000, 1, 33)]
        {
            let shape = shape(rate_hz, channels);
            let samples = speech(len, shape);
            let wanted: Vec<f32> = samples.iter().map(|sample| f32::from(pcm::to_i16(*sample)) / 32_768.0).collect();
            for length in [Length::Known(len as u64), Length::Open] {
                let bytes = in_pieces(Format::Flac, shape, length, &samples, 777);
                let (found, decoded) = decode(bytes);
                assert!(found == shape && decoded == wanted, "{shape:?} {length:?}");
            }
        }
    }

    #[test]
    fn the_header_tells_the_length_where_it_is_known() {
        let samples = speech(5_000, shape(24_000, 2));
        assert_eq!(total(&in_pieces(Format::Flac, shape(24_000, 2), Length::Known(5_000), &samples, 100)), 5_000);
        assert_eq!(total(&in_pieces(Format::Flac, shape(24_000, 2), Length::Open, &samples, 100)), 0);
        assert_eq!(Flac::open(shape(24_000, 2), Length::Known(MAX_LEN + 1)).err(), Some(EncodeError::TooLong("flac")));
    }

    #[test]
    fn a_stream_starts_within_200_ms() {
        for rate_hz in [8_000, 12_000, 16_000, 24_000, 44_100, 48_000] {
            assert!(block_len(rate_hz) <= rate_hz as usize / 5);
        }
    }
}
