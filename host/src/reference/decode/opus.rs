//! Opus packets of any container: Ogg, WebM, MP4.

use opus_pure::{MAX_PACKET_SAMPLES, OpusDecoder};
use symphonia::core::packet::Packet;

use super::mono::Mono;
use crate::reference::ReferenceError;

/// Opus is decoded at the rate it works at.
const RATE_HZ: u32 = 48_000;

/// A stream of Opus packets.
pub struct Opus {
    decoder: OpusDecoder,
    channels: usize,
    /// Samples a channel that are still to be dropped: the encoder's delay.
    skip: usize,
    block: Vec<f32>,
}

impl Opus {
    /// Begins a stream from its identification header (RFC 7845, 5.1).
    pub fn open(head: &[u8]) -> Result<Self, ReferenceError> {
        let Some((channels, skip)) = read_head(head) else {
            return Err(ReferenceError::Corrupted("its Opus header is broken".to_owned()));
        };
        if !(1..=2).contains(&channels) {
            return Err(ReferenceError::Unsupported(format!("Opus with {channels} channels is not supported, use one or two")));
        }
        let decoder = OpusDecoder::new(RATE_HZ as i32, channels).map_err(|error| ReferenceError::Corrupted(error.to_string()))?;
        Ok(Self { decoder, channels, skip, block: vec![0.0; MAX_PACKET_SAMPLES * channels] })
    }

    /// Decodes a packet; false when it is damaged.
    pub fn decode(&mut self, packet: &Packet, mono: &mut Mono) -> Result<bool, ReferenceError> {
        let Ok(frames) = self.decoder.decode(&packet.data, MAX_PACKET_SAMPLES, &mut self.block) else { return Ok(false) };
        let end = frames.saturating_sub(usize::try_from(packet.trim_end.get()).unwrap_or(usize::MAX));
        let start = self.skip.min(frames);
        self.skip -= start;
        let kept = self.block.get(start * self.channels..end * self.channels).unwrap_or_default();
        mono.take(RATE_HZ, self.channels, kept).map(|()| true)
    }
}

/// Channels and pre-skip of an `OpusHead`.
fn read_head(head: &[u8]) -> Option<(usize, usize)> {
    let rest = head.strip_prefix(b"OpusHead")?;
    let [_version, channels, low, high, ..] = rest else { return None };
    Some((usize::from(*channels), usize::from(u16::from_le_bytes([*low, *high]))))
}
