//! nginx with its default buffering in front of the server: it would gather a short answer to its end and a long one into lumps, and does
//! not, because it is asked not to. Where there is no nginx, there is nothing to test.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use omni_tests::artifacts::plugin;
use omni_tests::server::{Server, wait_until};
use omni_tests::speech::{PATH, SEED};
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long a state may take to come. Not a measure of speed: a guard against a hang.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running nginx, which listens on a socket in a folder of its own.
struct Nginx {
    process: Child,
    folder: TempDir,
}

impl Nginx {
    /// Puts nginx in front of a server; none where the machine has none.
    fn before(server: &Server) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name).display().to_string();
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(|kind| format!("{kind}_temp_path {};", at(kind)));
        let settings = format!(
            "daemon off; master_process off; pid {}; error_log stderr; events {{}} http {{ access_log off; {} server {{ listen unix:{}; \
             location / {{ proxy_pass http://{}; }} }} }}",
            at("pid"),
            temporary.concat(),
            at("socket"),
            server.address(),
        );
        fs::write(folder.path().join("nginx.conf"), settings).expect("a file");
        let mut command = Command::new("nginx");
        command.arg("-c").arg(folder.path().join("nginx.conf")).args(["-e", "stderr"]).stdin(Stdio::null()).stdout(Stdio::null());
        let Ok(process) = command.spawn() else {
            eprintln!("no nginx on this machine: nothing to test with it");
            return None;
        };
        let nginx = Self { process, folder };
        assert!(wait_until(PATIENCE, || UnixStream::connect(nginx.socket()).is_ok()), "nginx does not listen");
        Some(nginx)
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    /// Sends a request for speech.
    fn ask(&self, body: &Value) -> UnixStream {
        let mut socket = UnixStream::connect(self.socket()).expect("nginx listens");
        socket.set_read_timeout(Some(PATIENCE)).expect("a limit on reads");
        let body = body.to_string();
        let head = "host: test\r\nconnection: close\r\ncontent-type: application/json";
        write!(socket, "POST {PATH} HTTP/1.1\r\n{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).expect("nginx reads");
        socket
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let ended = self.process.kill().and_then(|()| self.process.wait());
        if let Err(error) = ended {
            eprintln!("nginx could not be ended: {error}");
        }
    }
}

/// Bytes of a body that have come with each read, after the head.
fn reads(socket: &mut UnixStream) -> impl Iterator<Item = Vec<u8>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        socket.read_exact(&mut byte).expect("a head");
        head.extend(byte);
    }
    assert!(head.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&head));
    std::iter::from_fn(move || {
        let mut bytes = vec![0; 64 << 10];
        let len = socket.read(&mut bytes).expect("nginx sends on");
        bytes.truncate(len);
        (len > 0).then_some(bytes)
    })
}

/// Speech that is made no faster than it sounds, in so few bytes that a proxy would keep them all.
fn slow(stream_format: &str, format: &str) -> Value {
    let input = "One, two, three, four, five, six, seven.";
    json!({"input": input, "response_format": format, "sample_rate": 8000, "stream_format": stream_format, "pace": 1, "seed": SEED})
}

#[test]
fn streams_pass_through_as_they_are_made() {
    let library = plugin("sine");
    let server = Server::start_with(&["--plugin", library.to_str().expect("a plain path")]);
    let Some(nginx) = Nginx::before(&server) else { return };
    for (told, stream_format, format) in [(1, "audio", "mp3"), (2, "sse", "mp3"), (3, "audio", "pcm")] {
        let ends = || server.log().matches("outcome=\"done\"").count();
        let mut socket = nginx.ask(&slow(stream_format, format));
        let mut reads = reads(&mut socket);
        assert!(reads.next().is_some_and(|bytes| !bytes.is_empty()), "nothing came");
        assert_eq!(ends(), told - 1, "{stream_format} {format}: the first bytes came only when all had been made");
        let count = 1 + reads.count();
        assert!(count >= 5, "{stream_format} {format}: everything came in {count} reads");
        assert!(wait_until(PATIENCE, || ends() == told), "{}", server.log());
    }
}
