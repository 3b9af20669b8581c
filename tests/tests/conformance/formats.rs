//! What each format is called and how its bytes begin, and every field of a WAV header.

use omni_tests::speech::check_good;
use serde_json::json;

use super::support::asked;

/// The name, the content type, and how the bytes begin.
const FORMATS: [(&str, &str, &[u8]); 6] = [
    ("wav", "audio/wav", b"RIFF"),
    ("pcm", "audio/pcm", b""),
    ("flac", "audio/flac", b"fLaC"),
    ("mp3", "audio/mpeg", b"\xff"),
    ("opus", "audio/ogg", b"OggS"),
    ("aac", "audio/aac", b"\xff"),
];

#[test]
fn a_format_has_one_content_type_whole_and_streamed() {
    for (name, content_type, start) in FORMATS {
        let whole = asked(&json!({"response_format": name}));
        check_good(&whole, content_type);
        let streamed = asked(&json!({"response_format": name, "stream_format": "audio"}));
        assert_eq!((streamed.status, streamed.header("content-type")), (200, Some(content_type)), "{name}");
        for body in [&whole.body, &streamed.body] {
            assert!(body.starts_with(start) && body.len() > 100, "{name} begins with {:?}", &body[..4]);
        }
        assert_eq!(whole.header("x-sample-rate"), streamed.header("x-sample-rate"), "{name}");
    }
}

fn number(file: &[u8], at: usize, bytes: usize) -> usize {
    file[at..at + bytes].iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
}

#[test]
fn every_field_of_a_wav_header_is_true() {
    let file = asked(&json!({})).body;
    for (at, bytes, expected, field) in [
        (0, 4, number(b"RIFF", 0, 4), "RIFF"),
        (4, 4, file.len() - 8, "RIFF size"),
        (8, 4, number(b"WAVE", 0, 4), "WAVE"),
        (12, 4, number(b"fmt ", 0, 4), "fmt"),
        (16, 4, 16, "size of fmt"),
        (20, 2, 1, "tag"),
        (22, 2, 1, "channels"),
        (24, 4, 24_000, "rate"),
        (28, 4, 48_000, "bytes a second"),
        (32, 2, 2, "bytes a frame"),
        (34, 2, 16, "bits a sample"),
        (36, 4, number(b"data", 0, 4), "data"),
        (40, 4, file.len() - 44, "data size"),
    ] {
        assert_eq!(number(&file, at, bytes), expected, "{field}");
    }
}

#[test]
fn a_whole_and_a_half_speed_are_whole_samples() {
    for speed in [json!(0.5), json!(1), json!(1.3), json!(4)] {
        let answer = asked(&json!({"response_format": "pcm", "speed": speed}));
        check_good(&answer, "audio/pcm");
        assert!(!answer.body.is_empty() && answer.body.len().is_multiple_of(2), "{speed}");
    }
}
