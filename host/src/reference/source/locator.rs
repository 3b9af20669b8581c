//! The spellings of where a clip is.

use std::path::PathBuf;

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use bytes::Bytes;
use http::Uri;

use crate::reference::ReferenceError;

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const PLAIN_64: GeneralPurpose = GeneralPurpose::new(&STANDARD, LENIENT);
const URL_64: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, LENIENT);
/// A shorter text is a path before it is base64: no clip fits in it.
const MIN_BASE64: usize = 256;

/// Where a clip is.
#[derive(Debug, Clone, PartialEq)]
pub enum Locator {
    /// On the web.
    Web(Uri),
    /// On this machine.
    File(PathBuf),
    /// In the request.
    Inline(Bytes),
}

impl Locator {
    /// Reads any spelling: `http:`, `https:`, `data:`, `file:`, a bare path, bare base64.
    pub fn read(text: &str, max_bytes: usize) -> Result<Self, ReferenceError> {
        let text = text.trim();
        match text.split_once(':').map(|(scheme, rest)| (scheme.to_ascii_lowercase(), rest)) {
            Some((scheme, _)) if scheme == "http" || scheme == "https" => web(text),
            Some((scheme, rest)) if scheme == "data" => data(rest, max_bytes),
            Some((scheme, rest)) if scheme == "file" => file(rest),
            Some((scheme, _)) if is_scheme(&scheme) => Err(refused(FORM)),
            _ if is_base64(text) => decode_base64(text, max_bytes).map(Self::Inline),
            _ if text.is_empty() => Err(refused(FORM)),
            // A bare path is a file like any other: it passes the same guard, or none would.
            _ => Ok(Self::File(PathBuf::from(text))),
        }
    }
}

const FORM: &str = "ref_audio must be a URL (http/https), base64 data URL (data:...), or file URI (file://...)";

fn refused(message: &str) -> ReferenceError {
    ReferenceError::Locator(message.to_owned())
}

/// Whether a word can be a scheme of a URL; a single letter is a drive.
fn is_scheme(word: &str) -> bool {
    word.len() > 1
        && word.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && word.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter))
}

fn web(text: &str) -> Result<Locator, ReferenceError> {
    // What follows a number sign is not sent.
    let text = text.split('#').next().unwrap_or_default();
    let uri: Uri = text.parse().map_err(|error| refused(&format!("ref_audio is not a URL: {error}")))?;
    match uri.host() {
        Some(host) if !host.is_empty() => Ok(Locator::Web(uri)),
        _ => Err(refused("ref_audio is a URL without a host")),
    }
}

fn data(rest: &str, max_bytes: usize) -> Result<Locator, ReferenceError> {
    let Some((kind, content)) = rest.split_once(',') else {
        let start: String = rest.chars().take(27).collect();
        return Err(refused(&format!("Invalid data URL 'data:{start}': missing ',' separator.")));
    };
    if !kind.to_ascii_lowercase().ends_with(";base64") {
        return Err(refused("Only base64 data URLs are supported for now."));
    }
    // Some clients escape the plus and slash of base64 as in any URL.
    let content = if content.contains('%') { String::from_utf8_lossy(&percent_decoded(content)).into_owned() } else { content.to_owned() };
    decode_base64(&content, max_bytes).map(Locator::Inline)
}

fn is_base64(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"+/-_=\r\n".contains(&byte);
    text.len() >= MIN_BASE64 && text.bytes().all(is_part)
}

fn decode_base64(text: &str, max_bytes: usize) -> Result<Bytes, ReferenceError> {
    if text.len() / 4 * 3 > max_bytes.saturating_add(3) {
        return Err(ReferenceError::TooLarge { limit_bytes: max_bytes });
    }
    let text: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let alphabet = if text.iter().any(|byte| b"-_".contains(byte)) { &URL_64 } else { &PLAIN_64 };
    let bytes = alphabet.decode(text).map_err(|error| refused(&format!("ref_audio is not valid base64: {error}")))?;
    Ok(bytes.into())
}

