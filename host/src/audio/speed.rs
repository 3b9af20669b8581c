//! Faster or slower speech at the same pitch, piece by piece: waveform-similarity overlap-add.
//!
//! The output is made of blocks of one length. Each block begins with a cross-fade from how the block before would have gone on to a place
//! in the input near the one that the speed asks for: the place, within a search range, whose waveform is most like that continuation. Where
//! the best place is the continuation itself, the input is copied. No place is taken relative to the one before, so nothing drifts.

use std::f32::consts::PI;

use super::dot::dot;

/// The slowest and the fastest speed there is.
pub const SPEEDS: std::ops::RangeInclusive<f64> = 0.25..=4.0;

/// A block of output.
const BLOCK_MS: u32 = 20;
/// The cross-fade at the start of a block, which is also the length over which waveforms are compared.
const FADE_MS: u32 = 10;
/// How far from the wanted place a block may be taken, to either side; both together hold a period of the lowest voice.
const SEARCH_MS: u32 = 10;
/// The energy of a sample that counts as silence, where every place is as good as another.
const SILENCE: f32 = 1e-9;
/// The rates that make sense.
const RATES_HZ: std::ops::RangeInclusive<u32> = 1_000..=384_000;
/// Frames that may lie behind the search before they are dropped.
const SLACK: usize = 16_384;

/// A stream whose speed cannot be changed so.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("audio at {sample_rate_hz} Hz with {channels} channels cannot be played {speed} times as fast")]
pub struct SpeedError {
    sample_rate_hz: u32,
    channels: u16,
    speed: f64,
}

/// Samples a channel that come out of `len` samples a channel.
pub fn output_len(len: u64, speed: f64) -> u64 {
    (len as f64 / speed).round() as u64
}

/// One stream at another speed. Samples of several channels are interleaved.
pub struct Stretch {
    speed: f64,
    channels: usize,
    /// All in frames, which are one sample of each channel.
    block: usize,
    reach: usize,
    fade: Vec<f32>,
    input: Vec<f32>,
    /// Frames that were dropped before those in `input`.
    dropped: u64,
    consumed: u64,
    blocks: u64,
    /// Where the block before the next one would go on.
    onward: u64,
    /// The last place a block may be taken from: known at the end only.
    last_start: u64,
}

impl Stretch {
    /// Begins a stream.
    pub fn new(sample_rate_hz: u32, channels: u16, speed: f64) -> Result<Self, SpeedError> {
        if !SPEEDS.contains(&speed) || !RATES_HZ.contains(&sample_rate_hz) || channels == 0 {
            return Err(SpeedError { sample_rate_hz, channels, speed });
        }
        let frames = |ms: u32| (sample_rate_hz * ms / 1_000) as usize;
        let fade = frames(FADE_MS);
        let rise = |at: usize| 0.5 - 0.5 * (PI * (at as f32 + 0.5) / fade as f32).cos();
        Ok(Self {
            speed,
            channels: usize::from(channels),
            block: frames(BLOCK_MS),
            reach: frames(SEARCH_MS),
            fade: (0..fade).map(rise).collect(),
            input: Vec::new(),
            dropped: 0,
            consumed: 0,
            blocks: 0,
            onward: 0,
            last_start: u64::MAX,
        })
    }

    /// Takes whole frames (a last part of a frame is left out) and appends what is complete. What is no number counts as silence.
    pub fn push(&mut self, samples: &[f32], out: &mut Vec<f32>) {
        let frames = samples.len() / self.channels;
        self.consumed += frames as u64;
        self.input.extend(samples[..frames * self.channels].iter().map(|sample| if sample.is_finite() { *sample } else { 0.0 }));
        while self.needed() <= self.consumed {
            self.make_block(out);
        }
        self.forget();
    }

    /// Appends the rest: after it, exactly [`output_len`] samples a channel have come out.
    pub fn finish(mut self, out: &mut Vec<f32>) {
        let total = output_len(self.consumed, self.speed);
        self.last_start = self.consumed.saturating_sub(self.block as u64);
        while self.blocks * (self.block as u64) < total {
            let missing = self.needed().saturating_sub(self.dropped) as usize * self.channels;
            self.input.resize(self.input.len().max(missing), 0.0);
            let surplus = ((self.blocks + 1) * self.block as u64).saturating_sub(total) as usize;
            self.make_block(out);
            out.truncate(out.len() - surplus * self.channels);
        }
    }

    /// The frame in the input at which the speed places the start of a block.
    fn wanted(&self, block: u64) -> u64 {
        ((block * self.block as u64) as f64 * self.speed).round() as u64
    }

    /// The input that the next block needs: all that the search may take, and all that the speed makes into this block, so that no block is
    /// made that a shorter input would not have.
    fn needed(&self) -> u64 {
        let searched = self.wanted(self.blocks) + (self.reach + self.block) as u64;
        let continued = self.onward + self.block as u64;
        searched.max(continued).max(self.wanted(self.blocks + 1) + 1)
    }

    fn make_block(&mut self, out: &mut Vec<f32>) {
        let start = self.best_start();
        let fresh = self.frames(start, self.block);
        if start == self.onward {
            out.extend_from_slice(fresh);
        } else {
            let fade = self.fade.iter().flat_map(|rise| std::iter::repeat_n(rise, self.channels));
            let old = self.frames(self.onward, self.fade.len());
            out.extend(fade.zip(old.iter().zip(fresh)).map(|(rise, (old, new))| old + (new - old) * rise));
            out.extend_from_slice(&fresh[old.len()..]);
        }
        self.onward = start + self.block as u64;
        self.blocks += 1;
    }

    /// The place near the wanted one whose waveform goes on best from the block before; of equals, the first that is nearest.
    fn best_start(&self) -> u64 {
        let wanted = self.wanted(self.blocks).min(self.last_start);
        if self.blocks == 0 {
            return wanted;
        }
        let pattern = self.frames(self.onward, self.fade.len());
        let (mut best, mut best_likeness) = (wanted, self.likeness(pattern, wanted));
        for distance in 1..=self.reach as u64 {
            let later = Some(wanted + distance).filter(|start| *start <= self.last_start);
            for start in [wanted.checked_sub(distance), later].into_iter().flatten() {
                let likeness = self.likeness(pattern, start);
                if likeness > best_likeness {
                    (best, best_likeness) = (start, likeness);
                }
            }
        }
        best
    }

    /// The correlation of a pattern with a place, up to a factor that is the same for every place.
    fn likeness(&self, pattern: &[f32], start: u64) -> f32 {
        let candidate = self.frames(start, self.fade.len());
        dot(pattern, candidate) / (dot(candidate, candidate) + SILENCE * candidate.len() as f32).sqrt()
    }

    /// A run of input that has been checked to be there.
    fn frames(&self, start: u64, len: usize) -> &[f32] {
        let start = start.saturating_sub(self.dropped) as usize;
        &self.input[start * self.channels..(start + len) * self.channels]
    }

    /// Drops input that no later block can reach.
    fn forget(&mut self) {
        let first = self.wanted(self.blocks).saturating_sub(self.reach as u64).min(self.onward);
        let unused = first.min(self.consumed).saturating_sub(self.dropped) as usize;
        if unused >= SLACK {
            self.input.drain(..unused * self.channels);
            self.dropped += unused as u64;
        }
    }
}
