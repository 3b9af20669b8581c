//! The inverse short-time Fourier transform: each frame windowed again, overlapping frames added, divided by the sum of squared windows.

use std::sync::Arc;

use realfft::num_complex::Complex32;
use realfft::{ComplexToReal, RealFftPlanner};

use super::{BINS, HOP, N_FFT, window};

/// Hops a frame is long.
const SPAN: usize = N_FFT / HOP;
/// Hops before the first frame's centre: they are cut off.
const LEAD: usize = SPAN / 2;

/// The transform and its windows, shared by all sequences.
pub struct Synthesis {
    fft: Arc<dyn ComplexToReal<f32>>,
    /// Hann, with the transform's 1 / n in it.
    window: Vec<f32>,
    /// Hann squared.
    square: Vec<f32>,
    /// 1 / the sum of the squares of all frames over a hop, inside a sequence.
    inside: Vec<f32>,
}

impl Synthesis {
    /// Plans the transform.
    pub fn new() -> Self {
        let hann = window();
        let square: Vec<f32> = hann.iter().map(|weight| weight * weight).collect();
        let inside = (0..HOP).map(|j| 1.0 / (0..SPAN).map(|k| square[k * HOP + j]).sum::<f32>()).collect();
        let window = hann.iter().map(|weight| weight / N_FFT as f32).collect();
        Self { fft: RealFftPlanner::new().plan_fft_inverse(N_FFT), window, square, inside }
    }
}

impl Default for Synthesis {
    fn default() -> Self {
        Self::new()
    }
}

/// The frames of one sequence that still overlap what is to come.
#[derive(Debug, Clone)]
pub struct OverlapAdd {
    sum: Vec<f32>,
    frames: usize,
    frame: Vec<f32>,
    scratch: Vec<Complex32>,
}

impl OverlapAdd {
    /// The state before a sequence.
    pub fn new() -> Self {
        Self { sum: vec![0.0; N_FFT], frames: 0, frame: vec![0.0; N_FFT], scratch: Vec::new() }
    }

    /// Adds the next frame, whose spectrum `[601]` is spent, and appends the samples it completes.
    pub fn push(&mut self, spectrum: &mut [Complex32], synthesis: &Synthesis, last: bool, out: &mut Vec<f32>) {
        // The two bins that are real in a real signal's spectrum; what the network put beside them has no meaning.
        spectrum[0].im = 0.0;
        spectrum[BINS - 1].im = 0.0;
        self.scratch.resize(synthesis.fft.get_scratch_len(), Complex32::default());
        let done = synthesis.fft.process_with_scratch(&mut spectrum[..BINS], &mut self.frame, &mut self.scratch);
        debug_assert!(done.is_ok(), "the buffers have the plan's lengths");
        for ((sum, sample), weight) in self.sum.iter_mut().zip(&self.frame).zip(&synthesis.window) {
            *sum += sample * weight;
        }
        self.frames += 1;
        let newest = self.frames - 1;
        self.hop(newest, synthesis, out);
        if last {
            for hop in 1..=LEAD {
                self.hop(newest + hop, synthesis, out);
            }
        }
    }

    /// Appends the oldest hop, number `hop` counted from the start of the first frame, and makes room for the next.
    fn hop(&mut self, hop: usize, synthesis: &Synthesis, out: &mut Vec<f32>) {
        if hop >= LEAD {
            let overlapping = hop.saturating_sub(SPAN - 1)..(hop + 1).min(self.frames);
            if overlapping.len() == SPAN {
                out.extend(self.sum[..HOP].iter().zip(&synthesis.inside).map(|(sum, inverse)| sum * inverse));
            } else {
                let weight = |j: usize| overlapping.clone().map(|frame| synthesis.square[(hop - frame) * HOP + j]).sum::<f32>();
                out.extend((0..HOP).map(|j| self.sum[j] / weight(j).max(1e-11)));
            }
        }
        self.sum.copy_within(HOP.., 0);
        self.sum[N_FFT - HOP..].fill(0.0);
    }
}

impl Default for OverlapAdd {
    fn default() -> Self {
        Self::new()
    }
}
