//! Errors as clients see them: one envelope, one place that maps kinds to statuses.
//!
//! `{"error":{"message":…,"type":…,"param":…,"code":…}}`, where `code` is the status. Names of types are those of the reference where
//! it has one, else the name of the exception that OpenAI's client raises for the status. A failure of the model adds `request_id` and
//! `error_stage_id`, both null where they are not known.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::{Value, json};

use super::access::Tally;
use super::sanitise::sanitised;
use crate::engine::{FindError, SpeechError};
use crate::observe::metrics::catalogue::REFUSED;
use crate::voices::StoreError;

/// Longest message in bytes: an error is under 4 kB with all that surrounds it.
const MAX_MESSAGE_BYTES: usize = 2800;

/// The type of an error that says that the audio would be incomplete.
const INCOMPLETE: &str = "server_error";

/// An error answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiError {
    status: StatusCode,
    kind: &'static str,
    message: String,
    param: Option<String>,
    retry_after_s: Option<u32>,
    detail: Option<&'static str>,
    /// Where the model failed, if it did.
    failure: Option<Failure>,
    /// The reason under which it is counted, where the request was turned away and not wrong.
    refusal: Option<&'static str>,
}

/// A failure of the model while it worked on a request.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Failure {
    /// The number of the stage that failed, where it was one.
    stage: Option<u16>,
}

