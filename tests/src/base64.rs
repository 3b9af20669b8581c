//! Base64 as JSON answers carry audio in it.

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The text of bytes in the standard alphabet, padded.
pub fn encode(bytes: &[u8]) -> String {
    let group = |part: &[u8]| -> String {
        let bits = part.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - part.len()));
        let letter = |at: usize| if at <= part.len() { char::from(LETTERS[(bits >> (18 - 6 * at)) as usize & 63]) } else { '=' };
        (0..4).map(letter).collect()
    };
    bytes.chunks(3).map(group).collect()
}

/// The bytes of a text in the standard alphabet, padded.
///
/// # Panics
/// When it is not such a text.
pub fn decode(text: &str) -> Vec<u8> {
    assert!(text.len().is_multiple_of(4), "{} letters are not whole groups", text.len());
    let body = text.trim_end_matches('=');
    assert!(text.len() - body.len() <= 2, "too much padding");
    body.as_bytes().chunks(4).flat_map(group).collect()
}

fn group(letters: &[u8]) -> Vec<u8> {
    let value = |letter: &u8| LETTERS.iter().position(|other| other == letter).unwrap_or_else(|| panic!("not base64: {letter}")) as u32;
    let bits = letters.iter().fold(0, |bits, letter| bits << 6 | value(letter)) << (6 * (4 - letters.len()));
    bits.to_be_bytes()[1..letters.len()].to_vec()
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn groups_of_every_length_go_there_and_back() {
        for (text, bytes) in [("", &b""[..]), ("AA==", b"\0"), ("//8=", b"\xff\xff"), ("aGVs", b"hel"), ("aGVsbG8+", b"hello>")] {
            assert_eq!(decode(text), bytes);
            assert_eq!(encode(bytes), text);
        }
    }

    #[test]
    #[should_panic(expected = "not base64")]
    fn other_letters_are_refused() {
        decode("a-b=");
    }
}
