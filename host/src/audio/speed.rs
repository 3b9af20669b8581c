//! Faster or slower speech at the same pitch, piece by piece: waveform-similarity overlap-add.
//!
//! The output is made of blocks of one length. Each block begins with a cross-fade from how the block before would have gone on to a place
//! in the input near the one that the speed asks for: the place, within a search range, whose waveform is most like that continuation.
//! Where the best place is the continuation itself, the input is copied. No place is taken relative to the one before, so nothing drifts.

use std::f32::consts::PI;

use super::dot::dot;

/// The slowest and the fastest speed there is.
pub const SPEEDS: std::ops::RangeInclusive<f64> = 0.25..=4.0;

/// A block of output.
const BLOCK_MS: u32 = 10;
/// The cross-fade at the start of a block, which is also the length over which waveforms are compared.
const FADE_MS: u32 = 6;
/// How far from the wanted place a block may be taken, to either side; both together hold a period of the lowest voice.
const SEARCH_MS: u32 = 8;
/// The energy of a sample that counts as nothing, where every place is as good as another.
const SILENCE: f32 = 1e-13;
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
    /// Output in a block, in frames: one sample of each channel.
    block: usize,
    /// Frames that the search goes to either side.
    reach: usize,
    /// The weight of the new place along the cross-fade.
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

    /// The place near the wanted one whose waveform goes on best from the block before; of equals the nearest.
    fn best_start(&self) -> u64 {
        let wanted = self.wanted(self.blocks);
        if wanted == self.onward {
            return wanted;
        }
        let wanted = wanted.min(self.last_start);
        let pattern = self.frames(self.onward, self.fade.len());
        let energy = dot(pattern, pattern) + SILENCE * pattern.len() as f32;
        // One half where both are the same; less where shape or loudness differ.
        let likeness = |start: u64| {
            let candidate = self.frames(start, self.fade.len());
            dot(pattern, candidate) / (energy + dot(candidate, candidate))
        };
        let (mut best, mut best_likeness) = (wanted, likeness(wanted));
        for distance in 1..=self.reach as u64 {
            let later = Some(wanted + distance).filter(|start| *start <= self.last_start);
            for start in [wanted.checked_sub(distance), later].into_iter().flatten() {
                let found = likeness(start);
                if found > best_likeness {
                    (best, best_likeness) = (start, found);
                }
            }
        }
        best
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::f32::consts::TAU;

    const RATE_HZ: u32 = 24_000;

    fn in_pieces(samples: &[f32], channels: u16, speed: f64, pieces: &[usize]) -> Vec<f32> {
        let mut stretch = Stretch::new(RATE_HZ, channels, speed).expect("the speed is there");
        let (mut out, mut rest) = (Vec::new(), samples);
        for piece in pieces.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (now, later) = rest.split_at((piece * usize::from(channels)).min(rest.len()));
            stretch.push(now, &mut out);
            rest = later;
        }
        stretch.finish(&mut out);
        out
    }

    /// A voice of one pitch whose loudness swells and fades.
    fn voice(pitch_hz: f32, len: usize) -> Vec<f32> {
        let time = |at: usize| at as f32 / RATE_HZ as f32;
        let sample = |time: f32| (1..=8_u8).map(|n| (TAU * pitch_hz * time * f32::from(n)).sin() / f32::from(n)).sum::<f32>();
        (0..len).map(|at| 0.3 * (0.6 + 0.4 * (TAU * 2.0 * time(at)).sin()) * sample(time(at))).collect()
    }

    /// The pitch in the middle, as the distance at which the waveform is most like itself.
    fn pitch_hz(samples: &[f32]) -> f32 {
        let middle = &samples[samples.len() / 2 - 1_200..samples.len() / 2 + 1_200];
        let likeness = |lag: usize| {
            let (early, late) = (&middle[..1_800], &middle[lag..lag + 1_800]);
            dot(early, late) / (dot(early, early) * dot(late, late)).sqrt()
        };
        // From 400 down to 60 Hz: of the multiples of a period, the first that is as good as any.
        let best = (60..400).map(likeness).fold(0.0, f32::max);
        let lag = (60..400).find(|lag| likeness(*lag) > 0.98 * best && likeness(*lag) >= likeness(*lag + 1)).unwrap_or(1);
        RATE_HZ as f32 / lag as f32
    }

    fn steepest(samples: &[f32]) -> f32 {
        samples.windows(2).map(|pair| (pair[1] - pair[0]).abs()).fold(0.0, f32::max)
    }

    #[test]
    fn speech_keeps_its_pitch_and_gets_no_clicks() {
        for wanted_hz in [85.0, 120.0, 210.0, 320.0] {
            let samples = voice(wanted_hz, 24_000);
            for speed in [0.25, 0.5, 0.8, 1.2, 1.5, 2.0, 3.0, 4.0] {
                let out = in_pieces(&samples, 1, speed, &[960]);
                let found_hz = pitch_hz(&out);
                assert!((found_hz / wanted_hz - 1.0).abs() < 0.02, "{wanted_hz} Hz became {found_hz} at {speed}");
                assert!(steepest(&out) < 1.1 * steepest(&samples), "a click at {wanted_hz} Hz and {speed}");
            }
        }
    }

    #[test]
    fn loudness_runs_along_at_the_new_speed() {
        let samples: Vec<f32> =
            [0.0, 1.0, 0.0, 0.5].into_iter().flat_map(|level| voice(150.0, 12_000).into_iter().map(move |x| level * x)).collect();
        for speed in [0.5, 1.3, 2.0, 4.0] {
            let out = in_pieces(&samples, 1, speed, &[500]);
            let energy = |part: usize| dot(&out[part * out.len() / 4..][..out.len() / 4], &out[part * out.len() / 4..][..out.len() / 4]);
            assert!(energy(0) < 0.05 * energy(1) && energy(2) < 0.05 * energy(1) && energy(3) > 0.15 * energy(1), "{speed}");
        }
    }

    #[test]
    fn nothing_changes_at_speed_one() {
        let samples = voice(150.0, 30_001);
        assert!(in_pieces(&samples, 1, 1.0, &[333]) == samples);
    }

    #[test]
    fn channels_stay_in_step() {
        let both: Vec<f32> = voice(150.0, 20_000).into_iter().flat_map(|sample| [sample, -0.5 * sample]).collect();
        let out = in_pieces(&both, 2, 1.5, &[100]);
        assert_eq!(out.len() as u64, 2 * output_len(20_000, 1.5));
        assert!(out.chunks(2).all(|frame| (frame[1] + 0.5 * frame[0]).abs() < 1e-6));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (rate_hz, channels, speed) in
            [(24_000, 1, 0.2), (24_000, 1, 4.1), (24_000, 1, f64::NAN), (24_000, 0, 2.0), (0, 1, 2.0), (u32::MAX, 1, 2.0)]
        {
            assert!(Stretch::new(rate_hz, channels, speed).is_err(), "{rate_hz} {channels} {speed}");
        }
    }

    #[test]
    fn the_first_sound_comes_soon() {
        for speed in [0.25, 1.0, 4.0] {
            let mut out = Vec::new();
            Stretch::new(RATE_HZ, 1, speed).expect("the speed is there").push(&voice(150.0, 1_200), &mut out);
            assert!(!out.is_empty(), "nothing after 50 ms at {speed}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn cuts_in_the_input_are_not_heard(
            samples in prop::collection::vec(-1.0_f32..1.0, 0..9_000),
            pieces in prop::collection::vec(1_usize..2_000, 1..8),
            speed in 0.25_f64..=4.0,
        ) {
            let whole = in_pieces(&samples, 1, speed, &[usize::MAX / 4]);
            prop_assert_eq!(whole.len() as u64, output_len(samples.len() as u64, speed));
            prop_assert!(in_pieces(&samples, 1, speed, &pieces) == whole);
        }

        #[test]
        fn no_samples_are_too_strange(
            samples in prop::collection::vec(any::<f32>(), 0..2_000),
            speed in 0.25_f64..=4.0,
            channels in 1_u16..=2,
        ) {
            let out = in_pieces(&samples, channels, speed, &[13]);
            prop_assert_eq!(out.len() as u64, output_len(samples.len() as u64 / u64::from(channels), speed) * u64::from(channels));
        }
    }
}
