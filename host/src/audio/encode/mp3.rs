//! MPEG audio layer III at a constant bit rate.
//!
//! Each frame stands alone (no bits are borrowed from the frame before), so a frame can be sent as soon as its samples are there, and a
//! stream has the very frames of a file. A file begins with a tag that tells its length and how many samples codec delay and padding add.

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
    /// The file so far, where it is to have a tag.
    file: Option<File>,
}

/// Frames that wait for the tag in front of them, which sums them up.
struct File {
    tag: FrameHeader,
    stats: TagStats,
    bytes: Vec<u8>,
}

impl Mp3 {
    /// Begins a stream.
    pub fn open(shape: Shape, length: Length) -> Result<Self, EncodeError> {
        let kbps = bitrate_kbps(shape);
        let header =
            encoder_header(shape.sample_rate_hz, shape.channels, kbps).map_err(|_| EncodeError::shape(Format::Mp3, shape))?;
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
        if self.pushed == 0 {
            return Ok(());
        }
        // Silence behind the last sample, until it has passed through the delays of encoder and decoder.
        let missing = lametag::frames_for(self.pushed, lametag::ENCODER_DELAY, self.frame_len()) - self.frames;
        self.waiting.pad(missing as usize * self.frame_len());
        self.encode(out)?;
        if let Some(file) = &self.file {
            let padding = lametag::padding_for(self.pushed, lametag::ENCODER_DELAY, self.frame_len()) as usize;
            file.write(padding, out);
        }
        Ok(())
    }
}

impl File {
    fn new(frame: &FrameHeader) -> Self {
        let tag = lametag::tag_header(frame);
        Self { stats: TagStats::new(tag.frame_size()), tag, bytes: Vec::new() }
    }

    fn add(&mut self, frame: &[u8]) {
        self.stats.add_frame(frame);
        self.bytes.extend_from_slice(frame);
    }

    fn write(&self, padding: usize, out: &mut Vec<u8>) {
        let info = TagInfo { vbr: false, delay: lametag::ENCODER_DELAY, padding };
        out.extend_from_slice(&lametag::tag_frame(&self.tag, &self.stats, &info));
        out.extend_from_slice(&self.bytes);
    }
}

/// A bit rate at which speech is hard to tell from the original.
fn bitrate_kbps(shape: Shape) -> u32 {
    let mono = match shape.sample_rate_hz {
        ..=12_000 => 48,
        ..=16_000 => 64,
        ..=24_000 => 96,
        _ => 128,
    };
    if shape.channels == 1 { mono } else { mono * 3 / 2 }
}
