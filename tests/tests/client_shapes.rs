//! Requests exactly as well-known clients send them, and what each client needs of the answer.
//!
//! LiveKit Agents reads events line by line, Pipecat wants raw samples at 24 kHz, Open WebUI lists without a key and keeps whole
//! MP3 files, Home Assistant probes for servers it knows and reads a WAV header from the first piece, and n8n sends what its forms hold.

use std::io::Write;
use std::process::{Output, Stdio};
use std::thread;

use omni_tests::base64;
use omni_tests::http::{self, Answer};
use omni_tests::python::Python;
use omni_tests::raw::Head;
use omni_tests::server::Server;
use omni_tests::sound;
use omni_tests::speech::{PATH, RATE, check_good, request, speak};
use omni_tests::wav::{HEADER_BYTES, Wav};
use serde_json::{Value, json};
use ureq::http::Method;

const TEXT: &str = "The juice of lemons makes fine punch.";
/// The only names that Pipecat lets through.
const OPENAI: [&str; 13] =
    ["alloy", "ash", "ballad", "cedar", "coral", "echo", "fable", "marin", "nova", "onyx", "sage", "shimmer", "verse"];
/// Opens the first piece of a file as Python's standard library does and prints what its header says.
const WAVE: &str = "import io, sys, wave; f = wave.open(io.BytesIO(sys.stdin.buffer.read())); \
                    print(f.getframerate(), f.getnchannels(), f.getsampwidth())";
/// What `openai` sends with every request, whatever the answer is to be.
const SDK: [(&str, &str); 4] = [
    ("content-type", "application/json"),
    ("accept", "application/octet-stream"),
    ("authorization", "Bearer sk-no-key-required"),
    ("x-stainless-lang", "python"),
];

fn server() -> &'static Server {
    Server::shared()
}

fn post(path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
    http::send(Method::POST, &server().url(path), headers, body.to_string().as_bytes())
}

