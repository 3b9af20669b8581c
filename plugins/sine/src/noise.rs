//! Random numbers that depend on nothing but a seed and a counter.
//!
//! A generator with a state would make a request's sound depend on what ran before it. Here the n-th number of a seed is always the
//! same, alone or in any batch.

/// The `counter`-th number of `seed`, evenly spread over -1 to 1.
pub fn noise(seed: u64, counter: u64) -> f32 {
    let bits = mix(seed ^ mix(counter)) >> 40;
    bits as f32 / (1_u64 << 23) as f32 - 1.0
}

/// The finaliser of splitmix64, <https://prng.di.unimi.it/splitmix64.c>.
fn mix(counter: u64) -> u64 {
    let mut bits = counter.wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::noise;

    #[test]
    fn numbers_are_spread_and_seeds_differ() {
        let numbers: Vec<f32> = (0..10_000).map(|counter| noise(7, counter)).collect();
        assert!(numbers.iter().all(|number| (-1.0..=1.0).contains(number)));
        assert!(numbers.iter().sum::<f32>().abs() / 10_000.0 < 0.05);
        assert!(numbers.iter().any(|number| *number > 0.99) && numbers.iter().any(|number| *number < -0.99));
        assert_ne!(noise(1, 0), noise(2, 0));
    }
}
