//! A connection's bytes, under watch.
//!
//! Below the HTTP library sits this: it sees when a client is slow, silent or does not read, and ends its connection; and it turns the
//! library's own bare refusals of what is no HTTP into answers with an id and the envelope that every error here has.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

use super::error::ApiError;
use super::request_id::RequestId;
use crate::observe::metrics::catalogue::{CONNECTIONS_CUT, HTTP_REQUESTS};

/// Longest refusal that the HTTP library writes by itself.
const LONGEST_BARE: usize = 256;
/// How much a client may still send after such a refusal, and for how long, so that it comes to read the answer.
const LINGER_BYTES: usize = 1 << 20;
const LINGER: Duration = Duration::from_secs(2);

const IDLE: u8 = 0;
const HEAD: u8 = 1;
const WORKING: u8 = 2;
const UPGRADED: u8 = 3;

/// What a connection is doing: between requests, amid a head, at work on a request, or no HTTP any more. Shared by those who know.
#[derive(Debug, Clone, Default)]
pub struct Phase(Arc<AtomicU8>);

impl Phase {
    /// A head is complete: its request is worked on.
    pub fn begun(&self) {
        self.0.store(WORKING, Ordering::Release);
    }

    /// A request's answer, of this status, is complete.
    pub fn answered(&self, status: u16) {
        let is_upgrade = status == StatusCode::SWITCHING_PROTOCOLS.as_u16();
        self.0.store(if is_upgrade { UPGRADED } else { IDLE }, Ordering::Release);
    }

    fn now(&self) -> u8 {
        self.0.load(Ordering::Acquire)
    }

