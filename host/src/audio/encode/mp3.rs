//! MPEG audio layer III at a constant bit rate.
//!
//! Each frame stands alone (no bits are borrowed from the frame before), so a frame can be sent as soon as its samples are there, and a
//! stream has the very frames of a file. A file begins with the tag that LAME made common: length, places to seek to, and how many samples
//! the codec added at both ends. That can be told only at the end, so a stream goes without, and what plays it adds 1057 samples in front.

use rusty_mp3::encode::lametag::{self, TagInfo, TagStats};
use rusty_mp3::header::FrameHeader;
use rusty_mp3::{Mp3Encode, encoder_header};

use super::encoder::{Codec, EncodeError, Length, Shape};
use super::planes::Planes;
use crate::audio::Format;

/// Codes blocks of one length.
pub struct Mp3 {
    engine: Mp3Encode,
    header: FrameHeader,
    channels: usize,
    waiting: Planes,
    pushed: u64,
    frames: u64,
    /// The frames so far, where they are to be a file.
    file: Option<File>,
}

impl Mp3 {
    /// Begins a stream.
    pub fn open(shape: Shape, length: Length) -> Result<Self, EncodeError> {
        let header = encoder_header(shape.sample_rate_hz, shape.channels, bitrate_kbps(shape));
        let header = header.map_err(|_| EncodeError::shape(Format::Mp3, shape))?;
        Ok(Self {
            engine: Mp3Encode::new(),
            file: (length != Length::Open).then(|| File::new(&header)),
            header,
            channels: usize::from(shape.channels),
            waiting: Planes::new(shape.channels),
            pushed: 0,
            frames: 0,
        })
    }

    fn frame_len(&self) -> usize {
        self.header.version.samples_per_frame()
    }

    /// Codes every frame that is complete.
    fn encode(&mut self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let len = self.frame_len();
        let full = self.waiting.len() / len;
        for start in (0..full).map(|number| number * len) {
            let planes = self.waiting.part(start..start + len);
            let frame = self.engine.encode_frame(&self.header, &planes[..self.channels], None);
            let frame = frame.map_err(|error| EncodeError::codec(Format::Mp3, &error))?;
            match &mut self.file {
                Some(file) => file.add(&frame),
                None => out.extend_from_slice(&frame),
            }
        }
        self.frames += full as u64;
        self.waiting.drop_front(full * len);
        Ok(())
    }
}

impl Codec for Mp3 {
    fn header(&mut self, _out: &mut Vec<u8>) -> Result<(), EncodeError> {
        Ok(())
    }

    fn push(&mut self, samples: &[f32], out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.pushed += (samples.len() / self.channels) as u64;
        self.waiting.extend(samples);
        self.encode(out)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        // Silence behind the last sample, until it has passed through the delays of encoder and decoder.
        let missing = lametag::frames_for(self.pushed, lametag::ENCODER_DELAY, self.frame_len()) - self.frames;
        self.waiting.pad(missing as usize * self.frame_len());
        self.encode(out)?;
        if let Some(file) = &self.file {
            file.write(lametag::padding_for(self.pushed, lametag::ENCODER_DELAY, self.frame_len()) as usize, out);
        }
        Ok(())
    }
}

/// Frames that wait for the tag in front of them.
struct File {
    tag: FrameHeader,
    stats: TagStats,
    frames: Vec<u8>,
}

impl File {
    fn new(frame: &FrameHeader) -> Self {
        let tag = lametag::tag_header(frame);
        Self { stats: TagStats::new(tag.frame_size()), tag, frames: Vec::new() }
    }

    fn add(&mut self, frame: &[u8]) {
        self.stats.add_frame(frame);
        self.frames.extend_from_slice(frame);
    }

    fn write(&self, padding: usize, out: &mut Vec<u8>) {
        let info = TagInfo { vbr: false, delay: lametag::ENCODER_DELAY, padding };
        out.extend_from_slice(&lametag::tag_frame(&self.tag, &self.stats, &info));
        out.extend_from_slice(&self.frames);
    }
}

/// Bit rates of one channel at which speech is hard to tell from the original, up to a sample rate each.
const MONO_KBPS: [(u32, u32); 3] = [(12_000, 48), (16_000, 64), (24_000, 96)];
/// The bit rate of one channel at sample rates above those.
const FULL_KBPS: u32 = 128;

fn bitrate_kbps(shape: Shape) -> u32 {
    let known = MONO_KBPS.into_iter().find(|(rate_hz, _)| shape.sample_rate_hz <= *rate_hz);
    let mono = known.map_or(FULL_KBPS, |(_, kbps)| kbps);
    if shape.channels == 1 { mono } else { mono * 3 / 2 }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{decode, end_likeness, in_pieces, likeness, shape, speech};
    use super::*;

    const SHAPES: [(u32, u16); 9] =
        [(8_000, 1), (11_025, 2), (12_000, 1), (16_000, 1), (22_050, 1), (24_000, 2), (32_000, 1), (44_100, 2), (48_000, 1)];
    /// What a decoder puts in front of the audio where no tag tells it not to.
    const DELAY: usize = lametag::ENCODER_DELAY + lametag::DECODER_DELAY;

    #[test]
    fn another_decoder_finds_all_of_a_file_and_nothing_more() {
        for shape in SHAPES.map(|(rate_hz, channels)| shape(rate_hz, channels)) {
            let samples = speech(30_000, shape);
            let (found, decoded) = decode(in_pieces(Format::Mp3, shape, Length::Known(30_000), &samples, 999));
            assert_eq!((found, decoded.len()), (shape, samples.len()));
            let likeness = (likeness(&decoded, &samples, shape), end_likeness(&decoded, &samples, shape));
            assert!(likeness.0 > 0.99 && likeness.1 > 0.95, "{shape:?}: {likeness:?}");
        }
    }

    #[test]
    fn another_decoder_finds_all_of_a_stream_behind_the_delay() {
        for shape in SHAPES.map(|(rate_hz, channels)| shape(rate_hz, channels)) {
            let samples = speech(30_000, shape);
            let (found, decoded) = decode(in_pieces(Format::Mp3, shape, Length::Open, &samples, 999));
            assert_eq!(found, shape);
            let channels = usize::from(shape.channels);
            let surplus = decoded.len() / channels - 30_000;
            assert!((DELAY..DELAY + 1_152).contains(&surplus), "{shape:?}: {surplus}");
            let decoded = &decoded[DELAY * channels..];
            let likeness = (likeness(decoded, &samples, shape), end_likeness(decoded, &samples, shape));
            assert!(likeness.0 > 0.99 && likeness.1 > 0.95, "{shape:?}: {likeness:?}");
        }
    }

    #[test]
    fn a_file_is_its_tag_and_the_stream() {
        let shape = shape(24_000, 1);
        let samples = speech(10_000, shape);
        let file = in_pieces(Format::Mp3, shape, Length::Known(10_000), &samples, 10_000);
        let stream = in_pieces(Format::Mp3, shape, Length::Open, &samples, 123);
        assert!(file[file.len() - stream.len()..] == stream);
        assert_eq!(&file[13..17], b"Info");
    }

    #[test]
    fn even_one_sample_is_a_file() {
        for shape in SHAPES.map(|(rate_hz, channels)| shape(rate_hz, channels)) {
            let (found, decoded) = decode(in_pieces(Format::Mp3, shape, Length::Known(1), &speech(1, shape), 1));
            assert!(found == shape && decoded.len() <= 1_152 * usize::from(shape.channels), "{shape:?}: {}", decoded.len());
        }
    }
}
