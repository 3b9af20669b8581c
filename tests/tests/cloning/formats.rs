//! Clips as other people's software writes them.

use omni_tests::recording::encoded;
use omni_tests::upload::data_url;
use serde_json::json;

use crate::support::{check_pitch, closed, spoken_pitch, tone};

/// Name of the file, whose end is the container, and the encoder.
const KINDS: [(&str, &str); 9] = [
    ("a.m4a", "aac"),
    ("a.webm", "libopus"),
    ("b.webm", "vorbis"),
    ("a.ogg", "vorbis"),
    ("b.ogg", "libopus"),
    ("a.mp3", "libmp3lame"),
    ("a.flac", "flac"),
    ("a.aiff", "pcm_s16be"),
    ("a.aac", "aac"),
];

#[test]
fn clips_of_every_common_kind_are_understood() {
    for (name, codec) in KINDS {
        let clip = encoded(&tone(260.0, 2.0), name, codec, &[]);
        check_pitch(&format!("{name} by {codec}"), spoken_pitch(closed(), &json!({"ref_audio": data_url(&clip)})), 260.0);
    }
}
