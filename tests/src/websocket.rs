//! Sessions on the speech WebSocket: with a real client for what clients do, frame by frame for what no client would send.

use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::http::PATIENCE;
use crate::python::Python;
use crate::server::Server;

/// The endpoint.
pub const PATH: &str = "/v1/audio/speech/stream";

const CLIENT: &str = include_str!("../python/ws_client.py");
/// Every client masks with the same key: masks are no secret here.
const MASK: [u8; 4] = [1, 2, 3, 4];

/// The opcode of a frame that goes on with a message.
pub const CONTINUATION: u8 = 0;
/// The opcode of a text frame.
pub const TEXT: u8 = 1;
/// The opcode of a binary frame.
pub const BINARY: u8 = 2;
/// The opcode of a close frame.
pub const CLOSE: u8 = 8;
/// The opcode of a ping.
pub const PING: u8 = 9;
/// The opcode of a pong.
pub const PONG: u8 = 10;

/// A step of a real client's script: sends a message.
pub fn send(message: Value) -> Value {
    json!({"send": message})
}

/// A step of a real client's script: reads until an event of this type has come.
pub fn wait(kind: &str) -> Value {
    json!({"wait": kind})
}

/// `session.config` with these fields.
pub fn config(fields: &Value) -> Value {
    of_type("session.config", fields)
}

/// `input.text`
pub fn text(text: &str) -> Value {
    json!({"type": "input.text", "text": text})
}

/// `input.done`
pub fn done() -> Value {
    json!({"type": "input.done"})
}

/// `session.close`
pub fn close() -> Value {
    json!({"type": "session.close"})
}

fn of_type(kind: &str, fields: &Value) -> Value {
    let mut message = fields.clone();
    message["type"] = json!(kind);
    message
}

/// What came back in a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Every frame in order; binary ones as `{"type": "binary", "hex": …}`.
    pub events: Vec<Value>,
    /// The code of the server's close frame.
    pub code: Option<u64>,
    /// The reason in it.
    pub reason: Option<String>,
}

/// One unit as it came back.
#[derive(Debug, Clone, PartialEq)]
pub struct Unit {
    /// Its `audio.start`.
    pub start: Value,
    /// Its binary frames.
    pub frames: Vec<Vec<u8>>,
    /// The errors between its start and its end.
    pub errors: Vec<Value>,
    /// Its `audio.done`.
    pub done: Value,
}

impl Report {
    /// The types of all events but audio.
    pub fn types(&self) -> Vec<&str> {
        self.events.iter().filter_map(|event| event["type"].as_str()).filter(|kind| *kind != "binary").collect()
    }

    /// Every event of a type.
    pub fn of(&self, kind: &str) -> Vec<&Value> {
        self.events.iter().filter(|event| event["type"] == kind).collect()
    }

    /// The units, each of which has to begin and end before the next.
    ///
    /// # Panics
    /// When they are not in order, or audio comes outside of one.
    pub fn units(&self) -> Vec<Unit> {
        let mut units = Vec::new();
        let mut open: Option<Unit> = None;
        for event in &self.events {
            match (event["type"].as_str(), &mut open) {
                (Some("audio.start"), None) => {
                    open = Some(Unit { start: event.clone(), frames: Vec::new(), errors: Vec::new(), done: Value::Null })
                }
                (Some("binary"), Some(unit)) => unit.frames.push(unhex(event["hex"].as_str().unwrap_or_default())),
                (Some("error"), Some(unit)) => unit.errors.push(event.clone()),
                (Some("audio.done"), Some(unit)) => {
                    unit.done = event.clone();
                    units.extend(open.take());
                }
                (Some("error" | "session.done"), None) => (),
                (kind, open) => panic!("{kind:?} while {open:?} is open"),
            }
        }
        assert_eq!(open, None, "a unit without its end");
        units
    }
}

/// Has a session with the real client.
///
/// # Panics
/// When the client fails.
pub fn converse(server: &Server, steps: &[Value]) -> Report {
    let mut command = Python::ready().command();
    let url = format!("ws://{}{PATH}", server.address());
    command.args(["-c", CLIENT, &url]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut client = command.spawn().expect("Python starts");
    let script = Value::from(steps.to_vec()).to_string();
    client.stdin.take().expect("its input is a pipe").write_all(script.as_bytes()).expect("Python reads its script");
    let output = client.wait_with_output().expect("Python ends");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report in JSON");
    let events = report["events"].as_array().cloned().unwrap_or_default();
    Report { events, code: report["code"].as_u64(), reason: report["reason"].as_str().map(str::to_owned) }
}

fn unhex(hex: &str) -> Vec<u8> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap_or_default(), 16).expect("two hex digits");
    hex.as_bytes().chunks(2).map(byte).collect()
}

/// A frame of the server.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// What it is.
    pub opcode: u8,
    /// What it holds.
    pub payload: Vec<u8>,
}

/// A connection that sends any frame.
#[derive(Debug)]
pub struct Frames {
    socket: TcpStream,
}

impl Frames {
    /// Opens a session.
    ///
    /// # Panics
    /// When the server does not.
    pub fn open(server: &Server) -> Self {
        Self::open_at(server.address())
    }

