//! Noise that depends on nothing but where it is: seed, unit of the text, half frame, bin.
//!
//! So a sequence sounds the same however it is cut, and whatever else is being spoken. Each bin has a counter, splitmix64 makes 64
//! random bits of it, and Box and Muller's method makes a complex normal of those: a radius and an angle, which is just the form a
//! bin needs.

/// Increment of splitmix64's counter.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The noise of one unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoiseKey(u64);

impl NoiseKey {
    /// The noise of unit `unit` of a request with this seed.
    pub fn new(seed: u64, unit: u64) -> Self {
        Self(mix(mix(seed.wrapping_add(GOLDEN)).wrapping_add(unit)))
    }

    /// Where the counter stands before the first of `bins` bins of half frame `frame`.
    #[inline(always)]
    pub fn frame(self, frame: u64, bins: u64) -> u64 {
        self.0.wrapping_add(frame.wrapping_mul(bins).wrapping_mul(GOLDEN))
    }
}

/// Two uniform numbers for a bin: the first in (0, 1], the second an angle in turns in [0, 1).
#[inline(always)]
pub fn uniforms(frame: u64, bin: u64) -> (f32, f32) {
    let bits = mix(frame.wrapping_add((bin + 1).wrapping_mul(GOLDEN)));
    let radius = ((bits >> 40) as u32).cast_signed() as f32;
    let angle = ((bits >> 16) as u32 & 0x00FF_FFFF).cast_signed() as f32;
    const UNIT: f32 = 1.0 / (1u32 << 24) as f32;
    ((radius + 0.5) * UNIT, angle * UNIT)
}

/// The output function of [splitmix64](https://doi.org/10.1145/2714064.2660195).
#[inline(always)]
fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}
