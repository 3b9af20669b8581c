//! API keys: who may use what is below `/v1`.
//!
//! A key is compared by its hash and in constant time, with every key there is: neither its length nor how much of it is right can be
//! told from how long a refusal takes. Keys never reach the log; a client is known there by its key's name.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use axum::Json;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use serde_json::json;
use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};

use super::access::Tally;
use super::error::ApiError;
use super::limits;
use super::rate::Bucket;
use crate::observe::metrics::catalogue::REFUSED;

/// What needs a key: the reference's prefixes and our second mount of the first.
const GUARDED: [&str; 7] = ["/v1", "/v2", "/inference", "/cohere", "/openwebui/v1", "/synthesize", "/speakers"];
/// What of it may be opened: listings of models and voices, which some clients ask for without their key.
const LISTINGS: [&str; 4] = ["/v1/models", "/v1/audio/models", "/v1/audio/voices", "/v1/models/{*id}"];
/// Longest key, name or line of a file of keys.
const MAX_KEY_LEN: usize = 4096;

/// A text that is not to be shown: it has no `Display`, and `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Hides a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl std::str::FromStr for Secret {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self::new(text))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret")
    }
}

/// Why keys cannot be used. No variant holds a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// It could never be sent in a header.
    #[error("{0} is empty, longer than {MAX_KEY_LEN} characters, or has a space or a character outside ASCII in it")]
    Unusable(String),
    /// The file cannot be read.
    #[error("the file of keys '{path}' cannot be read: {reason}")]
    File {
        /// Which.
        path: String,
        /// Why.
        reason: String,
    },
    /// A file without a key would leave the server open against its operator's wish.
    #[error("the file of keys '{0}' has no key in it")]
    NoKey(String),
    /// A limit for keys where there are none.
    #[error("--rate-limit counts the requests of each key: give --api-key or --api-key-file as well")]
    NothingToLimit,
}

/// A key that was given to the server, and what it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedKey {
    name: String,
    key: Secret,
}

impl NamedKey {
    /// The `number`th key, counted from 1.
    pub fn numbered(number: usize, key: Secret) -> Result<Self, KeyError> {
        Self::named(&format!("key-{number}"), key)
    }

    fn named(name: &str, key: Secret) -> Result<Self, KeyError> {
        let is_usable = |text: &str| (1..=MAX_KEY_LEN).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_usable(&key.0) || !is_usable(name) {
            // The name may be a key that was typed in the wrong place, so it is not told either.
            return Err(KeyError::Unusable("an API key or its name".to_owned()));
        }
        Ok(Self { name: name.to_owned(), key })
    }

    /// The keys of a file: one a line, with a name in front if there are two words. Empty lines and those that begin with `#` are skipped.
    pub fn read_file(path: &Path) -> Result<Vec<Self>, KeyError> {
        let shown = || path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| KeyError::File { path: shown(), reason: error.to_string() })?;
        let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let keys = lines.map(|(number, line)| Self::of_line(line, number).map_err(|()| bad_line(path, number)));
        let keys: Vec<Self> = keys.collect::<Result<_, _>>()?;
        if keys.is_empty() { Err(KeyError::NoKey(shown())) } else { Ok(keys) }
    }

    fn of_line(line: &str, number: usize) -> Result<Self, ()> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let named = match words.as_slice() {
            [key] => Self::named(&format!("line-{number}"), Secret::new(*key)),
            [name, key] => Self::named(name, Secret::new(*key)),
            _ => return Err(()),
        };
        named.map_err(|_| ())
    }
}

fn bad_line(path: &Path, number: usize) -> KeyError {
    KeyError::Unusable(format!("line {number} of the file of keys '{}'", path.display()))
}

/// Who may come in. Without keys, everybody.
#[derive(Debug, Default)]
pub struct Guard {
    keys: Vec<Key>,
    listings_are_open: bool,
}

struct Key {
    name: Arc<str>,
    digest: [u8; 32],
    bucket: Option<Bucket>,
}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Key").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Guard {
    /// A guard for these keys, each of which may make `per_minute` requests a minute.
    ///
    /// # Errors
    /// When there is a limit and no key.
    pub fn new(keys: Vec<NamedKey>, per_minute: Option<u32>, listings_are_open: bool) -> Result<Self, KeyError> {
        if keys.is_empty() && per_minute.is_some() {
            return Err(KeyError::NothingToLimit);
        }
        let key =
            |NamedKey { name, key }| Key { name: Arc::from(name), digest: digest(key.0.as_bytes()), bucket: per_minute.map(Bucket::new) };
        Ok(Self { keys: keys.into_iter().map(key).collect(), listings_are_open })
    }

    /// Number of keys.
    pub fn keys(&self) -> usize {
        self.keys.len()
    }

    /// Whether a request needs a key.
    fn guards(&self, parts: &Parts) -> bool {
        let route = parts.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str);
        if self.keys.is_empty() || parts.method == Method::OPTIONS || !(is_guarded(route) || is_guarded(parts.uri.path())) {
            return false;
        }
        let is_read = matches!(parts.method, Method::GET | Method::HEAD);
        !(self.listings_are_open && is_read && is_listing(route))
    }

    /// The key that a request shows, if it is one of ours.
    fn find(&self, headers: &HeaderMap) -> Option<&Key> {
        let shown = digest(bearer(headers)?);
        let mut found = None;
        for key in &self.keys {
            let same: Choice = key.digest.as_slice().ct_eq(shown.as_slice());
            if bool::from(same) {
                found = Some(key);
            }
        }
        found
    }
}

fn digest(key: &[u8]) -> [u8; 32] {
    Sha256::digest(key).into()
}