/// Runs Python with bytes on its input; it must succeed and have nothing to complain about.
fn python(arguments: &[&str], input: &[u8]) -> Output {
    let mut command = Python::ready().command();
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("Python starts");
    let mut pipe = child.stdin.take().expect("its input is a pipe");
    let bytes = input.to_vec();
    // Written beside the reading, or both sides would wait for the other; a program that gives up early shows below.
    let writer = thread::spawn(move || drop(pipe.write_all(&bytes)));
    let output = child.wait_with_output().expect("Python ends");
    writer.join().expect("the writer does not panic");
    assert!(output.status.success() && output.stderr.is_empty(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Sound as FFmpeg's libraries decode it.
fn decoded(container: &str, bytes: &[u8]) -> Wav {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/python/decode.py");
    Wav::from_pcm(&python(&[script, container], bytes).stdout, RATE).expect("whole samples")
}

/// Fails unless a sound is audible speech about as long as the same text of the same server is.
fn check_speech(what: &str, sound: &Wav) {
    let usual = speak(server(), TEXT).seconds();
    assert!((sound.seconds() / usual - 1.0).abs() < 0.3, "{what}: {:.2} s, usually {usual:.2} s", sound.seconds());
    assert!(sound::level_dbfs(&sound.samples) > -40.0, "{what}: the speech is not audible");
}

/// The parser of the plugin: `data: ` lines only, audio in `audio` or `delta`, ended by the event or by a mark.
fn audio_of_lines(text: &str) -> (Vec<u8>, Option<Value>) {
    let mut audio = Vec::new();
    for line in text.lines().filter_map(|line| line.trim().strip_prefix("data: ")) {
        let event: Value = serde_json::from_str(line).expect("every data line is JSON");
        match event["type"].as_str() {
            Some("speech.audio.delta") => audio.extend(base64::decode(event["audio"].as_str().expect("audio is text"))),
            Some("speech.audio.done") => return (audio, Some(event["usage"].clone())),
            other => panic!("an event the plugin does not know: {other:?}"),
        }
    }
    (audio, None)
}

#[test]
fn livekit_reads_mp3_from_the_lines_of_events() {
    for voice in ["ash", "heart"] {
        let body = json!({"input": TEXT, "model": "hibari", "voice": voice, "instructions": "Speak calmly.", "response_format": "mp3",
                          "speed": 1.0, "stream_format": "sse"});
        let answer = post(PATH, &SDK, &body);
        assert_eq!(answer.status, 200, "{}", answer.start());
        assert!(answer.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")), "{:?}", answer.headers);
        let (audio, usage) = audio_of_lines(&answer.text());
        let usage = usage.expect("the stream is ended by its event");
        assert!(usage["input_tokens"].as_u64() > Some(0) && usage["output_tokens"].as_u64() > Some(0), "{usage}");
        check_speech(voice, &decoded("mp3", &audio));
    }
}

#[test]
fn livekit_with_an_older_model_decodes_by_the_content_type() {
    for (format, content_type, container) in [("mp3", "audio/mpeg", "mp3"), ("wav", "audio/wav", "wav"), ("opus", "audio/ogg", "ogg")] {
        let body = json!({"input": TEXT, "model": "hibari", "voice": "ash", "response_format": format, "speed": 1.0});
        let answer = post(PATH, &SDK, &body);
        check_good(&answer, content_type);
        check_speech(format, &decoded(container, &answer.body));
    }
}

#[test]
fn livekit_warms_its_connection_with_any_status() {
    let answer = http::send(Method::GET, &server().url("/v1/"), &SDK, b"");
    assert!(answer.status < 500 && answer.body.len() < 4096, "{}", answer.status);
}

#[test]
fn pipecat_gets_raw_samples_at_its_rate_for_every_name_it_lets_through() {
    for voice in OPENAI {
        let body = json!({"input": TEXT, "model": "hibari", "voice": voice, "response_format": "pcm"});
        let answer = post(PATH, &SDK, &body);
        check_good(&answer, "audio/pcm");
        assert_eq!(answer.header("x-sample-rate"), Some("24000"), "{voice}");
        assert!(!answer.body.starts_with(b"RIFF"), "{voice}: a file instead of samples");
        check_speech(voice, &Wav::from_pcm(&answer.body, RATE).expect("whole samples"));
    }
}

/// Opens a stream with the SDK's headers and gives its head and its pieces.
fn pieces(body: &Value) -> (Head, Vec<Vec<u8>>) {
    let body = body.to_string();
    let headers: String = SDK.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = format!("POST {PATH} HTTP/1.1\r\nhost: test\r\n{headers}content-length: {}\r\n\r\n", body.len());
    let mut connection = server().connect();
    connection.send(format!("{head}{body}").as_bytes());
    let head = connection.read_head();
    assert!(head.status == 200 && head.is_chunked(), "not a stream: {head:?}");
    (head, connection.read_chunks())
}

#[test]
fn pipecat_asking_for_chunks_gets_whole_samples_in_each() {
    let body = json!({"input": TEXT, "model": "hibari", "voice": "sage", "response_format": "pcm", "stream_format": "audio", "speed": 1.0});
    let (head, pieces) = pieces(&body);
    assert_eq!(head.header("content-type"), Some("audio/pcm"));
    assert_eq!(head.header("x-sample-rate"), Some("24000"));
    assert!(pieces.iter().all(|piece| piece.len().is_multiple_of(2)), "half a sample in a piece");
    check_speech("chunks", &Wav::from_pcm(&pieces.concat(), RATE).expect("whole samples"));
}

#[test]
fn pipecat_shows_the_message_of_a_refusal() {
    let body = json!({"input": TEXT, "model": "gpt-4o-mini-tts", "voice": "sage", "response_format": "pcm"});
    let answer = post(PATH, &SDK, &body);
    assert_eq!(answer.status, 404);
    assert!(answer.json()["error"]["message"].as_str().is_some_and(|message| message.contains("gpt-4o-mini-tts")), "{}", answer.start());
}

/// The ids and names of a listing, asked for without a key.
fn listed(path: &str, member: &str) -> Vec<String> {
    let answer = http::get(&server().url(path));
    check_good(&answer, "application/json");
    let entries = answer.json()[member].as_array().unwrap_or_else(|| panic!("no {member}: {}", answer.start())).clone();
    entries.iter().map(|entry| entry["id"].as_str().expect("an entry has an id").to_owned()).collect()
}

#[test]
fn open_webui_lists_without_a_key_and_keeps_a_whole_mp3_file() {
    let headers = [("content-type", "application/json"), ("authorization", "Bearer "), ("x-openwebui-user-name", "Admin")];
    let (models, voices) = (listed("/openwebui/v1/audio/models", "models"), listed("/openwebui/v1/audio/voices", "voices"));
    assert!(!models.is_empty() && !voices.is_empty(), "nothing to choose from");
    for voice in &voices {
        // The fields of the administrator come last and may be anything.
        let body = json!({"model": models[0], "input": TEXT, "voice": voice, "response_format": "mp3", "speed": 1, "lang_code": "a"});
        let answer = post("/openwebui/v1/audio/speech", &headers, &body);
        check_good(&answer, "audio/mpeg");
        check_speech(voice, &decoded("mp3", &answer.body));
    }
}

#[test]
fn open_webui_names_voices_as_it_shows_them() {
    let voices = http::get(&server().url("/openwebui/v1/audio/voices")).json();
    for voice in voices["voices"].as_array().expect("a list") {
        assert!(voice["name"].as_str().is_some_and(|name| !name.is_empty()), "{voice}");
    }
}

#[test]
fn open_webui_shows_what_is_wrong() {
    let body = json!({"model": "hibari", "input": TEXT, "voice": "nobody", "response_format": "mp3"});
    let answer = post("/openwebui/v1/audio/speech", &SDK, &body);
    assert_eq!(answer.status, 400);
    assert!(answer.json()["error"]["message"].as_str().is_some_and(|message| message.contains("nobody")), "{}", answer.start());
}

#[test]
fn home_assistant_takes_the_server_for_no_other() {
    for path in ["/readyz", "/v1/readyz", "/test", "/v1/test"] {
        assert_eq!(http::get(&server().url(path)).status, 404, "{path}");
    }
    for path in ["/health", "/v1/health"] {
        assert_ne!(http::get(&server().url(path)).text().trim(), "OK", "{path} is another server's");
    }
}

#[test]
fn home_assistant_told_of_the_kind_reads_voices_as_strings() {
    let voices = http::get(&server().url("/v1/audio/voices")).json()["voices"].clone();
    let names: Vec<&str> = voices.as_array().expect("a list").iter().map(|voice| voice.as_str().expect("a string")).collect();
    assert!(names.contains(&"heart"), "{names:?}");
}

fn wyoming(input: &str) -> Value {
    json!({"input": input, "model": "hibari", "voice": "heart", "response_format": "wav", "stream_format": "audio", "speed": 1.0})
}

#[test]
fn home_assistant_reads_the_header_from_the_first_piece() {
    let (head, pieces) = pieces(&wyoming(TEXT));
    assert_eq!(head.header("content-type"), Some("audio/wav"));
    assert!(pieces[0].len() >= HEADER_BYTES, "the first piece holds only {} bytes", pieces[0].len());
    let printed = python(&["-c", WAVE], &pieces[0]).stdout;
    assert_eq!(String::from_utf8_lossy(&printed).trim(), "24000 1 2");
    check_speech("the stream", &Wav::read_stream(&pieces.concat()).expect("a header with open sizes"));
}

#[test]
fn home_assistant_has_three_sentences_in_flight() {
    let texts = ["The first sentence is here.", "The second one follows it.", "The third is the last."];
    let spoken = thread::scope(|scope| {
        let running = texts.map(|text| scope.spawn(move || pieces(&with_seed(wyoming(text))).1.concat()));
        running.map(|one| one.join().expect("a sentence is spoken"))
    });
    for (text, stream) in texts.iter().zip(spoken) {
        let wav = Wav::read_stream(&stream).expect("a header with open sizes");
        assert!(wav.samples == speak(server(), text).samples, "beside others it is another sound: {text}");
    }
}

/// The same request with the seed of the others, so that it can be compared.
fn with_seed(mut body: Value) -> Value {
    body["seed"] = request("")["seed"].clone();
    body
}

#[test]
fn a_form_of_n8n_may_hold_numbers_and_booleans_as_text() {
    let headers = [
        ("content-type", "application/json; charset=utf-8"),
        ("accept", "application/json,text/html,application/xhtml+xml,application/xml,text/*;q=0.9, image/*;q=0.8, */*;q=0.7"),
        ("user-agent", "axios/1.7.4"),
    ];
    for body in [
        json!({"model": "hibari", "input": TEXT, "voice": "alloy", "response_format": "mp3", "speed": 1}),
        json!({"model": "hibari", "input": TEXT, "voice": "alloy", "response_format": "mp3", "speed": "1", "stream": "false", "seed": "7"}),
        json!({"model": "", "input": TEXT, "voice": "", "response_format": "mp3", "speed": "1.0", "stream": "False", "instructions": ""}),
        json!({"model": null, "input": TEXT, "voice": null, "response_format": "mp3", "speed": null, "stream_format": null}),
    ] {
        let answer = post(PATH, &headers, &body);
        assert_eq!(answer.status, 200, "{body}: {}", answer.start());
        check_good(&answer, "audio/mpeg");
        check_speech(&body.to_string(), &decoded("mp3", &answer.body));
    }
}