impl ApiError {
    fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        let message = shortened(message.into(), MAX_MESSAGE_BYTES);
        Self { status, kind, message, param: None, retry_after_s: None, detail: None, failure: None, refusal: None }
    }

    fn with_param(mut self, param: impl Into<String>) -> Self {
        self.param = Some(param.into());
        self
    }

    fn with_retry(mut self, retry_after_s: u64) -> Self {
        self.retry_after_s = Some(u32::try_from(retry_after_s).unwrap_or(u32::MAX).max(1));
        self
    }

    fn with_detail(mut self, detail: &'static str) -> Self {
        self.detail = Some(detail);
        self
    }

    fn with_refusal(mut self, reason: &'static str) -> Self {
        self.refusal = Some(reason);
        self
    }

    /// What is said where the protocol itself was broken, so that there is no request: 400, 408, 414 or 431.
    pub fn no_http(status: StatusCode) -> Self {
        let message = match status {
            StatusCode::REQUEST_TIMEOUT => "the head of the request did not arrive in time",
            StatusCode::URI_TOO_LONG => "the path of the request is too long",
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => "the head of the request is too large or has too many fields",
            _ => "this is not an HTTP/1.1 request: its first line, a header or its length cannot be read",
        };
        Self::new(status, status.canonical_reason().unwrap_or("Bad Request"), message)
    }

    /// 503: so many connections are open already.
    pub fn too_many_connections(limit: usize) -> Self {
        let message = format!("{limit} connections are open already, and no more are taken");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable", message).with_retry(1)
    }

    /// 429: this key has made its requests of this minute.
    pub fn too_often(per_minute: u32, retry_after_s: u64) -> Self {
        let message = format!("this key may make {per_minute} requests a minute; try again in {} s", retry_after_s.max(1));
        Self::new(StatusCode::TOO_MANY_REQUESTS, "RateLimitError", message).with_retry(retry_after_s).with_refusal("rate_limit")
    }

    /// 400: a field holds something that cannot be done.
    pub fn invalid(param: &str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequestError", message).with_param(param)
    }

    /// 400: the body does not have the shape of a request; `param` is the place, such as `body.speed`.
    pub fn malformed(param: Option<String>, message: impl Into<String>) -> Self {
        Self { param, ..Self::new(StatusCode::BAD_REQUEST, "Bad Request", message) }
    }

    /// 404: no such model.
    pub fn unknown_model(model: &str) -> Self {
        let message = format!("The model `{}` does not exist.", shortened(model.to_owned(), 200));
        Self::new(StatusCode::NOT_FOUND, "NotFoundError", message).with_param("model")
    }

    /// 404: no such path.
    pub fn unknown_path(path: &str) -> Self {
        let message = format!("There is nothing at {}; the speech endpoint is POST /v1/audio/speech", shortened(path.to_owned(), 200));
        Self::new(StatusCode::NOT_FOUND, "NotFoundError", message).with_detail("Not Found")
    }

    /// 405: the path does not know this method.
    pub fn wrong_method(method: &str, path: &str) -> Self {
        let message =
            format!("{} does not take {}; see the allow header", shortened(path.to_owned(), 200), shortened(method.to_owned(), 40));
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed", message).with_detail("Method Not Allowed")
    }

    /// 408: the body did not arrive in time.
    pub fn too_slow(seconds: u64) -> Self {
        let message = format!("the request body did not arrive within {seconds} s");
        Self::new(StatusCode::REQUEST_TIMEOUT, "Request Timeout", message).with_param("body").with_refusal("too_slow")
    }

    /// 413: the body is too large.
    pub fn too_large(limit_bytes: usize) -> Self {
        let message = format!("the request body is larger than the limit of {} MiB ({limit_bytes} bytes)", limit_bytes >> 20);
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "Payload Too Large", message).with_param("body").with_refusal("too_large")
    }

    /// 426: a WebSocket is opened here, and the request is no handshake.
    pub fn no_handshake(reason: &str) -> Self {
        let message = format!("this is a WebSocket endpoint and the request is not a handshake: {reason}");
        Self::new(StatusCode::UPGRADE_REQUIRED, "Upgrade Required", message)
    }

    /// 503: the server ends before the request does.
    pub fn stopping() -> Self {
        SpeechError::Unavailable { message: "the server is shutting down".to_owned(), retry_after_s: 5 }.into()
    }

    /// 500: the model, or the server, failed.
    pub fn failed(message: impl AsRef<str>) -> Self {
        let message = format!("Speech generation failed: {}", sanitised(message.as_ref()));
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalServerError", message)
    }

    /// 404: no such voice.
    pub fn unknown_voice(name: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "NotFoundError", format!("Voice '{}' not found", shortened(name.to_owned(), 200)))
    }

    /// 500: the server failed, by no fault of the request.
    pub fn internal(message: impl AsRef<str>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalServerError", sanitised(message.as_ref()))
    }

    /// The voice store failed: 503 where it cannot be reached now, else 500.
    pub fn store_failed(what: &str, error: &StoreError) -> Self {
        match error {
            StoreError::Unavailable(_) => SpeechError::Unavailable { message: format!("{what}: {error}"), retry_after_s: 5 }.into(),
            error => Self::internal(format!("{what}: {error}")),
        }
    }

    /// 500: a handler panicked.
    pub fn panicked() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error", "the server failed on this request; its log says why")
    }

    /// The status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The field at fault.
    pub fn param(&self) -> Option<&str> {
        self.param.as_deref()
    }

    /// Whether the model did not come to the end of the text.
    pub fn is_incomplete(&self) -> bool {
        self.kind == INCOMPLETE
    }

    /// Seconds after which to try again.
    pub fn retry_after_s(&self) -> Option<u64> {
        self.retry_after_s.map(u64::from)
    }

    /// The sentence for a person, as events, items of a batch and the log tell it. What the server itself says of a failure names no files
    /// even there.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Counts it if it is a refusal. To be called once, when the client is told.
    pub fn count(&self) {
        if let Some(reason) = self.refusal {
            REFUSED.of([reason]).increment(1);
        }
    }

    /// The JSON body.
    pub fn body(&self) -> Value {
        match self.detail {
            // Of a path that is not there, the path is the point.
            Some(detail) => json!({"detail": detail, "error": self.envelope(&self.message)}),
            None => json!({"error": self.envelope(&sanitised(&self.message))}),
        }
    }

    /// The members that every error has, and those of a failure of the model.
    fn envelope(&self, message: &str) -> Value {
        let mut envelope = json!({"message": message, "type": self.kind, "param": self.param, "code": self.status.as_u16()});
        if let Some(failure) = self.failure {
            envelope["request_id"] = json!(Tally::request_id());
            envelope["error_stage_id"] = json!(failure.stage);
        }
        envelope
    }
}

impl std::fmt::Display for ApiError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for ApiError {}

