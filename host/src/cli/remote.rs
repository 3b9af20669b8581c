//! Speaking through a server.

use std::time::Duration;

use serde_json::{Map, Value};
use ureq::http::Response;
use ureq::{Agent, Body};

use super::{Failure, output};

const CONNECT_LIMIT: Duration = Duration::from_secs(10);
const MAX_AUDIO_BYTES: u64 = 4 << 30;
/// The speech endpoint.
const SPEECH: &str = "audio/speech";
const MAX_ERROR_BYTES: u64 = 1 << 20;

/// Why a server did not speak.
#[derive(Debug)]
pub struct Refusal {
    /// What it said.
    pub message: String,
    /// When it may be asked again, if it is only busy.
    pub retry_after: Option<Duration>,
}

/// Has a server speak and gives the bytes of the file.
pub fn speak(server: &str, request: &Map<String, Value>) -> Result<Vec<u8>, Failure> {
    ask(server, request).map_err(|refusal| Failure(refusal.message))
}

/// The same, for who may ask again.
pub fn ask(server: &str, request: &Map<String, Value>) -> Result<Vec<u8>, Refusal> {
    let final_one = |message: String| Refusal { message, retry_after: None };
    let url = endpoint(server, SPEECH);
    let body = Value::Object(request.clone()).to_string();
    let sent = agent().post(&url).header("content-type", "application/json").send(body.as_bytes());
    let mut response = sent.map_err(|error| final_one(format!("no answer from {url}: {error}")))?;
    if response.status() != 200 {
        let (status, retry_after) = (response.status().as_u16(), retry_after(&response));
        return Err(Refusal { message: format!("{url} answered {status}: {}", reason(&mut response)), retry_after });
    }
    if let Some(warnings) = response.headers().get("x-text-warnings").and_then(|value| value.to_str().ok()) {
        output::complain(&format!("warning: {warnings}"));
    }
    let audio = response.body_mut().with_config().limit(MAX_AUDIO_BYTES).read_to_vec();
    audio.map_err(|error| final_one(format!("the answer of {url} broke off: {error}")))
}

/// When a server that is busy may be asked again.
fn retry_after(response: &Response<Body>) -> Option<Duration> {
    let is_busy = matches!(response.status().as_u16(), 429 | 503);
    let seconds = response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
    is_busy.then(|| Duration::from_secs(seconds.unwrap_or(1)))
}

pub(super) fn agent() -> Agent {
    Agent::config_builder().http_status_as_error(false).timeout_connect(Some(CONNECT_LIMIT)).build().new_agent()
}

/// An endpoint of a server that is named with or without scheme, `/v1` and slashes.
pub(super) fn endpoint(server: &str, path: &str) -> String {
    let scheme = if server.contains("://") { "" } else { "http://" };
    let base = server.trim_end_matches('/');
    let base = base.strip_suffix("/v1").unwrap_or(base);
    format!("{scheme}{base}/v1/{path}")
}

/// The message of an error envelope, or the start of whatever else came.
pub(super) fn reason(response: &mut Response<Body>) -> String {
    let text = match response.body_mut().with_config().limit(MAX_ERROR_BYTES).read_to_string() {
        Ok(text) => text,
        Err(error) => return error.to_string(),
    };
    let document: Option<Value> = serde_json::from_str(&text).ok();
    let message = document.as_ref().and_then(|document| document["error"]["message"].as_str());
    message.map_or_else(|| text.chars().take(300).collect(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::{SPEECH, endpoint};

    #[test]
    fn a_server_may_be_named_in_any_way() {
        for server in ["http://h:1", "http://h:1/", "http://h:1/v1", "http://h:1/v1/", "h:1"] {
            assert_eq!(endpoint(server, SPEECH), "http://h:1/v1/audio/speech");
        }
        assert_eq!(endpoint("https://h/tts/v1", SPEECH), "https://h/tts/v1/audio/speech");
    }
}
