//! The recogniser: Whisper tiny.en in a Python process that lives as long as the test process and takes one clip at a time.
//!
//! It decodes greedily and hears 0.3 s of silence before and after every clip. It is a small model: it invents `$`, respells names
//! and cannot be trusted on a single short word or on lists of near-equal clauses.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::python::Python;
use crate::wav::Wav;
use crate::words;

const PROGRAM: &str = include_str!("../python/asr.py");
/// How long one clip, or loading the model, may take before the test gives up. Not a measure of speed: a guard against a hang.
const PATIENCE: Duration = Duration::from_secs(240);

/// What was heard, as the recogniser writes it.
///
/// # Panics
/// When the recogniser cannot be started or does not answer.
pub fn transcript(clip: &Wav) -> String {
    static WORKER: OnceLock<Mutex<Worker>> = OnceLock::new();
    let worker = WORKER.get_or_init(|| Mutex::new(Worker::start()));
    let mut worker = worker.lock().unwrap_or_else(PoisonError::into_inner);
    worker.recognise(clip)
}

/// What was heard, as folded words: see [`words::fold`].
pub fn hear(clip: &Wav) -> Vec<String> {
    words::fold(&transcript(clip))
}

struct Worker {
    process: Child,
    input: ChildStdin,
    lines: Receiver<String>,
}

impl Worker {
    fn start() -> Self {
        let mut command = Python::ready().command();
        command.args(["-c", PROGRAM]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("the recogniser can be started");
        let input = process.stdin.take().expect("its input is a pipe");
        let output = process.stdout.take().expect("its output is a pipe");
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || BufReader::new(output).lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let mut worker = Self { process, input, lines };
        let ready = worker.answer();
        assert!(ready.get("ready").is_some(), "the recogniser said {ready} instead of ready");
        worker
    }

    fn recognise(&mut self, clip: &Wav) -> String {
        let samples: Vec<u8> = clip.samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
        let header = json!({"rate": clip.rate, "bytes": samples.len()});
        let sent = writeln!(self.input, "{header}").and_then(|()| self.input.write_all(&samples)).and_then(|()| self.input.flush());
        sent.expect("the recogniser takes a clip");
        let answer = self.answer();
        let text = answer.get("text").and_then(Value::as_str);
        text.unwrap_or_else(|| panic!("the recogniser failed: {answer}")).to_owned()
    }

    fn answer(&mut self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).unwrap_or_else(|error| {
            panic!("no answer from the recogniser ({error}), its process: {:?}", self.process.try_wait());
        });
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("the recogniser wrote {line:?}: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_no_words_and_the_worker_answers_again() {
        let quiet = Wav { rate: 24_000, channels: 1, samples: vec![0; 24_000] };
        for _ in 0..2 {
            let heard = hear(&quiet);
            assert!(heard.len() <= 2, "the recogniser heard {heard:?} in silence");
        }
    }
}