    /// The first byte of a head has come.
    fn head_begins(&self) -> bool {
        self.0.compare_exchange(IDLE, HEAD, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

/// How long a client may take.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// For a whole head, from its first byte.
    pub head: Duration,
    /// For the next request.
    pub idle: Duration,
    /// To take anything of what it asked for.
    pub reader: Duration,
}

/// A socket under watch.
pub struct Wire {
    socket: TcpStream,
    phase: Phase,
    patience: Patience,
    /// When the client has to have sent what is awaited.
    read_by: Option<Alarm>,
    /// When the client has to have taken something.
    taken_by: Option<Alarm>,
    /// Our own answer in place of a bare one, as far as it is not written.
    own: Vec<u8>,
    /// Set with the first own answer: bytes that may still come in, and until when.
    linger: Option<(usize, Alarm)>,
}

/// A time, and what it is the end of.
struct Alarm {
    phase: u8,
    timer: Pin<Box<Sleep>>,
}

impl Alarm {
    fn new(phase: u8, after: Duration) -> Self {
        Self { phase, timer: Box::pin(sleep_until(Instant::now() + after)) }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.timer.as_mut().poll(context)
    }
}

impl Wire {
    /// Watches over a socket.
    pub fn new(socket: TcpStream, phase: Phase, patience: Patience) -> Self {
        Self { socket, phase, patience, read_by: None, taken_by: None, own: Vec::new(), linger: None }
    }

    /// Nothing has come: is it too late for it?
    fn poll_read_alarm(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        let phase = self.phase.now();
        let after = match phase {
            IDLE => self.patience.idle,
            HEAD => self.patience.head,
            _ => {
                self.read_by = None;
                return Poll::Pending;
            }
        };
        if self.read_by.as_ref().is_none_or(|alarm| alarm.phase != phase) {
            self.read_by = Some(Alarm::new(phase, after));
        }
        if let Some(alarm) = &mut self.read_by {
            ready!(alarm.poll(context));
        }
        Poll::Ready(self.too_slow(phase, context))
    }

    fn too_slow(&mut self, phase: u8, context: &mut Context<'_>) -> io::Error {
        let is_in_head = phase == HEAD;
        CONNECTIONS_CUT.of([if is_in_head { "slow_head" } else { "idle" }]).increment(1);
        if is_in_head {
            self.own = refusal(&ApiError::no_http(StatusCode::REQUEST_TIMEOUT));
            // What does not fit into the socket at once is lost: the client is being cut off.
            let _ = Pin::new(&mut self.socket).poll_write(context, &self.own);
            self.own.clear();
        }
        io::ErrorKind::TimedOut.into()
    }

    /// Writes what is left of an own answer.
    fn poll_own(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.own.is_empty() {
            let written = ready!(Pin::new(&mut self.socket).poll_write(context, &self.own))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.own.drain(..written);
        }
        Poll::Ready(Ok(()))
    }

    /// Answers in the place of the HTTP library.
    fn answer_instead(&mut self, status: StatusCode) {
        self.own = refusal(&ApiError::no_http(status));
        self.linger = Some((LINGER_BYTES, Alarm::new(IDLE, LINGER)));
    }

    /// Notes whether a write went on, and ends the wait for a client that takes nothing.
    fn watch_write(&mut self, context: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.taken_by = None;
            return written;
        }
        let patience = self.patience.reader;
        ready!(self.taken_by.get_or_insert_with(|| Alarm::new(WORKING, patience)).poll(context));
        CONNECTIONS_CUT.of(["slow_reader"]).increment(1);
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// Takes in what still comes after an own answer: closing with bytes unread would take the answer from the client.
    fn poll_linger(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some((left, alarm)) = &mut self.linger else { return Poll::Ready(()) };
        let mut space = [0; 4096];
        while *left > 0 && alarm.poll(context).is_pending() {
            let mut buffer = ReadBuf::new(&mut space);
            match ready!(Pin::new(&mut self.socket).poll_read(context, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => *left = left.saturating_sub(buffer.filled().len()),
                Ok(()) | Err(_) => break,
            }
        }
        Poll::Ready(())
    }
}

/// An error as bytes on the wire, with its line in the log and its place in the metrics: there is no request to account for.
pub fn refusal(error: &ApiError) -> Vec<u8> {
    let (id, status, body) = (RequestId::fresh(), error.status(), error.body().to_string());
    tracing::info!(id = id.as_str(), status = status.as_u16(), route = "malformed", reason = error.message(), "answered");
    HTTP_REQUESTS.of(["malformed", status.as_str()]).increment(1);
    let retry = error.retry_after_s().map_or_else(String::new, |seconds| format!("retry-after: {seconds}\r\n"));
    let (reason, id, len) = (status.canonical_reason().unwrap_or_default(), id.as_str(), body.len());
    let head = format!(
        "HTTP/1.1 {} {reason}\r\ncontent-type: application/json\r\ncontent-length: {len}\r\nx-request-id: {id}\r\n{retry}connection: close\r\n\r\n",
        status.as_u16()
    );
    (head + &body).into_bytes()
}

/// The status of a refusal that the HTTP library wrote by itself: an empty answer without the id that every answer of ours has.
fn bare_refusal(bytes: &[u8]) -> Option<StatusCode> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| text.len() <= LONGEST_BARE && text.ends_with("\r\n\r\n"))?;
    let (version, rest) = text.split_once(' ')?;
    let is_bare = version.starts_with("HTTP/1.") && text.contains("content-length: 0") && !text.contains("x-request-id");
    let status: StatusCode = rest.get(..3)?.parse().ok()?;
    (is_bare && status.is_client_error()).then_some(status)
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        match Pin::new(&mut self.socket).poll_read(context, buffer) {
            Poll::Ready(Ok(())) => {
                if buffer.filled().len() > before && self.phase.head_begins() {
                    self.read_by = Some(Alarm::new(HEAD, self.patience.head));
                }
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => self.poll_read_alarm(context).map(Err),
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_own(context))?;
        if let Some(status) = bare_refusal(bytes) {
            self.answer_instead(status);
            return Poll::Ready(Ok(bytes.len()));
        }
        let written = Pin::new(&mut self.socket).poll_write(context, bytes);
        self.watch_write(context, written)
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, context: &mut Context<'_>, slices: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        ready!(self.poll_own(context))?;
        if let [only] = slices
            && let Some(status) = bare_refusal(only)
        {
            self.answer_instead(status);
            return Poll::Ready(Ok(only.len()));
        }
        let written = Pin::new(&mut self.socket).poll_write_vectored(context, slices);
        self.watch_write(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_own(context))?;
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_own(context))?;
        ready!(Pin::new(&mut self.socket).poll_shutdown(context))?;
        ready!(self.poll_linger(context));
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_librarys_own_empty_refusals_are_replaced() {
        let bare = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\ndate: Mon, 30 Nov 2026 00:00:00 GMT\r\n\r\n";
        assert_eq!(bare_refusal(bare), Some(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE));
        for bytes in [
            &b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"[..],
            b"HTTP/1.1 400 Bad Request\r\nx-request-id: a\r\ncontent-length: 0\r\n\r\n",
            b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\nRIFF",
            b"HTTP/1.1",
            b"\xff\r\n\r\n",
            b"",
        ] {
            assert_eq!(bare_refusal(bytes), None, "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn an_own_answer_is_whole_http_with_the_envelope() {
        let text = String::from_utf8(refusal(&ApiError::too_many_connections(4))).expect("text");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head and a body");
        assert!(head.starts_with("HTTP/1.1 503 Service Unavailable\r\n") && head.contains("\r\nretry-after: 1\r\n"), "{head}");
        assert!(head.contains(&format!("\r\ncontent-length: {}\r\n", body.len())) && head.contains("\r\nx-request-id: speech-"), "{head}");
        let body: serde_json::Value = serde_json::from_str(body).expect("JSON");
        assert_eq!(body["error"]["code"], 503);
    }
}
