//! Numbers that are none.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use super::compare::TensorFault;
use super::header::TensorEntry;

/// Bytes that are looked at together; a multiple of every element's size.
const BLOCK: usize = 1 << 20;

/// The fault of a tensor's numbers, if they have one. Types that hold no such numbers have none.
pub fn fault(name: &str, entry: &TensorEntry) -> Option<TensorFault> {
    match count(entry) {
        Ok(0) => None,
        Ok(count) => Some(TensorFault::NotFinite { name: name.to_owned(), count }),
        Err(error) => Some(TensorFault::Unreadable { name: name.to_owned(), reason: error.to_string() }),
    }
}

/// How many elements have all bits of their exponent set.
fn count(entry: &TensorEntry) -> io::Result<u64> {
    let Some(is_odd) = oddity(&entry.dtype) else { return Ok(0) };
    let mut file = File::open(&entry.file)?;
    file.seek(SeekFrom::Start(entry.start))?;
    let mut reader = BufReader::with_capacity(BLOCK, file.take(entry.bytes));
    let mut block = vec![0; BLOCK];
    let (mut left, mut total) = (entry.bytes, 0);
    while left > 0 {
        let length = left.min(BLOCK as u64) as usize;
        let part = block.get_mut(..length).unwrap_or_default();
        reader.read_exact(part)?;
        total += is_odd(part);
        left -= length as u64;
    }
    Ok(total)
}

/// How to count the infinities and NaN among the elements of a type.
fn oddity(dtype: &str) -> Option<fn(&[u8]) -> u64> {
    fn two(bytes: &[u8], exponent: u16) -> u64 {
        bytes.as_chunks().0.iter().filter(|pair| u16::from_le_bytes(**pair) & exponent == exponent).count() as u64
    }
    match dtype {
        "BF16" => Some(|bytes| two(bytes, 0x7f80)),
        "F16" => Some(|bytes| two(bytes, 0x7c00)),
        "F32" => Some(|bytes| bytes.as_chunks().0.iter().filter(|four| !f32::from_le_bytes(**four).is_finite()).count() as u64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infinities_are_counted_in_every_type() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let tensor = |dtype: &str, bytes: &[u8]| {
            std::fs::write(file.path(), [&[0xff; 3][..], bytes].concat()).expect("it is written");
            let length = bytes.len() as u64;
            count(&TensorEntry { dtype: dtype.into(), shape: vec![], start: 3, bytes: length, file: file.path().into() })
                .expect("it is read")
        };
        let halves = |bits: &[u16]| bits.iter().flat_map(|bits| bits.to_le_bytes()).collect::<Vec<_>>();
        assert_eq!(tensor("BF16", &halves(&[0x7f80, 0xff80, 0x7fc0, 0x3f80, 0x7f7f])), 3);
        assert_eq!(tensor("F16", &halves(&[0x7c00, 0xfc00, 0x7e00, 0x3c00, 0x7bff])), 3);
        let floats: Vec<u8> = [f32::NAN, 1.0, f32::NEG_INFINITY, f32::MAX].iter().flat_map(|value| value.to_le_bytes()).collect();
        assert_eq!(tensor("F32", &floats), 2);
        assert_eq!(tensor("I64", &[0xff; 16]), 0);
        let large: Vec<u8> = (0..BLOCK / 2).flat_map(|number| if number == 300_000 { f32::NAN } else { 1.0 }.to_le_bytes()).collect();
        assert_eq!(tensor("F32", &large), 1, "past the first block");
    }
}
