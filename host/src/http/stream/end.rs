//! Why a session ends, and how its client is told.

use axum::Error;
use axum::extract::ws::{CloseFrame, Utf8Bytes, close_code};
use tungstenite::Error as WsError;
use tungstenite::error::{CapacityError, ProtocolError};

use super::limits::MAX_MESSAGE_BYTES;
use crate::http::error::shortened;

/// The most bytes of a reason are 123; the mark of a cut takes three.
const MAX_REASON_BYTES: usize = 120;

/// Why a session ends.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum End {
    /// The client sent `session.close`.
    #[error("session.close")]
    Asked,
    /// The client is gone: it sent a close frame, or its connection broke.
    #[error("the client left")]
    Left,
    /// The client took or said nothing for too long, though its connection stands.
    #[error("keepalive ping timeout")]
    Unresponsive,
    /// `session.config` did not come.
    #[error("Timeout waiting for session.config")]
    NoConfig,
    /// Nothing came for too long.
    #[error("Idle timeout: no message received")]
    Idle,
    /// The first message was no valid `session.config`.
    #[error("{0}")]
    Rejected(String),
    /// A binary frame came.
    #[error("WebSocket messages must be text frames")]
    Binary,
    /// A message was longer than the connection takes.
    #[error("a message may hold {} MiB", MAX_MESSAGE_BYTES >> 20)]
    TooLong,
    /// A text frame was not UTF-8.
    #[error("a text frame was not UTF-8")]
    NotUtf8,
    /// The client broke the rules of the protocol.
    #[error("{0}")]
    Protocol(String),
    /// The server ends.
    #[error("the server is shutting down")]
    Stopping,
}

impl End {
    /// What a failure to read means.
    pub fn of(error: Error) -> Self {
        match error.into_inner().downcast::<WsError>().map(|error| *error) {
            Ok(WsError::Capacity(CapacityError::MessageTooLong { .. })) => Self::TooLong,
            Ok(WsError::Utf8(_)) => Self::NotUtf8,
            Ok(WsError::Protocol(ProtocolError::ResetWithoutClosingHandshake)) => Self::Left,
            Ok(WsError::Protocol(error)) => Self::Protocol(error.to_string()),
            Ok(_) | Err(_) => Self::Left,
        }
    }

    /// Whether an error message goes before the close frame, for clients that do not look at it.
    pub fn is_told(&self) -> bool {
        matches!(self, Self::NoConfig | Self::Idle | Self::Rejected(_) | Self::Binary)
    }

    /// The close frame.
    pub fn close_frame(&self) -> CloseFrame {
        let code = match self {
            Self::Asked | Self::Left | Self::NoConfig | Self::Idle => close_code::NORMAL,
            Self::Stopping => close_code::AWAY,
            Self::Protocol(_) => close_code::PROTOCOL,
            Self::Binary => close_code::UNSUPPORTED,
            Self::NotUtf8 => close_code::INVALID,
            Self::Rejected(_) => close_code::POLICY,
            Self::TooLong => close_code::SIZE,
            Self::Unresponsive => close_code::ERROR,
        };
        CloseFrame { code, reason: Utf8Bytes::from(shortened(self.to_string(), MAX_REASON_BYTES)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_has_a_code_and_a_reason_that_fits() {
        for (end, code) in [
            (End::Asked, 1000),
            (End::Idle, 1000),
            (End::NoConfig, 1000),
            (End::Stopping, 1001),
            (End::Protocol("broken".to_owned()), 1002),
            (End::Binary, 1003),
            (End::NotUtf8, 1007),
            (End::Rejected("é".repeat(500)), 1008),
            (End::TooLong, 1009),
            (End::Unresponsive, 1011),
        ] {
            let frame = end.close_frame();
            assert_eq!(frame.code, code, "{end:?}");
            assert!((1..=123).contains(&frame.reason.len()), "{frame:?}");
        }
    }

    #[test]
    fn failures_to_read_are_told_apart() {
        for (error, end) in [
            (WsError::Capacity(CapacityError::MessageTooLong { size: 9, max_size: 1 }), End::TooLong),
            (WsError::Utf8("x".to_owned()), End::NotUtf8),
            (WsError::Protocol(ProtocolError::ResetWithoutClosingHandshake), End::Left),
            (WsError::Io(std::io::Error::other("gone")), End::Left),
        ] {
            assert_eq!(End::of(Error::new(error)), end);
        }
        let unmasked = End::of(Error::new(WsError::Protocol(ProtocolError::UnmaskedFrameFromClient)));
        assert!(matches!(unmasked, End::Protocol(_)), "{unmasked:?}");
    }
}
