//! Float samples to signed 16-bit little-endian ones.

/// Bytes of one sample.
pub const SAMPLE_BYTES: usize = 2;

/// One sample: `floor(x * 32768)`, clamped. No dithering, no normalisation.
pub fn to_i16(sample: f32) -> i16 {
    (sample * 32_768.0).floor().clamp(-32_768.0, 32_767.0) as i16
}

/// Appends samples to `bytes`.
pub fn append(samples: &[f32], bytes: &mut Vec<u8>) {
    bytes.reserve(samples.len() * SAMPLE_BYTES);
    bytes.extend(samples.iter().flat_map(|sample| to_i16(*sample).to_le_bytes()));
}

/// Samples as bytes of their own.
pub fn bytes(samples: &[f32]) -> Vec<u8> {
    let mut bytes = Vec::new();
    append(samples, &mut bytes);
    bytes
}

/// The samples of bytes, as floats; half a sample at the end is left out.
pub fn samples(bytes: &[u8]) -> Vec<f32> {
    let (pairs, _) = bytes.as_chunks::<SAMPLE_BYTES>();
    pairs.iter().map(|pair| f32::from(i16::from_le_bytes(*pair)) / 32_768.0).collect()
}

#[cfg(test)]
mod tests {
    use super::{bytes, samples, to_i16};
    use proptest::prelude::*;

    #[test]
    fn known_samples() {
        for (sample, wanted) in
            [(0.0, 0), (-0.3, -9831), (1.0, 32_767), (-1.0, -32_768), (-1e-5, -1), (1e-5, 0), (7.5, 32_767), (-7.5, -32_768)]
        {
            assert_eq!(to_i16(sample), wanted, "{sample}");
        }
    }

    proptest! {
        #[test]
        fn bytes_come_back_from_their_samples(values in prop::collection::vec(any::<i16>(), 0..100)) {
            let written: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            prop_assert_eq!(bytes(&samples(&written)), written);
        }

        #[test]
        fn a_sample_is_the_step_below_it(sample in -1.0f32..1.0) {
            let step = f64::from(to_i16(sample));
            let exact = f64::from(sample) * 32_768.0;
            prop_assert!(step <= exact && exact < step + 1.0, "{sample} became {step}");
        }

        #[test]
        fn any_float_becomes_two_bytes(sample in any::<f32>()) {
            prop_assert_eq!(bytes(&[sample]).len(), 2);
        }
    }
}
