//! What the tests of voices that come with a request share: clips, and a server of clips.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use omni_tests::artifacts::plugin;
use omni_tests::server::Server;
use omni_tests::speech::speak_request;
use omni_tests::upload;
use serde_json::{Value, json};
use tempfile::TempDir;

pub const TEXT: &str = "The juice of lemons makes fine punch.";
/// Samples a second of every clip here.
pub const RATE: u32 = 24_000;

/// A server of the family that speaks a tone, which may read files of a folder and fetch from this machine.
pub struct Open {
    pub server: Server,
    pub folder: TempDir,
}

/// The one that most tests share.
pub fn open() -> &'static Open {
    static OPEN: OnceLock<Open> = OnceLock::new();
    OPEN.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a directory");
        let server = start(&["--allow-private-media", "--allowed-local-media-path", folder.path().to_str().expect("UTF-8")]);
        Open { server, folder }
    })
}

/// The server with the defaults of an operator who allowed nothing.
pub fn closed() -> &'static Server {
    static CLOSED: OnceLock<Server> = OnceLock::new();
    CLOSED.get_or_init(|| start(&[]))
}

/// A server of the family that speaks a tone.
pub fn start(more: &[&str]) -> Server {
    let library = plugin("sine");
    let library = library.to_str().expect("UTF-8");
    Server::start_with(&[&["--plugin", library], more].concat())
}

/// A WAV file of one tone.
pub fn tone(pitch_hz: f32, seconds: f32) -> Vec<u8> {
    upload::tone(f64::from(pitch_hz), f64::from(seconds), RATE)
}

/// Mean pitch of speech, over the time in which it sounds.
pub fn pitch_hz(samples: &[i16], rate: u32) -> f32 {
    let rises = samples.windows(2).filter(|pair| pair[0] < 0 && pair[1] >= 0).count();
    let sounding = samples.chunks(100).filter(|part| part.iter().any(|sample| sample.unsigned_abs() > 50)).count() * 100;
    rises as f32 * rate as f32 / sounding as f32
}

/// Has a text spoken with these fields and gives its pitch.
pub fn spoken_pitch(server: &Server, fields: &Value) -> f32 {
    let mut request = json!({"input": TEXT, "response_format": "wav", "seed": 5});
    request.as_object_mut().expect("an object").extend(fields.as_object().expect("fields are an object").clone());
    let wav = speak_request(server, &request);
    pitch_hz(&wav.samples, wav.rate)
}

/// Fails unless a pitch is about this one: words lie up to two semitones around it.
pub fn check_pitch(what: &str, found_hz: f32, wanted_hz: f32) {
    assert!((0.85..=1.15).contains(&(found_hz / wanted_hz)), "{what}: {found_hz} Hz instead of {wanted_hz} Hz");
}

/// Writes a file below the folder that may be read.
pub fn file(folder: &Path, name: &str, bytes: &[u8]) -> String {
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("the file is written");
    path.to_str().expect("UTF-8").to_owned()
}

/// Serves one answer to everybody on a port of this machine and gives its URL.
pub fn web_server(answer: impl Fn(&mut TcpStream) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/clip.wav", listener.local_addr().expect("an address"));
    let answer = std::sync::Arc::new(answer);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = std::sync::Arc::clone(&answer);
            thread::spawn(move || {
                let mut stream = stream;
                read_head(&mut stream);
                answer(&mut stream);
            });
        }
    });
    url
}

/// Serves bytes.
pub fn web_file(bytes: Vec<u8>) -> String {
    web_server(move |stream| {
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", bytes.len());
        // A client that has seen enough closes.
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&bytes));
    })
}

/// Serves a byte now and then, for hours.
pub fn web_dawdler() -> String {
    web_server(|stream| {
        let mut sent = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n");
        while sent.is_ok() {
            thread::sleep(Duration::from_millis(100));
            sent = stream.write_all(b"x");
        }
    })
}

/// Redirects everybody.
pub fn web_redirect(target: String) -> String {
    web_server(move |stream| {
        let head = format!("HTTP/1.1 302 Found\r\nlocation: {target}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        let _ = stream.write_all(head.as_bytes());
    })
}

fn read_head(stream: &mut TcpStream) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
        head.push(byte[0]);
    }
}
