//! Every format, whole and streamed, decoded back by FFmpeg's libraries: label, bytes and length agree with what was asked for.

use std::io::Write;
use std::process::Stdio;
use std::thread;

use omni_tests::asr;
use omni_tests::base64;
use omni_tests::python::Python;
use omni_tests::server::Server;
use omni_tests::speech::{ask, request_with, speak_request};
use omni_tests::wav::Wav;
use omni_tests::words;
use serde_json::{Value, json};

const TEXT: &str = "One more line. It ends with the name of a long river: Mississippi.";

/// Name, content type, the bytes a file begins with, the name FFmpeg has for the container, and the samples at 24 kHz by which a decoded
/// file and a decoded stream may differ in length from what was encoded. WAV, FLAC and Ogg say their length, and so does a whole MP3 but for
/// one frame; a streamed MP3 cannot, so its encoder's and its decoder's delay (576 and 529 samples) are in it, and AAC never does.
type Expected = (&'static str, &'static str, &'static [u8], &'static str, [usize; 2]);

const FORMATS: [Expected; 5] = [
    ("wav", "audio/wav", b"RIFF", "wav", [0, 0]),
    ("flac", "audio/flac", b"fLaC", "flac", [0, 0]),
    ("mp3", "audio/mpeg", b"\xff", "mp3", [576, 576 + 576 + 529]),
    ("opus", "audio/ogg", b"OggS", "ogg", [1, 1]),
    ("aac", "audio/aac", b"\xff", "aac", [1024 + 1024; 2]),
];

