//! From spectra to a waveform: 1200-point transforms every 300 samples (12.5 ms) at 24 kHz, Hann window.
//!
//! The network gives five spectra a half frame. A pulse train made from the pitch is transformed, each bin is scaled and turned by the
//! harmonic part, shaped noise and a free part are added, and one inverse transform gives the samples:
//!
//! `S = exp(lh) e^(i pi tanh theta) STFT(pulses) + exp(ln) Z + exp(lr) e^(i phi)`
//!
//! Every step works on a stream: it takes new half frames and keeps what the next ones need.

pub mod noise;
pub mod overlap_add;
pub mod pulse;
pub mod spectrum;
pub mod stft;

/// Samples a second.
pub const SAMPLE_RATE: usize = 24_000;
/// Samples a half frame.
pub const HOP: usize = 300;
/// Length of a transform.
pub const N_FFT: usize = 4 * HOP;
/// Bins of a transform.
pub const BINS: usize = N_FFT / 2 + 1;

/// The periodic Hann window.
pub fn window() -> Vec<f32> {
    let angle = |n: usize| std::f64::consts::TAU * n as f64 / N_FFT as f64;
    (0..N_FFT).map(|n| (0.5 - 0.5 * angle(n).cos()) as f32).collect()
}
