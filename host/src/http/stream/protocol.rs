//! The client's messages: text frames with one JSON object each.

use serde_json::{Map, Value};

use super::limits::{MAX_MESSAGE_CHARS, MAX_TEXT_CHARS};
use crate::http::error::shortened;
use crate::http::python;

const CONFIG: &str = "session.config";
/// Longest part of an unknown type that is repeated.
const MAX_SHOWN_BYTES: usize = 200;

/// A message.
#[derive(Debug, PartialEq)]
pub enum ClientMessage {
    /// How to speak from now on.
    Config(Map<String, Value>),
    /// More of the utterance.
    Text(String),
    /// The utterance is complete.
    Done,
    /// The utterance is not wanted any more.
    Cancel,
    /// The session is over once everything before has been spoken.
    Close,
}

/// Why a frame is no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is longer than any message may be.
    #[error("WebSocket message too large")]
    TooLarge,
    /// It is longer than a message with text may be.
    #[error("input.text message too large")]
    TextTooLarge,
    /// It is no JSON.
    #[error("Invalid JSON message")]
    NotJson,
    /// It is JSON, but no object.
    #[error("WebSocket messages must be JSON objects")]
    NotAnObject,
    /// Its text is not one.
    #[error("input.text requires a string value")]
    NotText,
    /// Its type is none of those above.
    #[error("Unknown message type: {0}")]
    Unknown(String),
}

/// A frame that is a JSON object.
#[derive(Debug, PartialEq)]
pub struct Frame {
    /// Its `type`, as an error shows it.
    pub kind: String,
    members: Map<String, Value>,
}

impl Frame {
    /// Reads a frame. Lengths are counted in characters.
    pub fn read(text: &str) -> Result<Self, Refusal> {
        if is_longer(text, MAX_MESSAGE_CHARS) {
            return Err(Refusal::TooLarge);
        }
        let mut members = match serde_json::from_str(text) {
            Ok(Value::Object(members)) => members,
            Ok(_) => return Err(Refusal::NotAnObject),
            Err(_) => return Err(Refusal::NotJson),
        };
        let kind = match members.remove("type") {
            Some(Value::String(kind)) => shortened(kind, MAX_SHOWN_BYTES),
            other => python::shown(&other.unwrap_or_default()),
        };
        if kind != CONFIG && is_longer(text, MAX_TEXT_CHARS) {
            return Err(Refusal::TextTooLarge);
        }
        Ok(Self { kind, members })
    }

    /// The message that it is.
    pub fn message(mut self) -> Result<ClientMessage, Refusal> {
        match self.kind.as_str() {
            CONFIG => Ok(ClientMessage::Config(self.members)),
            "input.text" => match self.members.remove("text") {
                Some(Value::String(text)) => Ok(ClientMessage::Text(text)),
                Some(_) => Err(Refusal::NotText),
                None => Ok(ClientMessage::Text(String::new())),
            },
            "input.done" => Ok(ClientMessage::Done),
            "input.cancel" => Ok(ClientMessage::Cancel),
            "session.close" => Ok(ClientMessage::Close),
            _ => Err(Refusal::Unknown(self.kind)),
        }
    }
}

fn is_longer(text: &str, limit: usize) -> bool {
    text.len() > limit && text.chars().count() > limit
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(frame: &str) -> Result<ClientMessage, Refusal> {
        Frame::read(frame)?.message()
    }

    #[test]
    fn messages_are_told_by_their_type() {
        let voice = json!({"voice": "heart"}).as_object().cloned().unwrap_or_default();
        for (frame, wanted) in [
            (r#"{"type": "session.config", "voice": "heart"}"#, ClientMessage::Config(voice)),
            (r#"{"type": "input.text", "text": "ü"}"#, ClientMessage::Text("ü".to_owned())),
            (r#"{"type": "input.text"}"#, ClientMessage::Text(String::new())),
            (r#"{"type": "input.done", "more": 1}"#, ClientMessage::Done),
            (r#"{"type": "input.cancel"}"#, ClientMessage::Cancel),
            (r#" {"type": "session.close"} "#, ClientMessage::Close),
        ] {
            assert_eq!(read(frame), Ok(wanted), "{frame}");
        }
    }

    #[test]
    fn what_is_no_message_is_refused_in_the_words_of_the_reference() {
        let deep = "[".repeat(100_000);
        for (frame, wanted) in [
            ("", "Invalid JSON message"),
            ("hello", "Invalid JSON message"),
            (r#"{"type": "input.done"} x"#, "Invalid JSON message"),
            (deep.as_str(), "Invalid JSON message"),
            ("[]", "WebSocket messages must be JSON objects"),
            ("null", "WebSocket messages must be JSON objects"),
            (r#"{"type": "input.text", "text": 5}"#, "input.text requires a string value"),
            (r#"{"type": "input.text", "text": null}"#, "input.text requires a string value"),
            (r#"{"type": "input.more"}"#, "Unknown message type: input.more"),
            (r#"{"type": "INPUT.DONE"}"#, "Unknown message type: INPUT.DONE"),
            (r#"{"type": 5}"#, "Unknown message type: 5"),
            ("{}", "Unknown message type: None"),
        ] {
            let refusal = read(frame).expect_err(frame);
            assert_eq!(refusal.to_string(), wanted, "{frame}");
        }
        let refusal = read(&json!({"type": "x".repeat(5000)}).to_string()).expect_err("unknown");
        assert!(refusal.to_string().len() < 300, "{refusal}");
    }

    #[test]
    fn lengths_are_counted_in_characters() {
        let padded = |kind: &str, len: usize, letter: &str| {
            let bare = json!({"type": kind, "text": ""}).to_string().len();
            json!({"type": kind, "text": letter.repeat(len - bare)}).to_string()
        };
        for letter in ["a", "好"] {
            assert!(read(&padded("input.text", MAX_TEXT_CHARS, letter)).is_ok());
            assert_eq!(read(&padded("input.text", MAX_TEXT_CHARS + 1, letter)), Err(Refusal::TextTooLarge));
            assert_eq!(read(&padded("unknown", MAX_TEXT_CHARS + 1, letter)), Err(Refusal::TextTooLarge));
            assert!(read(&padded("session.config", MAX_TEXT_CHARS + 1, letter)).is_ok());
            assert!(read(&padded("session.config", MAX_MESSAGE_CHARS, letter)).is_ok());
            assert_eq!(read(&padded("session.config", MAX_MESSAGE_CHARS + 1, letter)), Err(Refusal::TooLarge));
        }
    }
}
