//! Checks that many tests share.

use std::mem::replace;
use std::thread::sleep;
use std::time::Duration;

use crate::asr;
use crate::http::{self, Answer};
use crate::server::{Server, wait_until};
use crate::speech;
use crate::wav::Wav;

/// Fails unless an answer is a well-formed error: this status, the error envelope in JSON, a request id, no sound, and the field at
/// fault named. Gives the message.
///
/// # Panics
/// Saying what is wrong.
pub fn error(answer: &Answer, status: u16, names: &str) -> String {
    let shown = answer.start();
    assert_eq!(answer.status, status, "{shown}");
    assert_eq!(answer.header("content-type"), Some("application/json"), "{shown}");
    assert!(answer.header("x-request-id").is_some_and(|id| !id.is_empty()), "no x-request-id: {:?}", answer.headers);
    assert!(answer.body.len() < 4096, "an error of {} bytes", answer.body.len());
    let error = &answer.json()["error"];
    let message = error["message"].as_str().unwrap_or_else(|| panic!("no message: {shown}"));
    assert!(!message.trim().is_empty(), "an empty message: {shown}");
    assert!(error["type"].as_str().is_some_and(|kind| !kind.is_empty()), "no type: {shown}");
    assert_eq!(error["code"], status, "the code is the status: {shown}");
    let param = &error["param"];
    assert!(param.is_null() || param.is_string(), "param is text or null: {shown}");
    let named = format!("{message} {}", param.as_str().unwrap_or_default()).to_lowercase();
    assert!(named.contains(&names.to_lowercase()), "{names:?} is not named: {shown}");
    message.to_owned()
}

/// Fails unless two texts are read alike: lengths within 3 % or 60 ms, and the same words heard.
///
/// # Panics
/// Saying how they differ.
pub fn same_reading(server: &Server, text: &str, other_text: &str) {
    let (clip, other) = (speech::speak(server, text), speech::speak(server, other_text));
    if clip == other {
        return;
    }
    let (heard, other_heard) = (asr::hear(&clip), asr::hear(&other));
    let (seconds, other_seconds) = (clip.seconds(), other.seconds());
    let allowed = (0.03 * seconds.max(other_seconds)).max(0.06);
    let shown = format!("{seconds:.2} s: {heard:?}\n{other_seconds:.2} s: {other_heard:?}");
    assert!((seconds - other_seconds).abs() <= allowed, "the lengths differ\n{shown}");
    assert_eq!(heard, other_heard, "the words differ\n{shown}");
}

/// Fails unless a length in seconds lies within bounds.
///
/// # Panics
/// Naming the length.
pub fn lasts(clip: &Wav, from: f64, to: f64) {
    let seconds = clip.seconds();
    assert!((from..=to).contains(&seconds), "{seconds:.2} s, expected {from} to {to}");
}

/// The state of a server that must come back after it was treated badly.
#[derive(Debug)]
pub struct Baseline {
    threads: u64,
    open_files: usize,
    rss_bytes: u64,
    control: Vec<u8>,
}

const CONTROL: &str = "The control sentence is always the same.";
const MAY_GROW_BYTES: u64 = 20 << 20;
const SETTLING: Duration = Duration::from_secs(60);
/// Nothing changed for so long: nothing is going on.
const STILL: Duration = Duration::from_millis(500);

impl Baseline {
    /// Takes the state, after a control request so that what is made on first use is there, and once closed connections are gone.
    ///
    /// # Panics
    /// When files keep opening and closing although nobody asks for anything.
    pub fn of(server: &Server) -> Self {
        let control = speech::wav_bytes(server, &speech::request(CONTROL));
        let mut last = server.open_files();
        let is_still = wait_until(SETTLING, || {
            sleep(STILL);
            let now = server.open_files();
            replace(&mut last, now) == now
        });
        assert!(is_still, "the server's open files keep changing");
        Self { threads: server.threads(), open_files: server.open_files(), rss_bytes: server.rss_bytes(), control }
    }

    /// Fails unless the server is well: healthy, the same bytes for the control request, no thread, file or memory left behind.
    ///
    /// # Panics
    /// Saying what did not come back.
    pub fn check(&self, server: &Server) {
        assert_eq!(http::get(&server.url("/health")).status, 200);
        let control = speech::wav_bytes(server, &speech::request(CONTROL));
        assert!(control == self.control, "the control request has another answer than before");
        let settled = wait_until(SETTLING, || self.is_back(server));
        assert!(
            settled,
            "not back to {} threads, {} files, {} bytes: {}",
            self.threads,
            self.open_files,
            self.rss_bytes,
            Self::now(server)
        );
    }

    fn is_back(&self, server: &Server) -> bool {
        let memory = server.rss_bytes() < self.rss_bytes + MAY_GROW_BYTES;
        memory && server.threads() <= self.threads && server.open_files() <= self.open_files
    }

    fn now(server: &Server) -> String {
        format!("{} threads, {} files, {} bytes", server.threads(), server.open_files(), server.rss_bytes())
    }
}
