//! What all encoders share: how they are opened, fed and closed, and what they refuse.

use std::fmt::Display;

#[cfg(feature = "aac")]
use super::aac::Aac;
use super::flac::Flac;
use super::mp3::Mp3;
use super::opus::Opus;
use super::pcm::Pcm;
use super::wav::Wav;
use crate::audio::Format;

/// The rates that make sense for any format; most formats allow fewer.
const RATES_HZ: std::ops::RangeInclusive<u32> = 1_000..=384_000;
/// The most channels there are.
const MAX_CHANNELS: u16 = 2;

/// What a stream of samples looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Samples of one channel in a second.
    pub sample_rate_hz: u32,
    /// Channels, whose samples are interleaved.
    pub channels: u16,
}

/// What is known of the length before the first sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// Samples a channel: the header tells it.
    Known(u64),
    /// Nothing: the audio is sent while it is made.
    Open,
}

/// A failure of an encoder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The format has no such shape.
    #[error("{format} cannot hold {channels} channels at {sample_rate_hz} Hz")]
    Shape {
        /// The format.
        format: &'static str,
        /// Samples of one channel in a second.
        sample_rate_hz: u32,
        /// Channels.
        channels: u16,
    },
    /// The format is left out of this build.
    #[error("{0} is not part of this build")]
    Unavailable(&'static str),
    /// The format has no room for so much audio.
    #[error("the audio is longer than {0} can hold")]
    TooLong(&'static str),
    /// A piece ends between the samples of two channels.
    #[error("{samples} samples are not whole frames of {channels} channels")]
    Ragged {
        /// Samples of the piece.
        samples: usize,
        /// Channels.
        channels: usize,
    },
    /// The header told another length than the samples had.
    #[error("{stated} samples a channel were announced and {pushed} came")]
    Length {
        /// Samples a channel in the header.
        stated: u64,
        /// Samples a channel that were pushed.
        pushed: u64,
    },
    /// The codec itself failed.
    #[error("{format} encoder failed: {reason}")]
    Codec {
        /// The format.
        format: &'static str,
        /// The codec's own words.
        reason: String,
    },
}

impl EncodeError {
    /// A shape that the format does not have.
    pub(super) fn shape(format: Format, shape: Shape) -> Self {
        Self::Shape { format: format.name(), sample_rate_hz: shape.sample_rate_hz, channels: shape.channels }
    }

    /// Wraps an error of a codec.
    pub(super) fn codec(format: Format, error: &dyn Display) -> Self {
        Self::Codec { format: format.name(), reason: error.to_string() }
    }
}

/// One format's part of an encoder. Samples are interleaved, whole frames, and within `-1.0..=1.0`.
pub(super) trait Codec: Send {
    /// Appends what comes before all samples: called once, first.
    fn header(&mut self, out: &mut Vec<u8>) -> Result<(), EncodeError>;

    /// Takes samples and appends what is complete.
    fn push(&mut self, samples: &[f32], out: &mut Vec<u8>) -> Result<(), EncodeError>;

    /// Appends all the rest: called once, last.
    fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), EncodeError>;
}

/// One stream of audio on its way into a format.
pub struct Encoder {
    codec: Box<dyn Codec>,
    format: Format,
    channels: usize,
    length: Length,
    pushed: u64,
    has_header: bool,
    /// Samples as codecs may see them.
    clean: Vec<f32>,
}

/// Begins a stream.
pub fn open(format: Format, shape: Shape, length: Length) -> Result<Encoder, EncodeError> {
    if !RATES_HZ.contains(&shape.sample_rate_hz) || !(1..=MAX_CHANNELS).contains(&shape.channels) {
        return Err(EncodeError::shape(format, shape));
    }
    let codec: Box<dyn Codec> = match format {
        Format::Wav => Box::new(Wav::open(shape, length)?),
        Format::Pcm => Box::new(Pcm),
        Format::Flac => Box::new(Flac::open(shape, length)?),
        Format::Mp3 => Box::new(Mp3::open(shape, length)?),
        Format::Opus => Box::new(Opus::open(shape)?),
        #[cfg(feature = "aac")]
        Format::Aac => Box::new(Aac::open(shape)?),
        #[cfg(not(feature = "aac"))]
        Format::Aac => return Err(EncodeError::Unavailable(format.name())),
    };
    let channels = usize::from(shape.channels);
    Ok(Encoder { codec, format, channels, length, pushed: 0, has_header: false, clean: Vec::new() })
}

