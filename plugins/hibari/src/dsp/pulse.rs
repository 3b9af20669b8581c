//! A band-limited pulse train from the pitch curve: every harmonic below 11 kHz at amplitude 1, nothing where unvoiced.
//!
//! `sum_(h = 1..H) cos(h t) = sin((H + 1/2) t) / (2 sin(t / 2)) - 1/2`
//!
//! The pitch of a sample is interpolated between the centres of half frames, so a half frame can be made once its successor is known.

use super::{HOP, SAMPLE_RATE};
use crate::fast::math::{cos_sin_turns, vectorised};

/// Below this pitch, in Hz, there is no voice.
const VOICED: f32 = 40.0;
/// No harmonic goes above this, in Hz.
const HIGHEST: f32 = 11_000.0;
/// Where `2 sin(t / 2)` is this small, the quotient is replaced by its limit.
const PEAK: f32 = 2e-3;
/// Adding and subtracting it rounds a double of moderate size to the nearest integer.
const ROUND: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52

/// The train of one sequence.
#[derive(Debug, Clone)]
pub struct PulseTrain {
    /// Phase of the last sample in turns, within half a turn of 0.
    phase: f64,
    /// Pitch of the half frame before the pending one, and of the pending one.
    pitches: Option<(f32, f32)>,
}

impl PulseTrain {
    /// The state before a sequence.
    pub fn new() -> Self {
        Self { phase: 0.0, pitches: None }
    }

    /// Appends the samples that the next half frames' pitches complete: all but the newest half frame, until the `last`.
    pub fn push(&mut self, f0: &[f32], last: bool, out: &mut Vec<f32>) {
        for &next in f0 {
            self.pitches = Some(match self.pitches {
                None => (next, next),
                Some((before, pending)) => {
                    self.frame([before, pending, next], out);
                    (pending, next)
                }
            });
        }
        if last && let Some((before, pending)) = self.pitches.take() {
            self.frame([before, pending, pending], out);
        }
    }

    /// One half frame, from its own pitch and those around it.
    fn frame(&mut self, [before, own, after]: [f32; 3], out: &mut Vec<f32>) {
        let (mut pitch, mut phase) = ([0.0f32; HOP], [0.0f64; HOP]);
        for (j, (pitch, phase)) in pitch.iter_mut().zip(&mut phase).enumerate() {
            let place = (j as f64 + 0.5) / HOP as f64;
            let (left, right, share) = if j < HOP / 2 { (before, own, place + 0.5) } else { (own, after, place - 0.5) };
            let share = share as f32;
            *pitch = left * (1.0 - share) + right * share;
            self.phase += f64::from(pitch.max(VOICED)) / SAMPLE_RATE as f64;
            self.phase -= (self.phase + ROUND) - ROUND;
            *phase = self.phase;
        }
        let start = out.len();
        out.resize(start + HOP, 0.0);
        if pitch.iter().any(|pitch| *pitch > VOICED) {
            sum_harmonics(&pitch, &phase, &mut out[start..]);
        }
    }
}

impl Default for PulseTrain {
    fn default() -> Self {
        Self::new()
    }
}

vectorised! {
    /// The closed form of the sum of harmonics, sample by sample, for phases in turns within half a turn of 0.
    fn sum_harmonics(pitch: &[f32], phase: &[f64], out: &mut [f32]) {
        for ((out, pitch), phase) in out.iter_mut().zip(pitch).zip(phase) {
            let voiced = *pitch > VOICED;
            let order = (HIGHEST / pitch.max(VOICED)) as i32 as f32 + 0.5;
            // The product is reduced to one turn before it loses digits.
            let turns = f64::from(order) * phase;
            let turns = turns - ((turns + ROUND) - ROUND);
            let (_, top) = cos_sin_turns(turns as f32);
            let (_, half) = cos_sin_turns(0.5 * *phase as f32);
            let bottom = 2.0 * half;
            let peak = bottom.abs() <= PEAK;
            let sum = if peak { order } else { top / if peak { 1.0 } else { bottom } } - 0.5;
            *out = if voiced { sum } else { 0.0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn train(f0: &[f32], sizes: &[usize]) -> Vec<f32> {
        let (mut train, mut out, mut rest) = (PulseTrain::new(), Vec::new(), f0);
        for size in sizes.iter().cycle() {
            let (now, later) = rest.split_at((*size).min(rest.len()));
            train.push(now, later.is_empty(), &mut out);
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        out
    }

    #[test]
    fn any_cut_gives_the_same_samples() {
        let f0: Vec<f32> = (0..40).map(|i| if i % 11 < 3 { 0.0 } else { 90.0 + 10.0 * i as f32 }).collect();
        let whole = train(&f0, &[40]);
        assert_eq!(whole.len(), 40 * HOP);
        for sizes in [&[1][..], &[3], &[1, 7, 2]] {
            assert_eq!(train(&f0, sizes), whole);
        }
    }

    #[test]
    fn it_is_the_sum_of_its_harmonics() {
        let samples = train(&[480.0; 4], &[4]);
        for (n, sample) in samples.iter().enumerate().step_by(7) {
            let turns = (n + 1) as f64 * 480.0 / SAMPLE_RATE as f64;
            if (turns - turns.round()).abs() < 1e-3 {
                continue;
            }
            let sum: f64 = (1..=22).map(|h| (std::f64::consts::TAU * turns * f64::from(h)).cos()).sum();
            assert!((f64::from(*sample) - sum).abs() < 1e-4, "sample {n}: {sample} for {sum}");
        }
    }

    #[test]
    fn unvoiced_is_silent() {
        assert!(train(&[-10.0, 0.0, 39.0], &[3]).iter().all(|sample| *sample == 0.0));
    }
}