/// The path of a `file:` URL. Its host can only be this machine.
fn file(rest: &str) -> Result<Locator, ReferenceError> {
    let path = match rest.strip_prefix("//") {
        None => rest,
        Some(rest) => {
            let (host, _) = rest.split_once('/').unwrap_or((rest, ""));
            if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
                return Err(refused(&format!("file URLs name files of this machine only, found the host '{host}'")));
            }
            rest.get(host.len()..).unwrap_or_default()
        }
    };
    let path = percent_decoded(path.split(['?', '#']).next().unwrap_or_default());
    let path = String::from_utf8(path).map_err(|_| refused("the path of the file URL is not UTF-8"))?;
    if path.is_empty() || path.contains('\0') {
        return Err(refused("the file URL names no file"));
    }
    Ok(Locator::File(PathBuf::from(path)))
}

/// The bytes behind `%41` and the like; what is no such escape stands for itself.
fn percent_decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        match (first, tail) {
            (b'%', [high, low, after @ ..]) if let (Some(high), Some(low)) = (hex(*high), hex(*low)) => {
                bytes.push(high << 4 | low);
                rest = after;
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    bytes
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Locator, ReferenceError> {
        Locator::read(text, 1 << 20)
    }

    #[test]
    fn every_spelling_of_a_file_is_a_file() {
        for text in
            ["/srv/a b.wav", "file:///srv/a%20b.wav", "file:/srv/a b.wav", "FILE://localhost/srv/a%20b.wav", "file:///srv/a b.wav?x#y"]
        {
            assert_eq!(read(text), Ok(Locator::File(PathBuf::from("/srv/a b.wav"))), "{text}");
        }
        assert_eq!(read("../a.wav"), Ok(Locator::File(PathBuf::from("../a.wav"))));
        assert_eq!(read("file:///srv/%2e%2e/a"), Ok(Locator::File(PathBuf::from("/srv/../a"))));
        assert_eq!(read("C:\\a.wav"), Ok(Locator::File(PathBuf::from("C:\\a.wav"))));
    }

    #[test]
    fn every_spelling_of_content_is_content() {
        let content: Vec<u8> = (0..=255).collect();
        let plain = PLAIN_64.encode(&content);
        let inline = Ok(Locator::Inline(content.clone().into()));
        for text in [
            plain.clone(),
            URL_64.encode(&content),
            plain.trim_end_matches('=').to_owned(),
            format!("data:audio/wav;base64,{plain}"),
            format!("DATA:;BASE64,{plain}"),
            format!("data:audio/wav;base64,{}", plain.replace('+', "%2B").replace('/', "%2f")),
            format!("{}\n{}", &plain[..76], &plain[76..]),
        ] {
            assert_eq!(read(&text), inline, "{text}");
        }
    }

    #[test]
    fn what_is_none_of_them_is_told() {
        for (text, part) in [
            ("", "ref_audio must be"),
            ("ftp://host/a.wav", "ref_audio must be"),
            ("gopher:x", "ref_audio must be"),
            ("http://", "not a URL"),
            ("http:///a", "not a URL"),
            ("data:audio/wav;base64", "missing ',' separator"),
            ("data:audio/wav,abc", "Only base64"),
            ("data:;base64,a*b", "not valid base64"),
            ("file://server/share/a.wav", "this machine only"),
            ("file://", "no file"),
            ("file:///a%00b", "no file"),
            ("file:///%ff", "not UTF-8"),
        ] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
        let large = format!("data:;base64,{}", "A".repeat(2 << 20));
        assert_eq!(read(&large), Err(ReferenceError::TooLarge { limit_bytes: 1 << 20 }));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,60}", scheme in prop::sample::select(vec!["", "http:", "data:", "file:", "file://"])) {
            if let Err(error) = read(&format!("{scheme}{text}")) {
                prop_assert!(error.is_client());
            }
        }

        #[test]
        fn escapes_come_back(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let escaped: String = bytes.iter().map(|byte| format!("%{byte:02x}")).collect();
            prop_assert_eq!(percent_decoded(&escaped), bytes);
        }
    }
}