/// Samples at 24 kHz mono, decoded by FFmpeg's libraries, which must find nothing to complain about.
fn decoded(container: &str, bytes: &[u8]) -> Wav {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/python/decode.py");
    let mut command = Python::ready().command();
    command.args([script, container]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("Python starts");
    let mut input = child.stdin.take().expect("its input is a pipe");
    let bytes = bytes.to_vec();
    // Written beside the reading, or both sides would wait for the other; a decoder that gives up early shows below.
    let writer = thread::spawn(move || drop(input.write_all(&bytes)));
    let output = child.wait_with_output().expect("the decoder ends");
    writer.join().expect("the writer does not panic");
    assert!(output.status.success() && output.stderr.is_empty(), "{container}: {}", String::from_utf8_lossy(&output.stderr));
    Wav::from_pcm(&output.stdout, 24_000).expect("whole samples")
}

/// Loudness of each 20 ms.
fn envelope(samples: &[i16]) -> Vec<f64> {
    samples.chunks(480).map(|frame| frame.iter().map(|sample| f64::from(*sample).powi(2)).sum::<f64>().sqrt()).collect()
}

/// Correlation of two envelopes, at the best shift of up to five frames: codecs delay.
fn likeness(left: &[i16], right: &[i16]) -> f64 {
    let (left, right) = (envelope(left), envelope(right));
    (0..=5).map(|shift| correlation(&left, &right[shift.min(right.len())..])).fold(0.0, f64::max)
}

fn correlation(left: &[f64], right: &[f64]) -> f64 {
    let len = left.len().min(right.len());
    let (left, right) = (&left[..len], &right[..len]);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / len as f64;
    let (left_mean, right_mean) = (mean(left), mean(right));
    let dot = |a: &[f64], a_mean: f64, b: &[f64], b_mean: f64| a.iter().zip(b).map(|(a, b)| (a - a_mean) * (b - b_mean)).sum::<f64>();
    let norm = dot(left, left_mean, left, left_mean) * dot(right, right_mean, right, right_mean);
    dot(left, left_mean, right, right_mean) / norm.sqrt()
}

fn request(more: Value) -> Value {
    let mut request = request_with(TEXT, &json!({"seed": 3}));
    let fields = more.as_object().expect("the table holds objects").clone();
    request.as_object_mut().expect("a request is an object").extend(fields);
    request
}

#[test]
fn label_bytes_and_sound_agree_for_every_format() {
    let server = Server::shared();
    let plain = speak_request(server, &request(json!({})));
    for (name, content_type, magic, container, slack) in FORMATS {
        for (stream, slack) in [Value::Null, json!("audio")].into_iter().zip(slack) {
            let answer = ask(server, &request(json!({"response_format": name, "stream_format": stream})));
            assert_eq!((answer.status, answer.header("content-type")), (200, Some(content_type)), "{name}: {}", answer.text());
            let starts_right = answer.body.starts_with(magic) || (name == "mp3" && answer.body.starts_with(b"ID3"));
            assert!(starts_right, "{name} begins with {:?}", &answer.body[..4]);
            let sound = decoded(container, &answer.body);
            let (len, wanted) = (sound.samples.len(), plain.samples.len());
            assert!(len.abs_diff(wanted) <= slack, "{name}, stream {stream}: {len} samples instead of {wanted}");
            let likeness = likeness(&plain.samples, &sound.samples);
            assert!(likeness >= 0.99, "{name}, stream {stream}: envelopes agree to {likeness}");
        }
    }
}

/// The last page of an Ogg file says that it is the last, and no other does.
#[test]
fn an_ogg_file_is_ended_whole_and_streamed() {
    for stream in [Value::Null, json!("audio")] {
        let file = ask(Server::shared(), &request(json!({"response_format": "opus", "stream_format": stream}))).body;
        let flags: Vec<u8> = file.windows(6).filter(|bytes| bytes.starts_with(b"OggS\0")).map(|page| page[5]).collect();
        let (last, others) = flags.split_last().expect("there are pages");
        assert!(last & 4 != 0 && others.iter().all(|flags| flags & 4 == 0), "stream {stream}: {flags:?}");
    }
}

/// What an encoder holds back at the end is the end of the last word.
#[test]
fn the_last_word_is_heard_in_every_format_at_any_speed() {
    let server = Server::shared();
    for speed in [1.0, 1.2] {
        let plain = speak_request(server, &request(json!({"speed": speed})));
        for (name, _, _, container, [whole, streamed]) in FORMATS {
            let is_streamed = name == "opus" || name == "aac";
            let (stream, slack) = if is_streamed { (json!("audio"), streamed) } else { (Value::Null, whole) };
            let answer = ask(server, &request(json!({"response_format": name, "stream_format": stream, "speed": speed})));
            let sound = decoded(container, &answer.body);
            let (len, wanted) = (sound.samples.len(), plain.samples.len());
            assert!(len.abs_diff(wanted) <= slack, "{name} at {speed}: {len} samples instead of {wanted}");
            words::assert_heard_only(&asr::hear(&sound), TEXT);
        }
    }
}

#[test]
fn lossless_formats_hold_the_very_samples() {
    let server = Server::shared();
    let plain = speak_request(server, &request(json!({})));
    for stream in [Value::Null, json!("audio")] {
        let flac = ask(server, &request(json!({"response_format": "flac", "stream_format": stream})));
        assert!(decoded("flac", &flac.body).samples == plain.samples, "flac, stream {stream}, changed the samples");
    }
}

#[test]
fn events_carry_any_format_and_their_audio_joined_is_the_file() {
    let server = Server::shared();
    for (name, container) in [("mp3", "mp3"), ("opus", "ogg"), ("wav", "wav")] {
        let answer = ask(server, &request(json!({"response_format": name, "stream_format": "sse"})));
        assert_eq!(answer.header("content-type"), Some("text/event-stream; charset=utf-8"));
        let events: Vec<Value> = answer.text().lines().filter_map(|line| line.strip_prefix("data: ")).map(event).collect();
        let (last, deltas) = events.split_last().expect("there are events");
        assert_eq!(last["type"], "speech.audio.done");
        assert!(last["usage"]["total_tokens"].as_u64().is_some_and(|tokens| tokens > 0), "{last}");
        assert!(!deltas.is_empty() && deltas.iter().all(|delta| delta["type"] == "speech.audio.delta"));
        let audio: Vec<u8> = deltas.iter().flat_map(|delta| base64::decode(delta["audio"].as_str().expect("a delta has audio"))).collect();
        let streamed = ask(server, &request(json!({"response_format": name, "stream_format": "audio"})));
        assert!(audio == streamed.body, "{name}: the events do not join to the stream");
        decoded(container, &audio);
    }
}

fn event(line: &str) -> Value {
    serde_json::from_str(line).expect("an event is JSON")
}

#[test]
fn any_rate_and_any_speed_may_be_asked_for_whole_and_streamed() {
    let server = Server::shared();
    let plain = speak_request(server, &request(json!({})));
    for rate in [8_000, 16_000, 22_050, 24_000, 44_100, 48_000] {
        let whole = ask(server, &request(json!({"sample_rate": rate, "response_format": "pcm"})));
        assert_eq!(whole.header("x-sample-rate"), Some(rate.to_string().as_str()));
        let expected = (plain.samples.len() as f64 * f64::from(rate) / 24_000.0).ceil() as usize * 2;
        assert_eq!(whole.body.len(), expected, "{rate} Hz");
        let streamed = ask(server, &request(json!({"sample_rate": rate, "response_format": "pcm", "stream_format": "audio"})));
        assert!(streamed.body == whole.body, "{rate} Hz: stream and file differ");
    }
    let refused = ask(server, &request(json!({"sample_rate": 11_025})));
    assert!(refused.status == 400 && refused.text().contains("supported rates: 8000, 16000"), "{}", refused.text());
}
