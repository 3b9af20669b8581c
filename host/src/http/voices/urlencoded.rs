//! `application/x-www-form-urlencoded`, as the URL standard reads it.

/// The names and values of a body. A byte that is no text becomes the mark for that.
pub fn parse(body: &[u8]) -> Vec<(String, String)> {
    let pairs = body.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty());
    let split = |pair: &[u8]| {
        let at = pair.iter().position(|byte| *byte == b'=').unwrap_or(pair.len());
        (decode(&pair[..at]), decode(pair.get(at + 1..).unwrap_or_default()))
    };
    pairs.map(split).collect()
}

fn decode(text: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.iter();
    while let Some(&byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => match escaped(rest.as_slice()) {
                Some(byte) => {
                    bytes.push(byte);
                    rest.nth(1);
                }
                None => bytes.push(b'%'),
            },
            _ => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn escaped(digits: &[u8]) -> Option<u8> {
    let digit = |index: usize| char::from(*digits.get(index)?).to_digit(16);
    u8::try_from(digit(0)? * 16 + digit(1)?).ok()
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn names_and_values_are_decoded() {
        let parsed = parse(b"name=An+ne%21&x&=y&speaker_embedding=%5B1%2c2%5D&bad=%zz%4");
        let parsed: Vec<(&str, &str)> = parsed.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(parsed, [("name", "An ne!"), ("x", ""), ("", "y"), ("speaker_embedding", "[1,2]"), ("bad", "%zz%4")]);
        assert!(parse(b"").is_empty());
    }
}
