//! `x-request-id` on every answer.

use http::{HeaderMap, HeaderName, HeaderValue};

/// The header's name.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Longest id that is taken over from a client.
const MAX_LEN: usize = 128;

/// Identifies a request in answers and in the log.
#[derive(Debug, Clone)]
pub struct RequestId(HeaderValue);

impl RequestId {
    /// A new id: `speech-` and 16 hex digits.
    pub fn fresh() -> Self {
        let id = format!("speech-{:016x}", fastrand::u64(..));
        Self(HeaderValue::from_str(&id).unwrap_or_else(|_| HeaderValue::from_static("speech")))
    }

    /// The client's id where it is sane, else a new one.
    pub fn of(headers: &HeaderMap) -> Self {
        headers.get(REQUEST_ID).filter(|id| is_sane(id)).cloned().map_or_else(Self::fresh, Self)
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }

    /// The id as a header's value.
    pub fn into_value(self) -> HeaderValue {
        self.0
    }
}

fn is_sane(id: &HeaderValue) -> bool {
    let bytes = id.as_bytes();
    (1..=MAX_LEN).contains(&bytes.len()) && bytes.iter().all(|byte| (b' '..=b'~').contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id_for(sent: &[u8]) -> String {
        let value = HeaderValue::from_bytes(sent).expect("a header value");
        RequestId::of(&HeaderMap::from_iter([(REQUEST_ID, value)])).as_str().to_owned()
    }

    #[test]
    fn a_sane_id_is_kept_and_any_other_replaced() {
        assert_eq!(id_for(b"trace-7 b"), "trace-7 b");
        for sent in [&b""[..], b"\xc3\xa9", &[b'a'; 129]] {
            let id = id_for(sent);
            assert!(id.len() == 23 && id.starts_with("speech-") && id[7..].bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
        }
    }
}
