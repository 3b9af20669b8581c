//! JSON for lines that may hold ASCII only.

/// JSON with every character escaped that is not printable ASCII.
pub fn escaped(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for letter in json.chars() {
        if letter.is_ascii() && !letter.is_ascii_control() {
            escaped.push(letter);
        } else {
            escaped.extend(letter.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::escaped;
    use proptest::prelude::*;
    use serde_json::Value;

    proptest! {
        #[test]
        fn escaped_text_is_ascii_and_means_the_same(text: String) {
            let json = escaped(&Value::from(text.as_str()).to_string());
            prop_assert!(json.bytes().all(|byte| matches!(byte, b' '..=b'~')));
            prop_assert_eq!(serde_json::from_str::<String>(&json).ok(), Some(text));
        }
    }
}
