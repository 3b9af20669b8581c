//! What the tests of voices that come with a request share: clips, and a server of clips.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use omni_tests::artifacts::plugin;
use omni_tests::base64;
use omni_tests::server::Server;
use omni_tests::speech::speak_request;
use serde_json::{Value, json};
use tempfile::TempDir;

pub const TEXT: &str = "The juice of lemons makes fine punch.";
/// Samples a second of every clip here.
const RATE: u32 = 24_000;

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
    let len = (seconds * RATE as f32) as u32;
    let sample = |at: u32| (12_000.0 * (std::f32::consts::TAU * pitch_hz * at as f32 / RATE as f32).sin()) as i16;
    wav(&(0..len).flat_map(|at| sample(at).to_le_bytes()).collect::<Vec<_>>())
}

/// A mono WAV file of 16-bit samples.
pub fn wav(data: &[u8]) -> Vec<u8> {
    let mut file = b"RIFF".to_vec();
    file.extend((36 + data.len() as u32).to_le_bytes());
    file.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
    file.extend(RATE.to_le_bytes());
    file.extend((RATE * 2).to_le_bytes());
    file.extend(b"\x02\0\x10\0data");
    file.extend((data.len() as u32).to_le_bytes());
    file.extend(data);
    file
}

/// A `data:` URL.
pub fn data_url(bytes: &[u8]) -> String {
    format!("data:audio/wav;base64,{}", base64::encode(bytes))
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
