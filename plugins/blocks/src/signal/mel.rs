//! Log-mel spectrograms on the [Slaney scale](https://engineering.purdue.edu/~malcolm/interval/1998-010/), as librosa makes them.

use super::stft::{Stft, mirrored};

/// Below this a power is this, so that its root has a slope.
const LEAST_POWER: f32 = 1e-9;

/// The settings of a front end. Families differ in nothing else.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MelSpec {
    /// Samples a second.
    pub rate: u32,
    /// Samples a frame.
    pub size: usize,
    /// Samples from one frame to the next.
    pub hop: usize,
    /// Mirrored samples on either side of the signal.
    pub pad: usize,
    /// Bands.
    pub bands: usize,
    /// Lower end of the lowest band in hertz.
    pub low: f64,
    /// Upper end of the highest.
    pub high: f64,
    /// The least magnitude of a band, before its logarithm.
    pub floor: f32,
}

impl MelSpec {
    /// The front end of the 24 kHz speaker encoder: 128 bands up to 12 kHz, 93.75 frames a second.
    pub fn speaker_24k() -> Self {
        Self { rate: 24_000, size: 1024, hop: 256, pad: 384, bands: 128, low: 0.0, high: 12_000.0, floor: 1e-5 }
    }
}

/// A planned front end.
#[derive(Clone)]
pub struct MelFrontEnd {
    spec: MelSpec,
    stft: Stft,
    /// The triangles, each with its first bin.
    bank: Vec<(usize, Vec<f32>)>,
}

impl MelFrontEnd {
    /// Plans a front end; the size, the hop and the rate must be above zero.
    pub fn new(spec: MelSpec) -> Self {
        Self { spec, stft: Stft::new(spec.size, spec.hop), bank: bank(&spec) }
    }

    /// Its settings.
    pub fn spec(&self) -> &MelSpec {
        &self.spec
    }

    /// Natural logarithms of the magnitudes in every band; `None` for a signal too short to be mirrored at its ends or to fill a frame.
    ///
    /// # Shapes
    /// - result: `[frames, bands]`, frame by frame
    pub fn compute(&self, signal: &[f32]) -> Option<Vec<f32>> {
        let signal = mirrored(signal, self.spec.pad)?;
        let frames = self.stft.frames(signal.len());
        if frames == 0 {
            return None;
        }
        let mut mel = Vec::with_capacity(frames * self.spec.bands);
        let mut magnitudes = Vec::with_capacity(self.stft.bins());
        self.stft.each(&signal, |bins| {
            magnitudes.clear();
            magnitudes.extend(bins.iter().map(|bin| (bin.norm_sqr() + LEAST_POWER).sqrt()));
            mel.extend(self.bank.iter().map(|band| self.level(&magnitudes, band)));
        });
        Some(mel)
    }

    fn level(&self, magnitudes: &[f32], (first, weights): &(usize, Vec<f32>)) -> f32 {
        let sum: f32 = magnitudes.iter().skip(*first).zip(weights).map(|(magnitude, weight)| magnitude * weight).sum();
        sum.max(self.spec.floor).ln()
    }
}

/// Triangles between neighbouring band edges, each of area one over frequency in hertz.
fn bank(spec: &MelSpec) -> Vec<(usize, Vec<f32>)> {
    let (low, high) = (to_mel(spec.low), to_mel(spec.high));
    let edge = |i: usize| to_hertz(low + (high - low) * i as f64 / (spec.bands + 1) as f64);
    let bin = f64::from(spec.rate) / spec.size as f64;
    (0..spec.bands).map(|band| triangle([edge(band), edge(band + 1), edge(band + 2)], bin, spec.size / 2 + 1)).collect()
}

fn triangle([left, peak, right]: [f64; 3], bin: f64, bins: usize) -> (usize, Vec<f32>) {
    let weight = |n: usize| {
        let hertz = n as f64 * bin;
        let side = ((hertz - left) / (peak - left)).min((right - hertz) / (right - peak));
        (side.max(0.0) * 2.0 / (right - left)) as f32
    };
    let first = (0..bins).find(|n| weight(*n) > 0.0).unwrap_or(bins);
    (first, (first..bins).map(weight).take_while(|weight| *weight > 0.0).collect())
}

/// Hertz a mel below 1 kHz, where the scale is linear.
const LINEAR: f64 = 200.0 / 3.0;
/// Where it becomes logarithmic.
const BREAK: f64 = 1000.0;

/// Mels from there to 6.4 times the frequency.
const STEPS: f64 = 27.0;

fn to_mel(hertz: f64) -> f64 {
    if hertz < BREAK { hertz / LINEAR } else { BREAK / LINEAR + (hertz / BREAK).ln() * STEPS / 6.4f64.ln() }
}

fn to_hertz(mel: f64) -> f64 {
    let corner = BREAK / LINEAR;
    if mel < corner { mel * LINEAR } else { BREAK * ((mel - corner) * 6.4f64.ln() / STEPS).exp() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_has_its_corner_at_a_thousand_hertz() {
        assert!((to_mel(1000.0) - 15.0).abs() < 1e-12 && (to_mel(6400.0) - 42.0).abs() < 1e-12);
        for hertz in [0.0, 440.0, 999.0, 1001.0, 11_000.0] {
            assert!((to_hertz(to_mel(hertz)) - hertz).abs() < 1e-9);
        }
    }

    #[test]
    fn a_short_signal_has_no_spectrum() {
        let front = MelFrontEnd::new(MelSpec::speaker_24k());
        assert_eq!(front.compute(&[0.0; 384]), None);
        let silence = front.compute(&[0.0; 385]).expect("long enough to mirror");
        assert_eq!(silence.len(), 128);
        assert!(silence.iter().all(|level| (level - silence[0]).abs() < 10.0 && level.is_finite()));
        assert_eq!(front.compute(&[]), None);
    }
}
