//! Raw elements to numbers, and whether they are finite.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use safetensors::Dtype;

/// Elements of a type that can be read, as `f32`; nothing for another type.
pub(super) fn to_f32(dtype: Dtype, bytes: &[u8]) -> Option<Vec<f32>> {
    match dtype {
        Dtype::F32 => Some(bytes.as_chunks().0.iter().map(|chunk| f32::from_le_bytes(*chunk)).collect()),
        Dtype::BF16 => Some(halves(bytes, bf16::from_le_bytes).convert()),
        Dtype::F16 => Some(halves(bytes, f16::from_le_bytes).convert()),
        _ => None,
    }
}

/// Elements of a type that can be read, as `bf16`; nothing for another type.
pub(super) fn to_bf16(dtype: Dtype, bytes: &[u8]) -> Option<Vec<bf16>> {
    match dtype {
        Dtype::BF16 => Some(halves(bytes, bf16::from_le_bytes)),
        _ => to_f32(dtype, bytes).map(|values| values.into_iter().map(bf16::from_f32).collect()),
    }
}

/// Elements that are looked at before it is decided whether to go on.
const BLOCK: usize = 1024;

/// Whether all elements are finite. Works on the bits, a block at a time: a checkpoint is gigabytes.
pub(super) fn is_finite(dtype: Dtype, bytes: &[u8]) -> bool {
    match dtype {
        Dtype::BF16 => all_below(bytes, |element| u16::from_le_bytes(element) & 0x7F80 == 0x7F80),
        Dtype::F16 => all_below(bytes, |element| u16::from_le_bytes(element) & 0x7C00 == 0x7C00),
        Dtype::F32 => all_below(bytes, |element| u32::from_le_bytes(element) & 0x7F80_0000 == 0x7F80_0000),
        _ => true,
    }
}

/// Whether no element has the highest exponent. Nothing leaves a block early: so the compiler takes many elements at once.
fn all_below<const N: usize>(bytes: &[u8], is_highest: impl Fn([u8; N]) -> bool) -> bool {
    let mut blocks = bytes.as_chunks().0.chunks(BLOCK);
    blocks.all(|block| !block.iter().fold(false, |found, element| found | is_highest(*element)))
}

fn halves<T>(bytes: &[u8], read: fn([u8; 2]) -> T) -> Vec<T> {
    bytes.as_chunks().0.iter().map(|chunk| read(*chunk)).collect()
}

trait Convert {
    fn convert(self) -> Vec<f32>;
}

impl<T> Convert for Vec<T>
where
    [T]: HalfFloatSliceExt,
{
    fn convert(self) -> Vec<f32> {
        let mut out = vec![0.0; self.len()];
        self.convert_to_f32_slice(&mut out);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_read_as_they_are_and_infinities_seen() {
        let bytes: Vec<u8> = [1.5_f32, -0.25, 3.0e38].iter().flat_map(|value| bf16::from_f32(*value).to_le_bytes()).collect();
        let values = to_f32(Dtype::BF16, &bytes).expect("a type that is read");
        assert_eq!(values[..2], [1.5, -0.25]);
        assert!(is_finite(Dtype::BF16, &bytes));
        for odd in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
            assert!(!is_finite(Dtype::BF16, &bf16::from_f32(odd).to_le_bytes()));
            assert!(!is_finite(Dtype::F16, &f16::from_f32(odd).to_le_bytes()));
            assert!(!is_finite(Dtype::F32, &odd.to_le_bytes()));
        }
        assert!(to_f32(Dtype::I64, &[0; 8]).is_none());
    }
}
