//! Sums of products, in a shape that compilers turn into vector instructions.

/// Sums kept apart, so that no addition waits for the one before it.
const LANES: usize = 16;

/// The sum of the products of two runs of one length; what is longer in either is left out.
///
/// Equal runs give bit-equal sums wherever they lie in memory.
pub fn dot(left: &[f32], right: &[f32]) -> f32 {
    let mut sums = [0.0_f32; LANES];
    let (left_blocks, left_rest) = left.as_chunks::<LANES>();
    let (right_blocks, right_rest) = right.as_chunks::<LANES>();
    for (left_block, right_block) in left_blocks.iter().zip(right_blocks) {
        for ((sum, left), right) in sums.iter_mut().zip(left_block).zip(right_block) {
            *sum += left * right;
        }
    }
    let rest: f32 = left_rest.iter().zip(right_rest).map(|(left, right)| left * right).sum();
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::dot;

    #[test]
    fn a_sum_of_products_is_one_at_every_length() {
        for len in 0..100_u16 {
            let run: Vec<f32> = (0..len).map(f32::from).collect();
            let wanted: f32 = (0..len).map(|n| f32::from(n) * f32::from(n)).sum();
            assert_eq!(dot(&run, &run), wanted, "{len}");
        }
    }
}