impl From<SpeechError> for ApiError {
    fn from(error: SpeechError) -> Self {
        let message = error.to_string();
        match error {
            SpeechError::Invalid { field, message } => {
                Self { param: field, ..Self::new(StatusCode::BAD_REQUEST, "BadRequestError", message) }
            }
            SpeechError::Overloaded { retry_after_s } => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, "RateLimitError", message).with_retry(retry_after_s).with_refusal("queue_full")
            }
            SpeechError::Unavailable { message, retry_after_s } => {
                let error = Self::new(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable", message);
                error.with_retry(retry_after_s).with_refusal("unavailable")
            }
            SpeechError::TimedOut { message } => Self::new(StatusCode::GATEWAY_TIMEOUT, "Gateway Timeout", message),
            SpeechError::Incomplete { message } => Self::new(StatusCode::INTERNAL_SERVER_ERROR, INCOMPLETE, message),
            SpeechError::Failed { message, stage } => {
                let stage = stage.and_then(|stage| u16::try_from(stage).ok());
                Self { failure: Some(Failure { stage }), ..Self::failed(message) }
            }
        }
    }
}

impl From<FindError> for ApiError {
    fn from(error: FindError) -> Self {
        match error {
            FindError::UnknownModel(model) => Self::unknown_model(&model),
            FindError::NotReady(error) => error.into(),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        self.count();
        let mut response = (self.status, Json(self.body())).into_response();
        if let Some(seconds) = self.retry_after_s {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        // The rest of such a body may still be on its way: the connection is no good for another request.
        if matches!(self.status, StatusCode::PAYLOAD_TOO_LARGE | StatusCode::REQUEST_TIMEOUT) {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// At most `limit` bytes of a text, cut between characters and marked.
pub(super) fn shortened(mut text: String, limit: usize) -> String {
    if text.len() > limit {
        text.truncate(text.floor_char_boundary(limit));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_envelope_has_all_four_members() {
        let body = ApiError::invalid("speed", "no").body();
        assert_eq!(body, json!({"error": {"message": "no", "type": "BadRequestError", "param": "speed", "code": 400}}));
        let body = ApiError::failed("it broke").body();
        assert_eq!(body["error"]["param"], Value::Null);
        assert_eq!(ApiError::unknown_path("/x").body()["detail"], "Not Found");
    }

    #[test]
    fn kinds_map_to_statuses_and_waiting_times() {
        let busy: ApiError = SpeechError::Overloaded { retry_after_s: 0 }.into();
        let response = busy.into_response();
        assert_eq!((response.status().as_u16(), &response.headers()["retry-after"]), (429, &HeaderValue::from_static("1")));
        let loading: ApiError = FindError::NotReady(SpeechError::Unavailable { message: "loading".into(), retry_after_s: 7 }).into();
        let response = loading.into_response();
        assert_eq!((response.status().as_u16(), &response.headers()["retry-after"]), (503, &HeaderValue::from_static("7")));
        let unknown: ApiError = FindError::UnknownModel("x".into()).into();
        assert_eq!((unknown.status().as_u16(), unknown.message()), (404, "The model `x` does not exist."));
    }

    #[test]
    fn no_path_of_the_machine_is_told() {
        let error = ApiError::failed("cannot read '/home/me/models/a.bin': gone, see /tmp/log and /v1/models");
        assert_eq!(error.message(), "Speech generation failed: cannot read '<path>': gone, see <path> and /v1/models");
    }

    #[test]
    fn an_answer_is_sanitised_and_an_event_tells_the_clients_own_words() {
        let error = ApiError::invalid("ref_audio", "cannot fetch https://h/a/b.wav");
        assert_eq!(error.body()["error"]["message"], "cannot fetch https://h<path>");
        assert_eq!(error.message(), "cannot fetch https://h/a/b.wav");
        let unknown = ApiError::unknown_path("/v1/audio/speech.php").body();
        assert!(unknown["error"]["message"].as_str().is_some_and(|message| message.contains("/v1/audio/speech.php")), "{unknown}");
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        let error = ApiError::unknown_model(&"ü".repeat(10_000));
        assert!(error.body().to_string().len() < 500);
        assert!(ApiError::invalid("input", "é".repeat(10_000)).body().to_string().len() < 4000);
    }
}