    /// Opens a session with the server at an address.
    ///
    /// # Panics
    /// When it does not open one.
    pub fn open_at(address: SocketAddr) -> Self {
        let mut socket = TcpStream::connect(address).expect("the server accepts connections");
        socket.set_read_timeout(Some(PATIENCE)).expect("a limit on reads");
        socket.set_write_timeout(Some(PATIENCE)).expect("a limit on writes");
        let head = format!(
            "GET {PATH} HTTP/1.1\r\nhost: test\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
             sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        socket.write_all(head.as_bytes()).expect("the server reads the handshake");
        let answer = read_head(&mut socket);
        assert!(answer.starts_with("HTTP/1.1 101") && answer.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{answer}");
        Self { socket }
    }

    /// Opens a session and sends its first message.
    pub fn open_with(server: &Server, fields: &Value) -> Self {
        let mut frames = Self::open(server);
        frames.send(&config(fields));
        frames
    }

    /// Sends a message as a client would.
    pub fn send(&mut self, message: &Value) {
        self.send_text(&message.to_string());
    }

    /// Sends a text frame.
    pub fn send_text(&mut self, text: &str) {
        self.send_frame(true, TEXT, text.as_bytes());
    }

    /// Sends a frame.
    pub fn send_frame(&mut self, is_last: bool, opcode: u8, payload: &[u8]) {
        let masked: Vec<u8> = payload.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect();
        self.send_bytes(&[head(is_last, opcode, payload.len(), true), MASK.to_vec(), masked].concat());
    }

    /// Sends bytes as they are. A server that has said goodbye may have stopped reading.
    ///
    /// # Panics
    /// When they cannot be sent for another reason.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        match self.socket.write_all(bytes) {
            Err(error) if !matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => panic!("cannot send: {error}"),
            _ => (),
        }
    }

    /// Says that nothing more will be sent.
    ///
    /// # Panics
    /// When the connection is gone.
    pub fn finish_sending(&self) {
        self.socket.shutdown(Shutdown::Write).expect("the connection is open");
    }

    /// The next frame; none where the connection ends.
    pub fn read_frame(&mut self) -> Option<Frame> {
        let mut start = [0; 2];
        self.socket.read_exact(&mut start).ok()?;
        assert_eq!((start[0] & 0xF0, start[1] & 0x80), (0x80, 0), "a server's frame is whole and not masked: {start:?}");
        let len = match start[1] {
            126 => u64::from(u16::from_be_bytes(self.read_bytes())),
            127 => u64::from_be_bytes(self.read_bytes()),
            short => u64::from(short),
        };
        let mut payload = vec![0; usize::try_from(len).expect("a length")];
        self.socket.read_exact(&mut payload).expect("the whole frame");
        Some(Frame { opcode: start[0] & 0x0F, payload })
    }

    fn read_bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.socket.read_exact(&mut bytes).expect("the length of a frame");
        bytes
    }

    /// The next message, audio in hex; pings are passed over.
    ///
    /// # Panics
    /// When none comes.
    pub fn read(&mut self) -> Value {
        loop {
            let frame = self.read_frame().expect("a message before the end");
            match frame.opcode {
                TEXT => return serde_json::from_slice(&frame.payload).expect("a message is JSON"),
                BINARY => return json!({"type": "binary", "hex": hex(&frame.payload)}),
                PING | PONG => (),
                _ => panic!("{frame:?} instead of a message"),
            }
        }
    }

    /// Reads until a message of this type and gives it.
    pub fn read_until(&mut self, kind: &str) -> Value {
        loop {
            let message = self.read();
            if message["type"] == kind {
                return message;
            }
        }
    }

    /// All that still comes.
    pub fn read_out(mut self) -> Report {
        let mut report = Report { events: Vec::new(), code: None, reason: None };
        while let Some(frame) = self.read_frame() {
            match frame.opcode {
                TEXT => report.events.push(serde_json::from_slice(&frame.payload).expect("a message is JSON")),
                BINARY => report.events.push(json!({"type": "binary", "hex": hex(&frame.payload)})),
                CLOSE => {
                    report.code = frame.payload.first_chunk().map(|code| u64::from(u16::from_be_bytes(*code)));
                    report.reason = frame.payload.get(2..).map(|reason| String::from_utf8(reason.to_vec()).expect("a reason is text"));
                    self.send_frame(true, CLOSE, &frame.payload);
                }
                _ => (),
            }
        }
        report
    }
}

/// The head of a frame, up to its mask.
pub fn head(is_last: bool, opcode: u8, len: usize, is_masked: bool) -> Vec<u8> {
    let first = if is_last { 0x80 | opcode } else { opcode };
    let mask = if is_masked { 0x80 } else { 0 };
    match (u8::try_from(len), u16::try_from(len)) {
        (Ok(short @ 0..=125), _) => vec![first, mask | short],
        (_, Ok(len)) => [&[first, mask | 126][..], &len.to_be_bytes()].concat(),
        _ => [&[first, mask | 127][..], &(len as u64).to_be_bytes()].concat(),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("a string takes all");
        hex
    })
}

fn read_head(socket: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        socket.read_exact(&mut byte).expect("the head of the answer");
        head.extend(byte);
    }
    String::from_utf8_lossy(&head).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_have_the_lengths_of_the_protocol() {
        assert_eq!(head(true, TEXT, 5, true), [0x81, 0x85]);
        assert_eq!(head(false, BINARY, 300, false), [2, 126, 1, 44]);
        assert_eq!(head(true, TEXT, 70_000, true), [0x81, 0xFF, 0, 0, 0, 0, 0, 1, 0x11, 0x70]);
    }

    #[test]
    fn bytes_survive_as_hex() {
        assert_eq!(unhex(&hex(&[0, 15, 255])), [0, 15, 255]);
    }
}
