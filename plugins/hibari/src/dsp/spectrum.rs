//! Puts the spectrum of a half frame together from what the network gives, the pulses and the noise.

use realfft::num_complex::Complex32;

use super::BINS;
use super::noise::uniforms;
use crate::fast::math::{cos_sin_turns, exp, ln, tanh, vectorised};

/// Log magnitudes are cut here, as in training.
const LOUDEST: f32 = 7.0;

/// Noise of a half frame, or none.
#[derive(Debug, Clone, Copy)]
pub enum Noise {
    /// The counter before the half frame's first bin; see [`super::noise::NoiseKey::frame`].
    Counter(u64),
    /// No noise: for tests of the rest.
    Silent,
}

/// Computes the spectrum of one half frame.
///
/// # Shapes
/// - `network`: `[5 * 601]`, `pulses`: `[601]`, absent where there are none, `out`: `[601]`
pub fn combine(network: &[f32], pulses: Option<&[Complex32]>, noise: Noise, out: &mut [Complex32]) {
    debug_assert_eq!(network.len(), 5 * BINS);
    let (harmonic, rest) = network.split_at(2 * BINS);
    let (level, free) = rest.split_at(BINS);
    phases(free, out);
    if let Noise::Counter(counter) = noise {
        add_noise(level, counter, out);
    }
    if let Some(pulses) = pulses {
        add_harmonics(harmonic, pulses, out);
    }
}

vectorised! {
    /// `out = exp(lr) e^(i phi)`; `free` holds `lr`, then `phi`.
    fn phases(free: &[f32], out: &mut [Complex32]) {
        let (level, phase) = free.split_at(BINS);
        for ((out, level), phase) in out.iter_mut().zip(level).zip(phase) {
            let (cos, sin) = cos_sin_turns(phase * (1.0 / std::f32::consts::TAU));
            let gain = exp(level.min(LOUDEST));
            *out = Complex32::new(gain * cos, gain * sin);
        }
    }
}

vectorised! {
    /// `out += exp(ln) Z`.
    fn add_noise(level: &[f32], counter: u64, out: &mut [Complex32]) {
        for (bin, (out, level)) in out.iter_mut().zip(level).enumerate() {
            let (radius, turns) = uniforms(counter, bin as u64);
            let (cos, sin) = cos_sin_turns(turns);
            let gain = exp(level.min(LOUDEST)) * (-2.0 * ln(radius)).sqrt();
            out.re += gain * cos;
            out.im += gain * sin;
        }
    }
}

vectorised! {
    /// `out += exp(lh) e^(i pi tanh theta) pulses`; `harmonic` holds `lh`, then `theta`.
    fn add_harmonics(harmonic: &[f32], pulses: &[Complex32], out: &mut [Complex32]) {
        let (level, theta) = harmonic.split_at(BINS);
        for (((out, level), theta), pulse) in out.iter_mut().zip(level).zip(theta).zip(pulses) {
            let (cos, sin) = cos_sin_turns(0.5 * tanh(*theta));
            let gain = exp(level.min(LOUDEST));
            out.re += gain * (cos * pulse.re - sin * pulse.im);
            out.im += gain * (cos * pulse.im + sin * pulse.re);
        }
    }
}
