//! Recordings as people have them: phones, browsers, old converters, quiet rooms. What is heard in each is the tone it was made from.

use omni_tests::http::Answer;
use omni_tests::recording::encoded;
use omni_tests::server::Server;
use omni_tests::upload::{Form, clip_of, listing, tone};
use serde_json::{Value, json};

use super::support::{good, refused, server_on, spoken};

/// The note of the voice that is called `high`.
const NOTE_HZ: f64 = 440.0;

/// A recording: its name, the kind of the part if one is said, how it is encoded, and how its length is told when it is too long.
struct Recording {
    file: &'static str,
    kind: Option<&'static str>,
    made_as: &'static str,
    codec: &'static str,
    more: &'static [&'static str],
    too_long: &'static str,
}

#[rustfmt::skip]
const RECORDINGS: [Recording; 11] = [
    Recording { file: "st.wav", kind: Some("audio/wav"), made_as: "a.wav", codec: "pcm_s16le", more: &["44100", "stereo"], too_long: "(31.0s)" },
    Recording { file: "u8.wav", kind: Some("audio/wav"), made_as: "a.wav", codec: "pcm_u8", more: &["24000", "mono"], too_long: "(31.0s)" },
    Recording { file: "t.wav", kind: Some("audio/x-wav"), made_as: "a.wav", codec: "pcm_s16le", more: &["8000", "mono"], too_long: "(31.0s)" },
    Recording { file: "voice.m4a", kind: Some("audio/x-m4a"), made_as: "a.m4a", codec: "aac", more: &[], too_long: "(31." },
    Recording { file: "voice.m4a", kind: Some("audio/mp4"), made_as: "a.m4a", codec: "aac", more: &[], too_long: "(31." },
    Recording { file: "voice.m4a", kind: Some("audio/m4a"), made_as: "a.m4a", codec: "aac", more: &[], too_long: "(31." },
    Recording { file: "voice.m4a", kind: Some("application/octet-stream"), made_as: "a.m4a", codec: "aac", more: &[], too_long: "(31." },
    Recording { file: "voice.m4a", kind: None, made_as: "a.m4a", codec: "aac", more: &[], too_long: "(31." },
    // What a browser records and calls by the name of another container; and one that was never finished, so that no field tells its length.
    Recording { file: "voice.ogg", kind: Some("audio/ogg"), made_as: "a.webm", codec: "libopus", more: &[], too_long: "(31.0s)" },
    Recording { file: "live.webm", kind: Some("audio/webm"), made_as: "a.webm", codec: "libopus", more: &["48000", "mono", "live=1"], too_long: "(31.0s)" },
    Recording { file: "voice.mp3", kind: Some("audio/mpeg"), made_as: "a.mp3", codec: "libmp3lame", more: &[], too_long: "(31." },
];

impl Recording {
    fn upload(&self, server: &Server, wav: &[u8]) -> Answer {
        let bytes = encoded(wav, self.made_as, self.codec, self.more);
        Form::of("anne").file("audio_sample", self.file, self.kind, &bytes).send(server)
    }
}

fn uploaded(server: &Server) -> Value {
    listing(server)["uploaded_voices"][0].take()
}

#[test]
fn what_phones_and_browsers_record_is_decoded_by_its_content() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server_on(folder.path());
    let expected = spoken(&server, "high");
    for recording in &RECORDINGS {
        let Recording { file, kind, .. } = recording;
        good(&recording.upload(&server, &tone(NOTE_HZ, 6.0, 24_000)));
        let listed = uploaded(&server);
        assert!(
            listed["mime_type"].as_str().is_some_and(|kind| kind.starts_with("audio/")) && listed["file_size"].as_u64() > Some(1000),
            "{listed}"
        );
        assert!(spoken(&server, "anne") == expected, "{file} {kind:?} is heard as another note");
        refused(&recording.upload(&server, &tone(NOTE_HZ, 31.0, 24_000)), 400, recording.too_long);
        assert!(uploaded(&server) == listed && spoken(&server, "anne") == expected, "{file} {kind:?}: a refused upload changed the voice");
    }
}

/// Silence of so many seconds and then a tone of this amplitude.
fn after_silence(silence_s: usize, amplitude: f64) -> Vec<u8> {
    let sample = |at: u32| (amplitude * (std::f64::consts::TAU * NOTE_HZ * f64::from(at) / 16_000.0).sin()) as i16;
    clip_of(std::iter::repeat_n(0, silence_s * 16_000).chain((0..4 * 16_000).map(sample)), 16_000)
}

#[test]
fn quiet_and_late_recordings_are_taken_and_silence_and_snippets_are_refused_with_a_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server_on(folder.path());
    let expected = spoken(&server, "high");
    // 65 of 32768 is a level of -57 dB.
    for (what, clip) in
        [("quiet", after_silence(0, 65.0)), ("late", after_silence(2, 12_000.0)), ("quiet and late", after_silence(2, 65.0))]
    {
        good(&Form::of("anne").clip(&clip).send(&server));
        assert!(spoken(&server, "anne") == expected, "{what} is heard as another note");
    }
    let silence = clip_of(std::iter::repeat_n(0, 4 * 16_000), 16_000);
    refused(&Form::of("anne").clip(&silence).send(&server), 400, "is silent");
    refused(&Form::of("anne").clip(&tone(NOTE_HZ, 0.6, 16_000)).send(&server), 400, "(0.6s)");
    assert!(spoken(&server, "anne") == expected, "a refused upload changed the voice");
    assert_eq!(listing(&server)["voices"], json!(["anne", "default", "high", "low", "middle"]));
}
