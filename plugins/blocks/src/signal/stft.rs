//! The magnitudes of short-time Fourier transforms.

use std::sync::Arc;

use realfft::num_complex::Complex32;
use realfft::{RealFftPlanner, RealToComplex};

/// A planned transform: frames of `size` samples, `hop` apart, under a periodic Hann window.
#[derive(Clone)]
pub struct Stft {
    fft: Arc<dyn RealToComplex<f32>>,
    window: Vec<f32>,
    hop: usize,
}

impl Stft {
    /// Plans a transform. Both must be above zero.
    pub fn new(size: usize, hop: usize) -> Self {
        let turn = std::f64::consts::TAU / size as f64;
        let window = (0..size).map(|n| (0.5 - 0.5 * (turn * n as f64).cos()) as f32).collect();
        Self { fft: RealFftPlanner::new().plan_fft_forward(size), window, hop }
    }

    /// Frequencies a frame, from 0 to half the rate.
    pub fn bins(&self) -> usize {
        self.window.len() / 2 + 1
    }

    /// Frames of a signal of this many samples.
    pub fn frames(&self, samples: usize) -> usize {
        samples.checked_sub(self.window.len()).map_or(0, |rest| rest / self.hop + 1)
    }

    /// Gives the spectrum of every whole frame in turn.
    pub fn each(&self, signal: &[f32], mut take: impl FnMut(&[Complex32])) {
        let mut input = self.fft.make_input_vec();
        let mut output = self.fft.make_output_vec();
        let mut scratch = self.fft.make_scratch_vec();
        for frame in signal.windows(self.window.len()).step_by(self.hop) {
            for ((place, sample), weight) in input.iter_mut().zip(frame).zip(&self.window) {
                *place = sample * weight;
            }
            let done = self.fft.process_with_scratch(&mut input, &mut output, &mut scratch);
            debug_assert!(done.is_ok(), "the buffers have the plan's lengths");
            take(&output);
        }
    }
}

/// A signal with `places` mirrored samples on either side, its end samples not repeated; `None` if it is too short to be mirrored.
pub fn mirrored(signal: &[f32], places: usize) -> Option<Vec<f32>> {
    let before = signal.get(1..=places)?;
    let after = signal.get(signal.len().checked_sub(places + 1)?..signal.len() - 1)?;
    Some(before.iter().rev().chain(signal).chain(after.iter().rev()).copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_mirrored_without_its_ends_twice() {
        assert_eq!(mirrored(&[1.0, 2.0, 3.0], 2), Some(vec![3.0, 2.0, 1.0, 2.0, 3.0, 2.0, 1.0]));
        assert_eq!(mirrored(&[1.0, 2.0], 2), None);
        assert_eq!(mirrored(&[], 0), None);
    }

    #[test]
    fn a_tone_sits_in_its_bin() {
        let stft = Stft::new(400, 160);
        let tone: Vec<f32> = (0..1000).map(|n| (std::f32::consts::TAU * 40.0 * n as f32 / 400.0).cos()).collect();
        let mut peaks = Vec::new();
        stft.each(&tone, |bins| peaks.push((0..bins.len()).max_by(|a, b| bins[*a].norm().total_cmp(&bins[*b].norm()))));
        assert_eq!(peaks, vec![Some(40); stft.frames(1000)]);
        assert_eq!(stft.frames(399), 0);
    }
}
