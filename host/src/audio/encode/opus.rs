//! Opus in Ogg.
//!
//! Opus knows five rates; audio at another is brought to the next higher one. The head tells the true rate and the encoder's delay, and the
//! last page a length that is exact, as RFC 7845 has it.

use opus_pure::{Application, MAX_PACKET_BYTES, OggOpusWriter, OpusEncoder, OpusHead, RateControl};

use super::encoder::{Codec, EncodeError, Shape};
use crate::audio::Format;
use crate::audio::resample::Resampler;

/// The rates that Opus takes.
const RATES_HZ: [u32; 5] = [8_000, 12_000, 16_000, 24_000, 48_000];
/// The rate at which Ogg counts, whatever the rate of the audio is.
const GRANULE_HZ: u32 = 48_000;
/// Packets a second.
const PACKETS_HZ: u32 = 50;
/// Packets on a page: what a listener waits for is one more, 120 ms.
const PAGE_PACKETS: u32 = 5;
/// A page is closed by the packet after it once it holds this many bytes: never, and in any case.
const PAGE_OPEN: usize = usize::MAX;
const PAGE_FULL: usize = 1;

/// Codes packets of one length.
pub struct Opus {
    encoder: OpusEncoder,
    head: OpusHead,
    resampler: Option<Resampler>,
    writer: Option<OggOpusWriter<Vec<u8>>>,
    /// Interleaved samples, at the rate of the encoder, that do not fill a packet yet.
    waiting: Vec<f32>,
    /// Samples a channel, at the rate of the encoder, that came so far.
    len: u64,
    page: Page,
    packet: Vec<u8>,
}

/// The page that is being filled.
#[derive(Default)]
struct Page {
    packets: u32,
    /// Whether it is not the first.
    is_later: bool,
}

impl Opus {
    /// Begins a stream.
    pub fn open(shape: Shape) -> Result<Self, EncodeError> {
        let refused = EncodeError::shape(Format::Opus, shape);
        let rate_hz = RATES_HZ.into_iter().find(|rate_hz| *rate_hz >= shape.sample_rate_hz).unwrap_or(GRANULE_HZ);
        let resampler = (rate_hz != shape.sample_rate_hz).then(|| Resampler::new(shape.sample_rate_hz, rate_hz, shape.channels));
        let mut encoder =
            OpusEncoder::new(rate_hz as i32, usize::from(shape.channels), Application::Audio).map_err(|_| refused.clone())?;
        encoder.bitrate_bps = if shape.channels == 1 { 64_000 } else { 96_000 };
        encoder.rate_control = RateControl::Vbr;
        Ok(Self {
            head: OpusHead::for_encoder(&encoder, shape.sample_rate_hz),
            encoder,
            resampler: resampler.transpose().map_err(|_| refused)?,
            writer: None,
            waiting: Vec::new(),
            len: 0,
            page: Page::default(),
            packet: vec![0; MAX_PACKET_BYTES],
        })
    }

    fn rate_hz(&self) -> u32 {
        self.encoder.sample_rate().unsigned_abs()
    }

    /// Samples of all channels in a packet.
    fn packet_len(&self) -> usize {
        (self.rate_hz() / PACKETS_HZ) as usize * self.encoder.channels()
    }

    /// Takes interleaved samples that wait from `from` on, at the rate of the encoder, and codes every packet that is complete.
    fn encode(&mut self, from: usize) -> Result<(), EncodeError> {
        self.len += ((self.waiting.len() - from) / self.encoder.channels()) as u64;
        let packet = self.packet_len();
        let full = self.waiting.len() / packet;
        for start in (0..full).map(|number| number * packet) {
            self.encode_packet(start, GRANULE_HZ / PACKETS_HZ)?;
        }
        self.waiting.drain(..full * packet);
        Ok(())
    }

    /// Codes the packet that starts at a sample; a listener keeps the first `granules` of it.
    fn encode_packet(&mut self, start: usize, granules: u32) -> Result<(), EncodeError> {
        let samples = &self.waiting[start..start + self.packet_len()];
        let len = samples.len() / self.encoder.channels();
        let bytes = self.encoder.encode(samples, len, &mut self.packet).map_err(failed)?;
        let Some(writer) = &mut self.writer else { return Ok(()) };
        writer.set_page_target(if self.page.is_full() { PAGE_FULL } else { PAGE_OPEN });
        writer.write_packet_with_duration(&self.packet[..bytes], granules).map_err(failed)?;
        self.page.add();
        Ok(())
    }

    /// Codes what is left, with silence behind it, until the delay of the encoder has passed.
    fn encode_rest(&mut self) -> Result<(), EncodeError> {
        let end = u64::from(self.head.pre_skip) + self.len * u64::from(GRANULE_HZ / self.rate_hz());
        let packet = GRANULE_HZ / PACKETS_HZ;
        loop {
            let coded = self.writer.as_ref().map_or(0, |writer| writer.granule().unsigned_abs());
            let missing = u32::try_from(end.saturating_sub(coded)).unwrap_or(u32::MAX);
            if missing == 0 {
                return Ok(());
            }
            self.waiting.resize(self.packet_len(), 0.0);
            self.encode_packet(0, missing.min(packet))?;
            self.waiting.clear();
        }
    }

    /// Moves the pages that are complete.
    fn drain(&mut self, out: &mut Vec<u8>) {
        if let Some(pages) = self.writer.as_mut().and_then(OggOpusWriter::get_mut) {
            out.append(pages);
        }
    }
}

impl Codec for Opus {
    fn header(&mut self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.writer = Some(OggOpusWriter::new(Vec::new(), self.head.clone()).map_err(failed)?);
        self.drain(out);
        Ok(())
    }

    fn push(&mut self, samples: &[f32], out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let before = self.waiting.len();
        match &mut self.resampler {
            Some(resampler) => resampler.push(samples, &mut self.waiting),
            None => self.waiting.extend_from_slice(samples),
        }
        self.encode(before)?;
        self.drain(out);
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let before = self.waiting.len();
        if let Some(resampler) = self.resampler.take() {
            resampler.finish(&mut self.waiting);
        }
        self.encode(before)?;
        self.encode_rest()?;
        if let Some(writer) = self.writer.take() {
            out.append(&mut writer.finish().map_err(failed)?);
        }
        Ok(())
    }
}

impl Page {
    /// Whether the next packet begins another page. The first page holds one packet, so that a stream starts at once.
    fn is_full(&self) -> bool {
        self.packets >= if self.is_later { PAGE_PACKETS } else { 1 }
    }

    fn add(&mut self) {
        if self.is_full() {
            *self = Self { packets: 0, is_later: true };
        }
        self.packets += 1;
    }
}

fn failed(error: opus_pure::Error) -> EncodeError {
    EncodeError::codec(Format::Opus, &error)
}
