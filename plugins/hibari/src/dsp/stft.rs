//! The short-time Fourier transform of the pulse train: frames centred on multiples of the hop, the signal mirrored at both ends.

use std::sync::Arc;

use realfft::num_complex::Complex32;
use realfft::{RealFftPlanner, RealToComplex};

use super::pulse::PulseTrain;
use super::{BINS, HOP, N_FFT, window};

/// The transform and its window, shared by all sequences.
pub struct Analysis {
    fft: Arc<dyn RealToComplex<f32>>,
    /// Hann, scaled so that a cosine of amplitude 1 peaks at 1.
    window: Vec<f32>,
}

impl Analysis {
    /// Plans the transform.
    pub fn new() -> Self {
        let scale = 1.0 / (N_FFT / 4) as f32;
        let window = window().into_iter().map(|weight| weight * scale).collect();
        Self { fft: RealFftPlanner::new().plan_fft_forward(N_FFT), window }
    }
}

impl Default for Analysis {
    fn default() -> Self {
        Self::new()
    }
}

/// The pulses of one sequence, as far as transforms still need them.
#[derive(Debug, Clone)]
pub struct PulseStft {
    train: PulseTrain,
    samples: Vec<f32>,
    /// Place of the first kept sample in the sequence.
    first: usize,
    ended: bool,
    input: Vec<f32>,
    scratch: Vec<Complex32>,
}

impl PulseStft {
    /// The state before a sequence.
    pub fn new() -> Self {
        Self { train: PulseTrain::new(), samples: Vec::new(), first: 0, ended: false, input: vec![0.0; N_FFT], scratch: Vec::new() }
    }

    /// Takes the pitches of the next half frames.
    pub fn push(&mut self, f0: &[f32], last: bool) {
        self.train.push(f0, last, &mut self.samples);
        self.ended |= last;
    }

    /// The spectrum of half frame `frame`, `[601]`; `None` where it is silent. Frames must be asked for in order, each no sooner than
    /// the pitch of the fourth after it (or the end) was pushed.
    pub fn transform<'a>(&mut self, frame: usize, analysis: &Analysis, out: &'a mut [Complex32]) -> Option<&'a [Complex32]> {
        self.gather(frame);
        if self.input.iter().all(|sample| *sample == 0.0) {
            return None;
        }
        for (sample, weight) in self.input.iter_mut().zip(&analysis.window) {
            *sample *= weight;
        }
        self.scratch.resize(analysis.fft.get_scratch_len(), Complex32::default());
        let done = analysis.fft.process_with_scratch(&mut self.input, &mut out[..BINS], &mut self.scratch);
        debug_assert!(done.is_ok(), "the buffers have the plan's lengths");
        Some(&out[..BINS])
    }

    /// Copies the samples around a frame's centre and forgets those no later frame needs.
    fn gather(&mut self, frame: usize) {
        let end = self.first + self.samples.len();
        let start = (frame * HOP) as isize - (N_FFT / 2) as isize;
        if start >= self.first as isize && start as usize + N_FFT <= end {
            let start = start as usize - self.first;
            self.input.copy_from_slice(&self.samples[start..start + N_FFT]);
        } else {
            for (sample, place) in self.input.iter_mut().zip(start..) {
                let place = mirror(place, if self.ended { end } else { usize::MAX / 4 });
                *sample = place.checked_sub(self.first).and_then(|place| self.samples.get(place)).copied().unwrap_or(0.0);
            }
        }
        // The mirrored end reaches back no further than the next frame's own start.
        let keep_from = ((frame + 1) * HOP).saturating_sub(N_FFT / 2).min(end);
        if keep_from > self.first + 16 * HOP {
            self.samples.drain(..keep_from - self.first);
            self.first = keep_from;
        }
    }
}

impl Default for PulseStft {
    fn default() -> Self {
        Self::new()
    }
}

/// The place in a signal of `len` samples that place `at` of its mirrored continuation shows.
fn mirror(at: isize, len: usize) -> usize {
    if len < 2 {
        return 0;
    }
    let period = 2 * (len - 1);
    let at = at.rem_euclid(period as isize) as usize;
    if at < len { at } else { period - at }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_mirrored_without_its_edge_twice() {
        let places: Vec<usize> = (-4..8).map(|at| mirror(at, 4)).collect();
        assert_eq!(places, [2, 3, 2, 1, 0, 1, 2, 3, 2, 1, 0, 1]);
        assert_eq!(mirror(-5, 1), 0);
    }
}
