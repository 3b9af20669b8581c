//! Plain HTTP requests in which every status is an answer, none an error.

use std::time::Duration;

use serde_json::Value;
use ureq::http::{Method, Request};
use ureq::{Agent, Body};

/// How long an exchange may take before the test gives up. Not a measure of speed: a guard against a hang.
pub const PATIENCE: Duration = Duration::from_secs(240);
/// Bodies larger than this are a fault of the server.
const LARGEST_BODY: u64 = 512 << 20;

/// A whole answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// Names, in lower case, and values, in order of arrival.
    pub headers: Vec<(String, String)>,
    /// The body, without any transfer encoding.
    pub body: Vec<u8>,
}

impl Answer {
    /// The value of a header, by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// The body as text, for messages and small documents.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// When it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("not JSON ({error}), status {}: {}", self.status, self.start()))
    }

    /// The first characters of the body, for messages.
    pub fn start(&self) -> String {
        self.text().chars().take(300).collect()
    }
}

/// `GET`
pub fn get(url: &str) -> Answer {
    send(Method::GET, url, &[], b"")
}

/// `POST` of a JSON document.
pub fn post_json(url: &str, document: &Value) -> Answer {
    post(url, document.to_string().as_bytes())
}

/// `POST` of bytes that claim to be JSON.
pub fn post(url: &str, body: &[u8]) -> Answer {
    send(Method::POST, url, &[("content-type", "application/json")], body)
}

/// Any request on a connection of its own. Redirects are not followed.
///
/// # Panics
/// When there is no answer at all.
pub fn send(method: Method, url: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    try_send(method, url, headers, body).unwrap_or_else(|error| panic!("no answer from {url}: {error}"))
}

/// Like [`send`] where the server may be gone.
///
/// # Errors
/// When there is no answer.
pub fn try_send(method: Method, url: &str, headers: &[(&str, &str)], body: &[u8]) -> Result<Answer, ureq::Error> {
    let mut request = Request::builder().method(method).uri(url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(body).map_err(ureq::Error::Http)?;
    read(agent().run(request)?)
}

fn agent() -> Agent {
    let config = Agent::config_builder();
    let config = config.http_status_as_error(false).max_redirects(0).max_redirects_will_error(false).proxy(None);
    config.allow_non_standard_methods(true).timeout_global(Some(PATIENCE)).build().new_agent()
}

fn read(response: ureq::http::Response<Body>) -> Result<Answer, ureq::Error> {
    let (parts, mut body) = response.into_parts();
    let text = |value: &ureq::http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers = parts.headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect();
    let body = body.with_config().limit(LARGEST_BODY).read_to_vec()?;
    Ok(Answer { status: parts.status.as_u16(), headers, body })
}
