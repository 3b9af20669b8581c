//! Uploads that nobody should send: each is refused with the right status, in bounded time and memory, and leaves nothing behind.

use std::fs;
use std::path::Path;
use std::thread;

use omni_tests::http::{self, Answer};
use omni_tests::python::Python;
use omni_tests::server::Server;
use omni_tests::upload::{Form, VOICES, delete, listing, tone};
use serde_json::json;
use ureq::http::Method;

use super::support::{good, refused, say, server_on, spoken, upload_tone, upload_vector};

/// Writes a FLAC file of silence of so many seconds: hours of it are a few kilobytes.
const SILENCE: &str = "
import av, numpy, sys
with av.open(sys.argv[1], 'w', format='flac') as sink:
    stream = sink.add_stream('flac', rate=8000, layout='mono')
    for _ in range(int(sys.argv[2])):
        frame = av.AudioFrame.from_ndarray(numpy.zeros((1, 8000), dtype=numpy.int16), format='s16', layout='mono')
        frame.sample_rate = 8000
        for packet in stream.encode(frame):
            sink.mux(packet)
    for packet in stream.encode(None):
        sink.mux(packet)
";
/// More memory than this for a few small uploads is a fault.
const MOST_GROWTH: u64 = 300 << 20;

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none())
}

#[test]
fn names_that_are_none_are_refused_and_odd_ones_are_kept_inside() {
    let outer = tempfile::tempdir().expect("a folder");
    let folder = outer.path().join("voices");
    let server = server_on(&folder);
    for (name, shown) in [
        ("../evil", "Invalid voice name '../evil': must be non-empty, no path separators or NUL"),
        ("..", "Invalid voice name '..': must be non-empty"),
        (".", "Invalid voice name '.'"),
        ("   ", "Invalid voice name '   '"),
        ("/etc/passwd", "Invalid voice name '/etc/passwd'"),
        ("a\\b", "Invalid voice name 'a\\\\b'"),
        ("a\0b", "Invalid voice name 'a\\x00b'"),
        ("tab\tbed", "control characters"),
        ("right\u{202E}left", "invisible marks"),
        ("high", "Voice name 'high' is reserved by a built-in speaker of this model; choose a different name."),
        ("HIGH", "reserved"),
        ("hіgh", "reserved"),
        ("ｈｉｇｈ", "reserved"),
        ("1ow", "reserved"),
    ] {
        refused(&upload_tone(&server, name, 440.0), 400, shown);
    }
    refused(&upload_tone(&server, &"x".repeat(10_240), 440.0), 400, "must not be longer than 255 characters");
    refused(&upload_tone(&server, "", 440.0), 400, "Field required");
    assert!(is_empty(&folder) && listing(&server)["uploaded_voices"] == json!([]), "something was written");
    for name in ["👩‍🚀", "a b.c", "..a", "~", "CON", "-rf", "%2e%2e", "名前", &"ü".repeat(255)] {
        assert_eq!(good(&upload_tone(&server, name, 440.0))["voice"]["name"], name);
        assert!(spoken(&server, name) == spoken(&server, "high"), "{name}");
    }
    let outside: Vec<_> = fs::read_dir(outer.path()).expect("a listing").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(outside, ["voices"]);
    for path in ["%2e%2e%2fvoices", "..%2F..%2Fetc", "%00", "nobody", "high", "%ff", "a%2fb"] {
        assert_eq!(delete(&server, path).status, 404, "{path}");
    }
    good(&delete(&server, "%F0%9F%91%A9%E2%80%8D%F0%9F%9A%80"));
    refused(&say(&server, "👩‍🚀", &json!({})), 400, "Invalid voice");
}

fn flac_of_silence(folder: &Path, seconds: u32) -> Vec<u8> {
    let file = folder.join("silence.flac");
    let status = Python::ready().command().args(["-c", SILENCE]).arg(&file).arg(seconds.to_string()).status();
    assert!(status.is_ok_and(|status| status.success()), "no FLAC file was written");
    fs::read(file).expect("the file")
}

