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

/// A format, and what of a decoded clip is not the clip.
struct Expected {
    name: &'static str,
    content_type: &'static str,
    /// How a file begins.
    magic: &'static [u8],
    /// What FFmpeg calls the container.
    container: &'static str,
    /// Samples of a frame of the codec, by which a length may be off; none where the container tells the length.
    frame: usize,
    /// Samples in front that the codec adds and the container cannot tell, of a file and of a stream.
    delay: [usize; 2],
}

/// At 24 kHz. A stream of MP3 begins without the tag that tells the delays of its encoder and decoder (528 and 529), since that tag tells the
/// length as well; ADTS has no place for the delay of AAC.
#[rustfmt::skip]
const FORMATS: [Expected; 5] = [
    Expected { name: "wav", content_type: "audio/wav", magic: b"RIFF", container: "wav", frame: 0, delay: [0, 0] },
    Expected { name: "flac", content_type: "audio/flac", magic: b"fLaC", container: "flac", frame: 0, delay: [0, 0] },
    Expected { name: "mp3", content_type: "audio/mpeg", magic: b"\xff", container: "mp3", frame: 576, delay: [0, 528 + 529] },
    Expected { name: "opus", content_type: "audio/ogg", magic: b"OggS", container: "ogg", frame: 1, delay: [0, 0] },
    Expected { name: "aac", content_type: "audio/aac", magic: b"\xff", container: "aac", frame: 1024, delay: [1024, 1024] },
];

/// The two deliveries of a file.
const DELIVERIES: [&str; 2] = ["whole", "streamed"];

impl Expected {
    /// Has a text spoken, by a number of [`DELIVERIES`], and checks label, first bytes and length of what comes. Gives the sound.
    fn check(&self, delivery: usize, more: &Value, plain: &Wav) -> Wav {
        let stream = if delivery == 0 { Value::Null } else { json!("audio") };
        let mut fields = json!({"response_format": self.name, "stream_format": stream});
        more.as_object().expect("fields are an object").iter().for_each(|(name, value)| fields[name] = value.clone());
        let (answer, what) = (ask(Server::shared(), &request(fields)), format!("{} {} {more}", DELIVERIES[delivery], self.name));
        assert_eq!((answer.status, answer.header("content-type")), (200, Some(self.content_type)), "{what}: {}", answer.start());
        assert!(answer.body.starts_with(self.magic), "{what} begins with {:?}", &answer.body[..4]);
        let sound = decoded(self.container, &answer.body);
        let (len, wanted) = (sound.samples.len(), plain.samples.len() + self.delay[delivery]);
        assert!(len.abs_diff(wanted) <= self.frame, "{what}: {len} samples instead of {wanted}");
        sound
    }
}

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
    let plain = speak_request(Server::shared(), &request(json!({})));
    for format in FORMATS {
        let sounds = [0, 1].map(|delivery| format.check(delivery, &json!({}), &plain));
        for (sound, delivery) in sounds.iter().zip(DELIVERIES) {
            let likeness = likeness(&plain.samples, &sound.samples);
            assert!(likeness >= 0.99, "{delivery} {}: envelopes agree to {likeness}", format.name);
        }
        let [whole, streamed] = sounds;
        let skipped = format.delay[1] - format.delay[0];
        let len = whole.samples.len().min(streamed.samples.len() - skipped);
        assert!(whole.samples[..len] == streamed.samples[skipped..skipped + len], "{}: file and stream sound differently", format.name);
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
    for speed in [1.0, 1.2] {
        let more = json!({"speed": speed});
        let plain = speak_request(Server::shared(), &request(more.clone()));
        for format in FORMATS {
            for delivery in [0, 1] {
                words::assert_heard_only(&asr::hear(&format.check(delivery, &more, &plain)), TEXT);
            }
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
