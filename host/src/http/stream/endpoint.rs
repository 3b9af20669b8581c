//! The handshake.

use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use tracing::Instrument;

use super::limits::{MAX_MESSAGE_BYTES, READ_BUFFER_BYTES, WRITE_BUFFER_BYTES};
use super::session::Session;
use super::socket::Socket;
use crate::http::error::ApiError;
use crate::http::state::App;

/// Opens a session.
pub async fn open(State(app): State<App>, upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>) -> Response {
    let upgrade = match upgrade {
        Ok(_) if app.is_draining() => return ApiError::stopping().into_response(),
        Ok(upgrade) => upgrade,
        Err(rejection) => return no_handshake(&rejection),
    };
    let span = tracing::Span::current();
    let sized = upgrade.max_message_size(MAX_MESSAGE_BYTES).max_frame_size(MAX_MESSAGE_BYTES);
    let sized = sized.read_buffer_size(READ_BUFFER_BYTES).write_buffer_size(WRITE_BUFFER_BYTES);
    let failed = |error| tracing::debug!(%error, "a connection did not become a WebSocket");
    sized.on_failed_upgrade(failed).on_upgrade(move |socket| Session::new(app, Socket::new(socket)).run().instrument(span))
}

/// The answer to a request that is no handshake.
fn no_handshake(rejection: &WebSocketUpgradeRejection) -> Response {
    let mut response = ApiError::no_handshake(&rejection.body_text()).into_response();
    if response.status() == StatusCode::UPGRADE_REQUIRED {
        response.headers_mut().insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    }
    response
}