#[test]
fn files_that_are_none_or_too_much_are_refused_and_leave_nothing_behind() {
    let outer = tempfile::tempdir().expect("a folder");
    let folder = outer.path().join("voices");
    let server = server_on(&folder);
    good(&upload_vector(&server, "there", 69.0));
    let before = fs::read_dir(&folder).expect("a listing").count();
    let wav = tone(440.0, 2.0, 24_000);
    let mut lying = wav.clone();
    lying[40..44].copy_from_slice(&u32::MAX.to_le_bytes());
    let mut no_rate = wav.clone();
    no_rate[24..28].copy_from_slice(&0_u32.to_le_bytes());
    let webm = [&[0x1A, 0x45, 0xDF, 0xA3, 0xFF, 0xFF, 0xFF, 0xFF][..], &[0; 100_000]].concat();
    let hours = flac_of_silence(outer.path(), 3 * 3600);
    assert!(hours.len() < 3 << 20, "{} bytes", hours.len());
    let memory = server.rss_bytes();
    for (what, kind, bytes, words) in [
        ("nothing", "audio/wav", &b""[..], "Could not decode audio file: "),
        ("text", "audio/wav", b"this is no sound at all", "Could not decode audio file: "),
        ("a header alone", "audio/wav", &wav[..44], ""),
        ("no rate", "audio/wav", &no_rate, ""),
        ("a size that lies", "audio/wav", &lying, "Could not decode audio file: "),
        ("zeros as webm", "audio/webm", &webm, "Could not decode audio file: "),
        ("hours of FLAC", "audio/flac", &hours, "Reference audio too long (over 600.0s). Maximum 30s supported"),
        ("a picture", "image/png", &wav, "Unsupported MIME type: image/png. Allowed: "),
        ("too short", "audio/wav", &tone(440.0, 0.6, 24_000), "Reference audio too short (0.6s). At least 1s of clear speech is required."),
        (
            "too long",
            "audio/wav",
            &tone(440.0, 31.0, 16_000),
            "Reference audio too long (31.0s). Maximum 30s supported — use a shorter clip.",
        ),
        ("too many bytes", "audio/wav", &vec![0; (10 << 20) + 1], "File size exceeds maximum limit of 10MB. Got 10485761 bytes."),
    ] {
        let answer = Form::of("there").file("audio_sample", "x", Some(kind), bytes).send(&server);
        assert_eq!(answer.status, 400, "{what}: {}", answer.start());
        assert!(answer.json()["error"]["message"].as_str().is_some_and(|message| message.contains(words)), "{what}: {}", answer.start());
    }
    // What writes a stream does not know its size, and says so in both places.
    lying[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
    good(&Form::of("streamed").clip(&lying).send(&server));
    assert!(spoken(&server, "streamed") == spoken(&server, "high"));
    assert!(spoken(&server, "there") == spoken(&server, "high"), "a refused upload harmed the voice that was there");
    assert_eq!(fs::read_dir(&folder).expect("a listing").count(), before + 1, "something was left behind");
    let grown = server.rss_bytes().saturating_sub(memory);
    assert!(grown < MOST_GROWTH, "{grown} bytes more memory");
}

fn send_bytes(server: &Server, kind: &str, body: &[u8]) -> Answer {
    http::send(Method::POST, &server.url(VOICES), &[("content-type", kind)], body)
}

#[test]
fn bodies_that_are_no_forms_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server_on(folder.path());
    let kind = Form::kind();
    refused(&send_bytes(&server, &kind, b"no parts"), 400, "There was an error parsing the body");
    let whole = Form::of("a").clip(&tone(440.0, 2.0, 24_000)).body();
    refused(&send_bytes(&server, &kind, &whole[..whole.len() / 2]), 400, "There was an error parsing the body");
    refused(&send_bytes(&server, "multipart/form-data", &whole), 400, "There was an error parsing the body");
    refused(&send_bytes(&server, "application/json", br#"{"name": "a"}"#), 400, "Field required");
    refused(&send_bytes(&server, &kind, &vec![b'-'; 33 << 20]), 413, "32 MiB");
    assert!(is_empty(folder.path()));
}

#[test]
fn slow_uploads_are_given_up_and_hinder_nobody() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server_on(folder.path());
    let body = Form::of("slow").clip(&tone(440.0, 2.0, 24_000)).body();
    let head = format!("POST {VOICES} HTTP/1.1\r\nhost: test\r\ncontent-type: {}\r\ncontent-length: {}\r\n\r\n", Form::kind(), 10 << 20);
    let half = &body[..body.len() / 2];
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let mut connection = server.connect();
                connection.send(&[head.as_bytes(), half].concat());
                let answer = connection.read_answer();
                assert_eq!(answer.status, 408, "{}", answer.start());
            });
        }
        good(&upload_tone(&server, "quick", 440.0));
    });
    assert_eq!(listing(&server)["uploaded_voices"].as_array().map(Vec::len), Some(1));
    assert_eq!(fs::read_dir(folder.path()).expect("a listing").count(), 1, "something was left behind");
}
