//! Frames in and out.

use std::time::Duration;

use axum::extract::ws::{Message, Utf8Bytes, WebSocket};
use bytes::Bytes;
use tokio::time::{Instant, timeout, timeout_at};

use super::end::End;
use super::event::Event;
use super::limits::{CLOSE_DEADLINE, MAX_UNANSWERED_PINGS, SEND_DEADLINE, SLOWEST_BYTES_A_SECOND};

/// What a client sent.
#[derive(Debug)]
pub enum Incoming {
    /// A text frame.
    Text(Utf8Bytes),
    /// Only a sign of life.
    Alive,
}

/// A connection to a client.
pub struct Socket {
    inner: WebSocket,
    unanswered_pings: u32,
    /// Whether anything can still come.
    is_readable: bool,
}

impl Socket {
    /// Wraps a connection.
    pub fn new(inner: WebSocket) -> Self {
        Self { inner, unanswered_pings: 0, is_readable: true }
    }

    /// Waits for a frame. Giving up the wait loses nothing.
    pub async fn receive(&mut self) -> Result<Incoming, End> {
        let message = self.inner.recv().await;
        self.unanswered_pings = 0;
        match message {
            Some(Ok(Message::Text(text))) => Ok(Incoming::Text(text)),
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => Ok(Incoming::Alive),
            Some(Ok(Message::Binary(_))) => Err(End::Binary),
            Some(Ok(Message::Close(_))) => Err(End::Left),
            Some(Err(error)) => {
                self.is_readable = false;
                Err(End::of(error))
            }
            None => {
                self.is_readable = false;
                Err(End::Left)
            }
        }
    }

    /// Sends a message of the server.
    pub async fn tell(&mut self, event: &Event) -> Result<(), End> {
        let json = event.json();
        self.send(json.len(), Message::Text(json.into())).await
    }

    /// Sends audio.
    pub async fn send_audio(&mut self, audio: Bytes) -> Result<(), End> {
        self.send(audio.len(), Message::Binary(audio)).await
    }

    /// Asks for a sign of life, unless none came on the last ones.
    pub async fn ping(&mut self) -> Result<(), End> {
        if self.unanswered_pings >= MAX_UNANSWERED_PINGS {
            return Err(End::Unresponsive);
        }
        self.unanswered_pings += 1;
        self.send(0, Message::Ping(Bytes::new())).await
    }

    /// Waits until the connection has taken a frame: a client that reads slowly holds up nobody but itself.
    async fn send(&mut self, bytes: usize, message: Message) -> Result<(), End> {
        let patience = SEND_DEADLINE + Duration::from_secs((bytes / SLOWEST_BYTES_A_SECOND) as u64);
        match timeout(patience, self.inner.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(End::Left),
            Err(_) => Err(End::Unresponsive),
        }
    }

    /// Says why the session ends, and gives the client a moment to take it in: a connection that is dropped with something unread is
    /// reset, and what was sent last may be lost.
    pub async fn close(mut self, end: &End) {
        let deadline = Instant::now() + CLOSE_DEADLINE;
        if timeout_at(deadline, self.inner.send(Message::Close(Some(end.close_frame())))).await.is_err() {
            return;
        }
        let still_sends = !self.is_readable && *end != End::Left;
        if still_sends {
            tokio::time::sleep_until(deadline).await;
        } else {
            drop(timeout_at(deadline, self.read_out()).await);
        }
    }

    async fn read_out(&mut self) {
        while let Some(Ok(_)) = self.inner.recv().await {}
    }
}
