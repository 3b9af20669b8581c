//! What the tests of the speech WebSocket share.

use std::time::Duration;

use omni_tests::server::Server;
use omni_tests::speech::{self, SEED, wav_bytes};
use omni_tests::wav::HEADER_BYTES;
use omni_tests::websocket::{Frames, Report, done, text};
use serde_json::{Value, json};

/// How long a server may take. Not a measure of speed: a guard against a hang.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A server that takes three requests and lets none wait.
pub const THREE_PLACES: [&str; 4] = ["--max-queue", "0", "--max-num-seqs", "3"];

/// A sentence like any other.
pub const SENTENCE: &str = "The juice of lemons makes fine punch.";

/// The server that most tests share.
pub fn server() -> &'static Server {
    Server::shared()
}

/// The fields of a session that streams, with more or other ones.
pub fn streaming(more: &Value) -> Value {
    let mut fields = json!({"response_format": "pcm", "stream_audio": true, "split_granularity": "sentence", "seed": SEED});
    for (name, value) in more.as_object().expect("fields are an object") {
        fields[name] = value.clone();
    }
    fields
}

/// What the speech endpoint makes of a text.
pub fn pcm_of(server: &Server, text: &str) -> Vec<u8> {
    wav_bytes(server, &speech::request(text))[HEADER_BYTES..].to_vec()
}

/// Fails unless a session ended with this code and a reason that says this.
pub fn check_ended(report: &Report, code: u64, reason: &str) {
    assert_eq!(report.code, Some(code), "{report:?}");
    assert!(report.reason.as_deref().is_some_and(|told| told.contains(reason)), "{reason:?} expected: {report:?}");
}

/// Has a text spoken and gives its `audio.start`.
pub fn begin(session: &mut Frames, spoken: &str) -> Value {
    session.send(&text(spoken));
    session.send(&done());
    let start = session.read();
    assert_eq!(start["type"], "audio.start");
    start
}
