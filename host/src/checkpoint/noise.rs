//! Random numbers by counter: each depends on seed, tensor and place alone, so any thread can make any part.

use omni_plugin_api::Fill;

/// The numbers of one tensor.
#[derive(Debug, Clone, Copy)]
pub struct Noise {
    key: u64,
    fill: Fill,
}

impl Noise {
    /// The numbers of the tensor `name` under a seed.
    pub fn new(seed: u64, name: &str, fill: Fill) -> Self {
        // FNV-1a over the name, then mixed with the seed.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        Self { key: mix(hash ^ mix(seed)), fill }
    }

    /// The number at a place.
    pub fn at(&self, place: u64) -> f32 {
        let bits = mix(self.key.wrapping_add(place.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        match self.fill {
            Fill::Normal { mean, deviation } => deviation.mul_add(bell(bits), mean),
            Fill::Uniform { low, high } => {
                let share = (bits >> 40) as f32 / (1_u32 << 24) as f32;
                (high - low).mul_add(share, low)
            }
        }
    }
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Four 16-bit numbers added up: a bell of mean 0 and deviation 1 (Irwin and Hall), bounded by 3.47, without a logarithm.
fn bell(bits: u64) -> f32 {
    let sum = (bits & 0xffff) + ((bits >> 16) & 0xffff) + ((bits >> 32) & 0xffff) + (bits >> 48);
    // One of the four has the deviation 65536 / sqrt(12), their sum twice that.
    const SCALE: f32 = 2.642_899_8e-5;
    (sum as f32 - 131_070.0) * SCALE
}

/// A number in brain floating point, rounded to the nearest, ties to even.
pub fn to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    (bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(fill: Fill) -> (f64, f64, f64) {
        let noise = Noise::new(7, "layer.weight", fill);
        let values: Vec<f64> = (0..200_000).map(|place| f64::from(noise.at(place))).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
        (mean, variance.sqrt(), values.iter().fold(0.0, |most, value| most.max((value - mean).abs())))
    }

    #[test]
    fn numbers_have_the_mean_and_deviation_that_are_asked_for() {
        let (mean, deviation, most) = moments(Fill::Normal { mean: 1.0, deviation: 0.2 });
        assert!((mean - 1.0).abs() < 0.002 && (deviation - 0.2).abs() < 0.002 && most < 0.8, "{mean} {deviation} {most}");
        let (mean, deviation, most) = moments(Fill::Uniform { low: 0.5, high: 1.5 });
        assert!((mean - 1.0).abs() < 0.003 && (deviation - 0.2887).abs() < 0.002 && most < 0.51, "{mean} {deviation} {most}");
    }

    #[test]
    fn seed_name_and_place_all_count() {
        let fill = Fill::Normal { mean: 0.0, deviation: 1.0 };
        let some = |seed, name, from| (from..from + 8).map(|place| Noise::new(seed, name, fill).at(place)).collect::<Vec<_>>();
        assert_eq!(some(1, "a", 0), some(1, "a", 0));
        for other in [some(2, "a", 0), some(1, "b", 0), some(1, "a", 8)] {
            assert_ne!(some(1, "a", 0), other);
        }
    }

    #[test]
    fn brain_floats_round_to_the_nearest_even() {
        for (value, bits) in [(1.0, 0x3f80), (f32::from_bits(0x3f80_8000), 0x3f80), (f32::from_bits(0x3f81_8000), 0x3f82), (-2.5, 0xc020)] {
            assert_eq!(to_bf16(value), bits, "{value}");
        }
    }
}
