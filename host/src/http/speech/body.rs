//! From bytes to a JSON object.

use http::{HeaderMap, header};
use serde_json::{Map, Value};

use crate::http::error::ApiError;
use crate::http::python;
use crate::http::validation::Faults;
use crate::schema::Fault;

/// Refuses a body that does not claim to be JSON.
pub fn check_type(headers: &HeaderMap) -> Result<(), ApiError> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = kind.split(';').next().unwrap_or_default().trim();
    if media_type.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(ApiError::malformed(None, "1 validation error:\n  Unsupported Media Type: Only 'application/json' is allowed"))
}

/// Reads a JSON object.
pub fn parse(bytes: &[u8]) -> Result<Map<String, Value>, ApiError> {
    let text = std::str::from_utf8(bytes).map_err(|error| not_json(bytes, error.valid_up_to(), "the body is not UTF-8"))?;
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err(fault(&Fault::new("missing", "Field required"), &Value::Null));
    }
    let value = serde_json::from_str(text).map_err(|error| not_json(text.as_bytes(), offset(text, &error), &reason(&error)))?;
    match value {
        Value::Object(members) => Ok(members),
        Value::Null => Err(fault(&Fault::new("missing", "Field required"), &Value::Null)),
        other => {
            Err(fault(&Fault::new("model_attributes_type", "Input should be a valid dictionary or object to extract fields from"), &other))
        }
    }
}

fn fault(fault: &Fault, input: &Value) -> ApiError {
    let mut faults = Faults::default();
    faults.add(None, fault, input);
    faults.into_error()
}

/// The fault of a body that is no JSON, placed at a character.
fn not_json(bytes: &[u8], byte_offset: usize, reason: &str) -> ApiError {
    let offset = String::from_utf8_lossy(&bytes[..byte_offset.min(bytes.len())]).chars().count();
    let mut faults = Faults::default();
    faults.add_at(offset, &Fault::new("json_invalid", "JSON decode error").with(format!("'error': {}", python::quoted(reason))));
    faults.into_error()
}

/// The byte at which the parser stopped. Its columns count from 1; column 0 is the line break before the line.
fn offset(text: &str, error: &serde_json::Error) -> usize {
    let line_start: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let offset = (line_start + error.column()).saturating_sub(1);
    text.floor_char_boundary(offset.min(text.len()))
}

/// The parser's words without the place, which is told in characters instead.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use serde_json::json;

    fn refusal(body: &[u8]) -> Value {
        parse(body).expect_err("it is refused").body()["error"].take()
    }

    #[test]
    fn what_is_no_json_is_placed_at_its_character() {
        for (body, param) in [
            (&b"{\"input\":}"[..], "body.9"),
            ("{\"ü\":\n\"a\nb\"}".as_bytes(), "body.8"),
            (b"{\"input\": \"Hello\"", "body.16"),
            (b"{\"a\": NaN}", "body.6"),
            (b"{\"input\": \"\xff\"}", "body.11"),
            (b"{} x", "body.3"),
        ] {
            let error = refusal(body);
            assert_eq!(error["param"], param, "{error}");
            assert!(error["message"].as_str().is_some_and(|text| text.contains("JSON decode error")), "{error}");
        }
    }

    #[test]
    fn half_a_surrogate_pair_and_bottomless_nesting_are_no_json() {
        let deep = [vec![b'['; 100_000], vec![b']'; 100_000]].concat();
        for body in [&b"{\"input\": \"\\ud800\"}"[..], b"{\"input\": \"a \\udc00 b\"}", &deep] {
            assert!(refusal(body)["message"].as_str().is_some_and(|text| text.contains("JSON decode error")));
        }
    }

    #[test]
    fn what_is_no_object_is_told_so() {
        for body in [&b"\"{\\\"input\\\":\\\"Hello\\\"}\""[..], b"[]", b"5", b"true"] {
            let error = refusal(body);
            assert_eq!(error["param"], "body");
            assert!(error["message"].as_str().is_some_and(|text| text.contains("valid dictionary or object")), "{error}");
        }
        for body in [&b""[..], b"null", b" \n"] {
            assert!(refusal(body)["message"].as_str().is_some_and(|text| text.contains("Field required")));
        }
    }

    #[test]
    fn an_object_is_read_with_or_without_a_byte_order_mark() {
        assert_eq!(parse(b"\xef\xbb\xbf{\"a\": 1}"), parse(b"{\"a\": 1}"));
        assert_eq!(parse(b"{\"a\": 1, \"a\": 2}").map(Value::Object), Ok(json!({"a": 2})));
    }

    #[test]
    fn only_json_is_taken_for_json() {
        let check = |kind: &'static str| check_type(&HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(kind))]));
        assert_eq!(check("Application/JSON; charset=utf-8"), Ok(()));
        for kind in ["text/plain", "application/jsonp", "", "application/x-www-form-urlencoded"] {
            assert!(check(kind).is_err(), "{kind}");
        }
        assert!(check_type(&HeaderMap::new()).is_err());
    }
}
