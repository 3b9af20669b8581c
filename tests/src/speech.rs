//! Requests to the speech endpoint, and the checks every good answer has to pass.

use serde_json::{Value, json};

use crate::http::{self, Answer};
use crate::raw::{self, Connection};
use crate::server::Server;
use crate::wav::Wav;

/// The endpoint.
pub const PATH: &str = "/v1/audio/speech";
/// The seed of every request that does not choose another.
pub const SEED: i64 = 7;
/// Samples a second of the embedded voice.
pub const RATE: u32 = 24_000;

/// A request for a complete WAV of the embedded voice.
pub fn request(text: &str) -> Value {
    json!({"input": text, "response_format": "wav", "seed": SEED})
}

/// [`request`] with more fields, or other values for its own.
pub fn request_with(text: &str, more: &Value) -> Value {
    let mut request = request(text);
    for (name, value) in more.as_object().expect("more fields are an object") {
        request[name] = value.clone();
    }
    request
}

/// Sends a request and gives the answer, whatever it is.
pub fn ask(server: &Server, request: &Value) -> Answer {
    http::post_json(&server.url(PATH), request)
}

/// Has a text spoken as a complete WAV, checks the answer and gives its body.
pub fn wav_bytes(server: &Server, request: &Value) -> Vec<u8> {
    let answer = ask(server, request);
    check_good(&answer, "audio/wav");
    answer.body
}

/// Has a text spoken and gives the sound.
pub fn speak(server: &Server, text: &str) -> Wav {
    speak_request(server, &request(text))
}

/// Has a request for a complete WAV spoken and gives the sound.
///
/// # Panics
/// When the answer is not a well-formed, non-empty file.
pub fn speak_request(server: &Server, request: &Value) -> Wav {
    let wav = Wav::read(&wav_bytes(server, request)).unwrap_or_else(|error| panic!("{request}: {error}"));
    assert!(!wav.samples.is_empty(), "{request}: an empty 200");
    wav
}

/// Fails unless an answer is a 200 of the type asked for with a request id and a true length.
///
/// # Panics
/// Saying what is wrong.
pub fn check_good(answer: &Answer, content_type: &str) {
    assert_eq!(answer.status, 200, "{}", answer.start());
    assert_eq!(answer.header("content-type"), Some(content_type));
    assert!(answer.header("x-request-id").is_some_and(|id| !id.is_empty()), "no x-request-id: {:?}", answer.headers);
    assert_eq!(answer.header("content-length"), Some(answer.body.len().to_string().as_str()));
}

/// A raw audio stream that has begun.
#[derive(Debug)]
pub struct Stream {
    /// The head of the answer.
    pub head: raw::Head,
    connection: Connection,
}

impl Stream {
    /// Asks for a raw stream and reads the head of the answer.
    ///
    /// # Panics
    /// When the answer is not a chunked 200.
    pub fn open(server: &Server, request: &Value) -> Self {
        let mut request = request.clone();
        request["stream_format"] = json!("audio");
        let mut connection = server.connect();
        connection.send(&raw::post(PATH, request.to_string().as_bytes()));
        let head = connection.read_head();
        assert!(head.status == 200 && head.is_chunked(), "not a stream: {head:?}");
        Self { head, connection }
    }

    /// The next piece; none at the end.
    pub fn next_piece(&mut self) -> Option<Vec<u8>> {
        self.connection.read_chunk()
    }

    /// Every piece still to come.
    pub fn pieces(&mut self) -> Vec<Vec<u8>> {
        self.connection.read_chunks()
    }
}

/// Fails unless the stream of a text, joined, is the complete body of the same text and seed: equal length, samples at most one step
/// apart. Gives the number of pieces the stream came in.
///
/// # Panics
/// Naming the first difference.
pub fn check_stream_is_whole(server: &Server, text: &str) -> usize {
    let whole = speak(server, text);
    let pieces = Stream::open(server, &request_with(text, &json!({"response_format": "pcm"}))).pieces();
    let streamed = Wav::from_pcm(&pieces.concat(), RATE).expect("whole samples");
    assert_eq!(streamed.samples.len(), whole.samples.len(), "stream and file differ in length: {text}");
    let differs = streamed.samples.iter().zip(&whole.samples).position(|(a, b)| a.abs_diff(*b) > 1);
    assert_eq!(differs, None, "stream and file differ at this sample: {text}");
    pieces.len()
}
