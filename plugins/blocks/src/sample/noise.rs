//! Random numbers that depend on nothing but a seed and counters: the same alone, in any batch, and after any cut of the vocabulary.
//!
//! All of it is 32-bit arithmetic, so that a device can do the same.

/// What names the numbers of one draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoiseKey {
    /// Seed of the request.
    pub seed: u64,
    /// Frame, counted from 0.
    pub frame: u32,
    /// Which draw of the frame: the codebook.
    pub codebook: u32,
}

impl NoiseKey {
    /// An exponential number of mean 1 for a candidate: `argmax(p / E)` over all candidates is a draw from `p`.
    pub fn exponential(&self, id: u32) -> f32 {
        -uniform(mix(self.base() ^ id.wrapping_mul(STEP))).ln()
    }

    /// The part of the hash that all candidates share.
    pub fn base(&self) -> u32 {
        absorb(seed_hash(self.seed), [self.frame, self.codebook])
    }
}

/// The part of the hash that all draws of a request share.
pub(super) fn seed_hash(seed: u64) -> u32 {
    absorb(0, [seed as u32, (seed >> 32) as u32])
}

fn absorb(hash: u32, words: [u32; 2]) -> u32 {
    words.into_iter().fold(hash, |hash, word| mix(hash ^ word).wrapping_add(STEP))
}

/// The golden ratio as a 32-bit fraction: spreads consecutive numbers.
pub(super) const STEP: u32 = 0x9E37_79B9;
/// Factors of the hash, from <https://github.com/skeeto/hash-prospector>.
pub(super) const FIRST: u32 = 0x21F0_AAAD;
/// See [`FIRST`].
pub(super) const SECOND: u32 = 0xD35A_2D97;

/// A bijection of 32-bit numbers in which every bit of the input moves every bit of the output: two multiplications and three shifts.
fn mix(mut bits: u32) -> u32 {
    bits = (bits ^ (bits >> 16)).wrapping_mul(FIRST);
    bits = (bits ^ (bits >> 15)).wrapping_mul(SECOND);
    bits ^ (bits >> 15)
}

/// Evenly spread over 0 to 1, neither end included: 23 bits, so that a half step above each fits an `f32`.
fn uniform(bits: u32) -> f32 {
    ((bits >> 9) as f32 + 0.5) / (1 << 23) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(seed: u64, frame: u32, codebook: u32) -> NoiseKey {
        NoiseKey { seed, frame, codebook }
    }

    #[test]
    fn numbers_are_exponential() {
        let numbers: Vec<f32> = (0..100).flat_map(|frame| (0..1000).map(move |id| key(7, frame, 3).exponential(id))).collect();
        let share_above = |bound: f32| numbers.iter().filter(|number| **number > bound).count() as f32 / numbers.len() as f32;
        assert!(numbers.iter().all(|number| *number > 0.0 && number.is_finite()));
        for bound in [0.1_f32, 1.0, 3.0] {
            assert!((share_above(bound) - (-bound).exp()).abs() < 0.01, "{bound}: {}", share_above(bound));
        }
    }

    #[test]
    fn every_part_of_the_key_counts() {
        let of = |key: NoiseKey| (0..4).map(|id| key.exponential(id)).collect::<Vec<_>>();
        let keys = [key(1, 0, 0), key(2, 0, 0), key(1 << 32, 0, 0), key(1, 1, 0), key(1, 0, 1), key(0, 1, 1)];
        for (index, left) in keys.iter().enumerate() {
            for right in &keys[index + 1..] {
                assert_ne!(of(*left), of(*right), "{left:?} {right:?}");
            }
        }
    }
}