fn is_guarded(path: &str) -> bool {
    GUARDED.iter().any(|prefix| path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

fn is_listing(route: &str) -> bool {
    let route = route.strip_prefix("/openwebui").unwrap_or(route).trim_end_matches('/');
    LISTINGS.contains(&route)
}

/// The token of `authorization: Bearer …`, whose scheme may be written in any case.
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let value = headers.get(header::AUTHORIZATION)?.as_bytes().trim_ascii();
    let space = value.iter().position(|byte| *byte == b' ')?;
    let (scheme, token) = value.split_at_checked(space)?;
    scheme.eq_ignore_ascii_case(b"bearer").then(|| token.trim_ascii())
}

/// Lets a request pass, or answers it here. What is refused is still taken in, so that its sender comes to read the answer.
pub async fn check(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    match refusal(&guard, &parts) {
        None => next.run(Request::from_parts(parts, body)).await,
        Some(refusal) => {
            limits::discard(&parts, body).await;
            refusal
        }
    }
}

fn refusal(guard: &Guard, parts: &Parts) -> Option<Response> {
    if !guard.guards(parts) {
        return None;
    }
    let Some(key) = guard.find(&parts.headers) else {
        return Some(unauthorized(parts.headers.contains_key(header::AUTHORIZATION)));
    };
    Tally::note_key(&key.name);
    let bucket = key.bucket.as_ref()?;
    let wait = bucket.take().err()?;
    Some(ApiError::too_often(bucket.per_minute(), wait.as_secs_f64().ceil() as u64).into_response())
}

/// 401, with the reference's word and a sentence for a person.
fn unauthorized(has_shown_one: bool) -> Response {
    REFUSED.of(["unauthorized"]).increment(1);
    let (challenge, message) = match has_shown_one {
        true => (r#"Bearer realm="omni-host", error="invalid_token""#, "this API key is not known here"),
        false => (r#"Bearer realm="omni-host""#, "an API key is needed: send the header `authorization: Bearer KEY`"),
    };
    let mut response = (StatusCode::UNAUTHORIZED, Json(json!({"error": "Unauthorized", "message": message}))).into_response();
    response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(keys: &[&str]) -> Guard {
        let keys = keys.iter().enumerate().map(|(index, key)| NamedKey::numbered(index + 1, Secret::new(*key)));
        Guard::new(keys.collect::<Result<_, _>>().expect("usable keys"), None, false).expect("a guard")
    }

    fn name_for(guard: &Guard, header: &'static str) -> Option<String> {
        let headers = HeaderMap::from_iter([(header::AUTHORIZATION, HeaderValue::from_static(header))]);
        guard.find(&headers).map(|key| key.name.to_string())
    }

    #[test]
    fn only_a_whole_key_in_a_bearer_header_is_known() {
        let guard = guard(&["sk-first", "sk-second"]);
        assert_eq!(name_for(&guard, "Bearer sk-first").as_deref(), Some("key-1"));
        assert_eq!(name_for(&guard, "bEARER   sk-second ").as_deref(), Some("key-2"));
        for header in ["Bearer sk-firs", "Bearer sk-first1", "Bearer ", "Bearer", "sk-first", "Basic sk-first", "Bearersk-first", ""] {
            assert_eq!(name_for(&guard, header), None, "{header}");
        }
        assert!(guard.find(&HeaderMap::new()).is_none());
    }

    #[test]
    fn everything_below_v1_is_guarded_and_probes_are_not() {
        for path in ["/v1", "/v1/", "/v1/audio/speech", "/openwebui/v1/models", "/v2/x", "/v1/nothing", "/synthesize/stream", "/speakers"] {
            assert!(is_guarded(path), "{path}");
        }
        for path in ["/health", "/ready", "/ping", "/metrics", "/version", "/v10/audio", "/", "/openwebui", ""] {
            assert!(!is_guarded(path), "{path}");
        }
        assert!(is_listing("/v1/audio/voices/") && is_listing("/openwebui/v1/models") && !is_listing("/v1/audio/speech"));
    }

    #[test]
    fn no_key_is_ever_shown() {
        let guard = guard(&["sk-secret"]);
        let named = NamedKey::numbered(1, Secret::new("sk-secret")).expect("a key");
        let shown = format!("{guard:?} {named:?} {:?}", NamedKey::numbered(2, Secret::new("sk secret")));
        assert!(!shown.contains("secret"), "{shown}");
    }

    #[test]
    fn a_file_holds_a_key_a_line_with_or_without_a_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("keys");
        let read = |text: &str| {
            std::fs::write(&path, text).expect("a file");
            NamedKey::read_file(&path)
        };
        let keys = read("# who\n\nalice sk-1\r\nsk-2\n").expect("two keys");
        let names: Vec<&str> = keys.iter().map(|key| key.name.as_str()).collect();
        assert_eq!(names, ["alice", "line-4"]);
        let error = read("alice sk-1\nbob sk-2 sk-3\n").expect_err("three words").to_string();
        assert!(error.contains("line 2") && !error.contains("sk-"), "{error}");
        assert!(matches!(read("# nobody\n"), Err(KeyError::NoKey(_))));
        assert!(matches!(NamedKey::read_file(&folder.path().join("none")), Err(KeyError::File { .. })));
    }

    #[test]
    fn what_would_leave_the_server_open_is_refused() {
        for key in ["", " ", "sk one", "sk-ü"] {
            assert!(NamedKey::numbered(1, Secret::new(key)).is_err(), "{key:?}");
        }
        assert_eq!(Guard::new(Vec::new(), Some(5), false).map(drop), Err(KeyError::NothingToLimit));
    }
}
