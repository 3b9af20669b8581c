//! A hub on the loopback interface, for tests: a list of files, redirects for large ones, ranges, and a line that breaks.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest, Sha256};

/// Files above this lie elsewhere, behind a redirect, as on the real hub.
const LARGE: usize = 1_000;

pub struct Loopback {
    address: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    model: String,
    sha: String,
    files: BTreeMap<String, Vec<u8>>,
    token: Option<String>,
    break_off_after: Option<usize>,
    ranges: Vec<u64>,
    bodies: usize,
}

impl Loopback {
    /// Serves one model until the test process ends.
    pub fn serving(model: &str, sha: &str, files: BTreeMap<String, Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let state = Arc::new(Mutex::new(State { model: model.into(), sha: sha.into(), files, ..State::default() }));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || answer(stream, &shared));
            }
        });
        Self { address, state }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn address(&self) -> String {
        self.address.clone()
    }

    /// Sends so many bytes of the next large body, and closes.
    pub fn break_off_after(&self, bytes: usize) {
        self.state().break_off_after = Some(bytes);
    }

    /// Refuses whoever has not this token.
    pub fn ask_for(&self, token: &str) {
        self.state().token = Some(token.to_owned());
    }

    /// Where every range began that was asked for.
    pub fn ranges(&self) -> Vec<u64> {
        self.state().ranges.clone()
    }

    /// Bodies of files that were sent.
    pub fn bodies(&self) -> usize {
        self.state().bodies
    }

    pub fn etag(&self, name: &str) -> String {
        etag(&self.state().files[name])
    }
}

fn etag(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Answers one request and closes.
fn answer(stream: TcpStream, state: &Mutex<State>) {
    let mut reader = BufReader::new(stream);
    let mut head = Vec::new();
    while let Ok(read) = reader.read_until(b'\n', &mut head) {
        if read <= 2 {
            break;
        }
    }
    let head = String::from_utf8_lossy(&head).to_lowercase().replace("%20", " ");
    let first = head.lines().next().unwrap_or_default().to_owned();
    let path = first.split_once(' ').and_then(|(_, rest)| rest.rsplit_once(' ')).map(|(path, _)| path.to_owned()).unwrap_or_default();
    let header = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned());
    let range = header("range: bytes=").and_then(|range| {
        let (start, end) = range.split_once('-')?;
        Some((start.parse::<usize>().ok()?, end.parse::<usize>().ok()? + 1))
    });
    let reply = reply(&mut state.lock().unwrap_or_else(PoisonError::into_inner), &first, &path, header("authorization: "), range);
    let mut stream = reader.into_inner();
    // The other side may be gone already, which is what some tests are about.
    let _ = stream.write_all(&reply);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let _ = stream.read_exact(&mut [0]);
}

fn reply(state: &mut State, first: &str, path: &str, token: Option<String>, range: Option<(usize, usize)>) -> Vec<u8> {
    let wanted = state.token.as_ref().map(|token| format!("bearer {token}"));
    if wanted.is_some() && token != wanted && !path.starts_with("/elsewhere/") {
        return plain("401 Unauthorized", "");
    }
    if path == format!("/api/models/{}/revision/main", state.model) {
        let siblings: Vec<_> = state.files.keys().map(|name| serde_json::json!({"rfilename": name})).collect();
        return plain("200 OK", &serde_json::json!({"sha": state.sha, "siblings": siblings}).to_string());
    }
    let resolve = format!("/{}/resolve/{}/", state.model, state.sha);
    let is_elsewhere = path.starts_with("/elsewhere/");
    let name = path.strip_prefix(&resolve).or_else(|| path.strip_prefix("/elsewhere/"));
    let Some((name, bytes)) = name.and_then(|name| Some((name.to_owned(), state.files.get(name)?.clone()))) else {
        return plain("404 Not Found", "");
    };
    let tag = etag(&bytes);
    if bytes.len() > LARGE && !is_elsewhere {
        let linked = format!("x-linked-etag: \"{tag}\"\r\nx-linked-size: {}\r\nlocation: /elsewhere/{name}\r\n", bytes.len());
        return format!("HTTP/1.1 302 Found\r\n{linked}content-length: 0\r\nconnection: close\r\n\r\n").into_bytes();
    }
    if first.starts_with("head") {
        let length = bytes.len();
        return format!("HTTP/1.1 200 OK\r\netag: W/\"{tag}\"\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n").into_bytes();
    }
    file(state, &bytes, range)
}

fn file(state: &mut State, bytes: &[u8], range: Option<(usize, usize)>) -> Vec<u8> {
    state.bodies += 1;
    let (start, end) = range.unwrap_or((0, bytes.len()));
    state.ranges.push(start as u64);
    let part = &bytes[start..end.min(bytes.len())];
    let sent = if bytes.len() > LARGE { state.break_off_after.take().unwrap_or(part.len()) } else { part.len() };
    let status = if range.is_some() { "206 Partial Content" } else { "200 OK" };
    let place = format!("content-range: bytes {start}-{}/{}\r\n", end.saturating_sub(1), bytes.len());
    let head = format!("HTTP/1.1 {status}\r\n{place}content-length: {}\r\nconnection: close\r\n\r\n", part.len());
    [head.as_bytes(), &part[..sent.min(part.len())]].concat()
}

fn plain(status: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len()).into_bytes()
}
