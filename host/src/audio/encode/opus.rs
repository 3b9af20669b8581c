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
        let mut encoder = OpusEncoder::new(rate_hz as i32, usize::from(shape.channels), Application::Audio).map_err(|_| refused.clone())?;
        encoder.bitrate_bps = bitrate_bps(rate_hz, shape.channels);
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
        while let Some(missing) = self.missing() {
            self.waiting.resize(self.packet_len(), 0.0);
            self.encode_packet(0, missing.min(GRANULE_HZ / PACKETS_HZ))?;
            self.waiting.clear();
        }
        Ok(())
    }

    /// How much of the audio no packet holds yet; none where that is nothing.
    fn missing(&self) -> Option<u32> {
        let end = u64::from(self.head.pre_skip) + self.len * u64::from(GRANULE_HZ / self.rate_hz());
        let coded = self.writer.as_ref()?.granule().unsigned_abs();
        u32::try_from(end.saturating_sub(coded)).ok().filter(|missing| *missing > 0)
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

/// A bit rate at which speech is hard to tell from the original: 32 to 64 kilobits a second in mono.
fn bitrate_bps(rate_hz: u32, channels: u16) -> i32 {
    let mono = (16_000 + 2 * rate_hz).min(64_000) as i32;
    if channels == 1 { mono } else { mono * 3 / 2 }
}

fn failed(error: opus_pure::Error) -> EncodeError {
    EncodeError::codec(Format::Opus, &error)
}

#[cfg(test)]
mod tests {
    use super::super::encoder::Length;
    use super::super::testing::{end_likeness, in_pieces, likeness, shape, speech};
    use super::super::{open, whole};
    use super::*;
    use opus_pure::{MAX_PACKET_SAMPLES, OggOpusReader, Trim};
    use std::io::Cursor;

    const BEGIN: u8 = 2;
    const END: u8 = 4;

    /// The pages of a file: flags, and how many samples at 48 kHz are over after it.
    fn pages(file: &[u8]) -> Vec<(u8, u64)> {
        let mut pages = Vec::new();
        let mut rest = file;
        while rest.len() > 27 {
            assert!(rest.starts_with(b"OggS"));
            let segments = usize::from(rest[26]);
            let body: usize = rest[27..27 + segments].iter().map(|len| usize::from(*len)).sum();
            pages.push((rest[5], u64::from_le_bytes(rest[6..14].try_into().expect("eight bytes"))));
            rest = &rest[27 + segments + body..];
        }
        assert!(rest.is_empty());
        pages
    }

    /// What a listener hears at 48 kHz.
    fn decode(file: &[u8]) -> (OpusHead, Vec<f32>) {
        let mut reader = OggOpusReader::new(Cursor::new(file)).expect("it is Ogg");
        let head = reader.head().clone();
        let channels = usize::from(head.channel_count);
        let mut decoder = head.decoder(48_000).expect("it is Opus");
        let mut trim = Trim::new(&head, 48_000, channels).expect("it is Opus");
        let (mut block, mut samples) = (vec![0.0; MAX_PACKET_SAMPLES * channels], Vec::new());
        for packet in reader.packets() {
            let packet = packet.expect("it is whole");
            let len = decoder.decode(&packet.data, MAX_PACKET_SAMPLES, &mut block).expect("it is whole");
            samples.extend_from_slice(trim.keep(&packet, &block[..len * channels]));
        }
        (head, samples)
    }

    fn at_48_khz(samples: &[f32], shape: Shape) -> Vec<f32> {
        let mut resampler = Resampler::new(shape.sample_rate_hz, 48_000, shape.channels).expect("the rates are near");
        let mut out = Vec::new();
        resampler.push(samples, &mut out);
        resampler.finish(&mut out);
        out
    }

    #[test]
    fn a_listener_hears_exactly_the_audio_at_every_rate() {
        let rates = [8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000];
        for (rate_hz, channels) in rates.into_iter().zip([1, 2].into_iter().cycle()) {
            let shape = shape(rate_hz, channels);
            let samples = speech(rate_hz as usize + 7, shape);
            let (head, decoded) = decode(&in_pieces(Format::Opus, shape, Length::Open, &samples, 999));
            let wanted = at_48_khz(&samples, shape);
            assert_eq!((head.input_sample_rate, u16::from(head.channel_count), head.pre_skip), (rate_hz, channels, 312));
            // The rate in between may round up by one of its own samples.
            let surplus = (decoded.len() as i64 - wanted.len() as i64) / i64::from(channels);
            assert!((0..6).contains(&surplus), "{shape:?}: {surplus}");
            let shape = Shape { sample_rate_hz: 48_000, channels };
            let likeness = (likeness(&decoded, &wanted, shape), end_likeness(&decoded, &wanted, shape));
            assert!(likeness.0 > 0.99 && likeness.1 > 0.95, "{rate_hz} Hz: {likeness:?}");
        }
    }

    #[test]
    fn the_last_page_ends_the_stream_where_the_audio_ends() {
        for len in [1, 959, 960, 961, 48_000, 12_345] {
            let shape = shape(24_000, 1);
            let pages = pages(&whole(Format::Opus, shape, &speech(len, shape)).expect("the shape fits"));
            assert_eq!((pages[0], pages[1]), ((BEGIN, 0), (0, 0)));
            assert_eq!(pages.last(), Some(&(END, 312 + 2 * len as u64)));
            assert!(pages.is_sorted_by_key(|(_, over)| *over) && pages.iter().filter(|(flags, _)| flags & END != 0).count() == 1);
        }
    }

    #[test]
    fn a_stream_starts_at_once_and_never_waits_long() {
        let shape = shape(24_000, 1);
        let mut encoder = open(Format::Opus, shape, Length::Open).expect("the shape fits");
        let mut bytes = Vec::new();
        let mut silent_ms = 0;
        for (step, piece) in speech(24_000, shape).chunks(240).enumerate() {
            let before = bytes.len();
            encoder.push(piece, &mut bytes).expect("pieces are whole");
            silent_ms = if bytes.len() > before { 0 } else { silent_ms + 10 };
            assert!(silent_ms <= 120, "{silent_ms} ms without a page");
            assert!(step < 4 || pages(&bytes).len() > 2, "no audio after 50 ms");
        }
    }
}