/// All of a clip as a file.
pub fn whole(format: Format, shape: Shape, samples: &[f32]) -> Result<Vec<u8>, EncodeError> {
    let len = samples.len() / usize::from(shape.channels.max(1));
    let mut encoder = open(format, shape, Length::Known(len as u64))?;
    let mut bytes = Vec::new();
    encoder.push(samples, &mut bytes)?;
    encoder.finish(&mut bytes)?;
    Ok(bytes)
}

impl Encoder {
    /// The value of `content-type`.
    pub fn content_type(&self) -> &'static str {
        self.format.content_type()
    }

    /// Appends what comes before all samples, which is nothing for some formats. Only needed to have it apart: the first samples bring it
    /// along otherwise.
    pub fn header(&mut self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        if self.has_header {
            return Ok(());
        }
        self.has_header = true;
        self.codec.header(out)
    }

    /// Takes whole frames and appends the bytes that are complete, which may be none. What is no number counts as silence, and what is
    /// beyond full scale as full scale.
    pub fn push(&mut self, samples: &[f32], out: &mut Vec<u8>) -> Result<(), EncodeError> {
        if !samples.len().is_multiple_of(self.channels) {
            return Err(EncodeError::Ragged { samples: samples.len(), channels: self.channels });
        }
        if samples.is_empty() {
            return Ok(());
        }
        self.pushed += (samples.len() / self.channels) as u64;
        if let Length::Known(stated) = self.length
            && self.pushed > stated
        {
            return Err(EncodeError::Length { stated, pushed: self.pushed });
        }
        self.header(out)?;
        self.clean.clear();
        self.clean.extend(samples.iter().copied().map(clean));
        self.codec.push(&self.clean, out)
    }

    /// Appends all that the encoder still holds. A clip without samples is a bare header in WAV and nothing at all in other formats.
    pub fn finish(mut self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        if let Length::Known(stated) = self.length
            && self.pushed != stated
        {
            return Err(EncodeError::Length { stated, pushed: self.pushed });
        }
        if self.format == Format::Wav {
            self.header(out)?;
        }
        if self.has_header { self.codec.finish(out) } else { Ok(()) }
    }
}

fn clean(sample: f32) -> f32 {
    if sample.is_nan() { 0.0 } else { sample.clamp(-1.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{in_pieces, shape, speech};
    use super::*;
    use proptest::prelude::*;

    fn formats() -> impl Strategy<Value = Format> {
        (0..Format::ALL.len()).prop_map(|index| Format::ALL[index])
    }

    #[test]
    fn shapes_that_make_no_sense_are_refused() {
        for format in Format::ALL.iter().copied() {
            for (sample_rate_hz, channels) in [(0, 1), (999, 1), (384_001, 1), (u32::MAX, 2), (24_000, 0), (24_000, 3), (24_000, u16::MAX)]
            {
                let refused = open(format, shape(sample_rate_hz, channels), Length::Open).err();
                assert_eq!(refused, Some(EncodeError::shape(format, shape(sample_rate_hz, channels))));
            }
        }
        assert!(open(Format::Mp3, shape(20_000, 1), Length::Open).is_err());
    }

    #[test]
    fn every_model_rate_fits_every_format() {
        for format in Format::ALL.iter().copied() {
            for (rate_hz, channels) in
                [8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000].into_iter().zip([1, 2].into_iter().cycle())
            {
                assert!(open(format, shape(rate_hz, channels), Length::Open).is_ok(), "{format:?} {rate_hz}");
            }
        }
    }

    #[test]
    fn a_file_begins_with_the_mark_of_its_format() {
        let samples = speech(5_000, shape(24_000, 1));
        for (format, mark) in [(Format::Wav, &b"RIFF"[..]), (Format::Flac, b"fLaC"), (Format::Opus, b"OggS"), (Format::Mp3, b"\xff\xf3")] {
            for length in [Length::Known(5_000), Length::Open] {
                assert!(in_pieces(format, shape(24_000, 1), length, &samples, 700).starts_with(mark), "{format:?} {length:?}");
            }
        }
        #[cfg(feature = "aac")]
        assert!(in_pieces(Format::Aac, shape(24_000, 1), Length::Open, &samples, 700).starts_with(b"\xff\xf1"));
    }

    #[test]
    fn a_clip_without_samples_is_a_header_in_wav_and_nothing_elsewhere() {
        for format in Format::ALL.iter().copied() {
            let wanted = if format == Format::Wav { 44 } else { 0 };
            assert_eq!(whole(format, shape(24_000, 1), &[]).map(|bytes| bytes.len()), Ok(wanted), "{format:?}");
        }
    }

    #[test]
    fn a_header_can_be_had_apart_and_comes_once() {
        let samples = speech(5_000, shape(24_000, 1));
        for format in Format::ALL.iter().copied() {
            let mut encoder = open(format, shape(24_000, 1), Length::Open).expect("the shape fits");
            let mut bytes = Vec::new();
            encoder.header(&mut bytes).expect("there is a header");
            assert!(format != Format::Wav || bytes.len() == 44);
            encoder.header(&mut bytes).expect("there is a header");
            encoder.push(&samples, &mut bytes).expect("pieces are whole");
            encoder.finish(&mut bytes).expect("the length is open");
            assert!(bytes == in_pieces(format, shape(24_000, 1), Length::Open, &samples, 5_000), "{format:?}");
        }
    }

    #[test]
    fn a_header_without_samples_is_still_a_stream_that_ends() {
        for format in Format::ALL.iter().copied() {
            let mut encoder = open(format, shape(24_000, 1), Length::Open).expect("the shape fits");
            let mut bytes = Vec::new();
            encoder.header(&mut bytes).expect("there is a header");
            assert_eq!(encoder.finish(&mut bytes), Ok(()), "{format:?}");
        }
    }

    #[test]
    fn lengths_that_were_announced_are_kept() {
        let known = |stated| open(Format::Wav, shape(24_000, 2), Length::Known(stated)).expect("the shape fits");
        let mut bytes = Vec::new();
        assert_eq!(known(1).push(&[0.0; 4], &mut bytes), Err(EncodeError::Length { stated: 1, pushed: 2 }));
        assert_eq!(known(1).finish(&mut bytes), Err(EncodeError::Length { stated: 1, pushed: 0 }));
        assert_eq!(known(1).push(&[0.0; 3], &mut bytes), Err(EncodeError::Ragged { samples: 3, channels: 2 }));
        assert!(bytes.is_empty());
    }

    #[test]
    fn a_stream_is_the_file_apart_from_its_header() {
        for (channels, rate_hz) in [(1, 24_000), (2, 44_100), (1, 8_000)] {
            let shape = shape(rate_hz, channels);
            let samples = speech(20_011, shape);
            for (format, header) in [(Format::Wav, 44), (Format::Pcm, 0), (Format::Flac, 42), (Format::Opus, 0)] {
                let file = in_pieces(format, shape, Length::Known(20_011), &samples, 20_011);
                for piece in [1, 333, 4_096] {
                    let stream = in_pieces(format, shape, Length::Open, &samples, piece);
                    assert!(stream[header..] == file[header..], "{format:?} {piece}");
                }
            }
        }
    }

    #[test]
    fn what_is_no_number_is_silence_and_what_is_too_loud_is_cut() {
        let samples = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 7.0, -0.0];
        let bytes = whole(Format::Pcm, shape(24_000, 1), &samples).expect("the shape fits");
        assert_eq!(bytes, [0, 0, 0xFF, 0x7F, 0, 0x80, 0xFF, 0x7F, 0, 0]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn no_samples_are_too_strange(
            format in formats(),
            channels in 1_u16..=2,
            rate in prop::sample::select(vec![8_000_u32, 11_025, 16_000, 22_050, 24_000, 44_100, 48_000]),
            pieces in prop::collection::vec(prop::collection::vec(any::<f32>(), 0..700), 0..4),
        ) {
            let mut encoder = open(format, shape(rate, channels), Length::Open).expect("the shape fits");
            let mut bytes = Vec::new();
            for piece in &pieces {
                let whole = piece.len() % usize::from(channels) == 0;
                prop_assert_eq!(encoder.push(piece, &mut bytes).is_ok(), whole);
            }
            prop_assert_eq!(encoder.finish(&mut bytes), Ok(()));
        }
    }
}
