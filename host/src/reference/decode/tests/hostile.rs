//! Files made to do harm: each gets a client's error, in bounded time and memory.

use std::time::Duration;

use proptest::prelude::*;

use super::muxers::{ebml_head, element, flac_bomb, riff, wav, webm_opus};
use super::*;

fn refused(what: &str, bytes: Vec<u8>) -> ReferenceError {
    let error = decoded(bytes).expect_err(what);
    assert!(error.is_client(), "{what}: {error}");
    error
}

#[test]
fn what_is_no_audio_is_told() {
    for (what, bytes) in [
        ("nothing", Vec::new()),
        ("text", b"Hello, this is not audio. ".repeat(500)),
        ("html", b"<!doctype html><html><body>404</body></html>".to_vec()),
        ("one byte", vec![0xFF]),
        ("zeros", vec![0; 1 << 20]),
        ("a zip", [b"PK\x03\x04".to_vec(), vec![7; 4096]].concat()),
        ("a head of WebM", ebml_head()),
        ("a head of WAV", riff(&[])),
        ("a head of Ogg", b"OggS\0\x02".to_vec()),
        ("a head of FLAC", b"fLaC".to_vec()),
        ("a head of MP4", b"\0\0\0\x18ftypM4A \0\0\0\0M4A mp42".to_vec()),
    ] {
        refused(what, bytes);
    }
}

#[test]
fn hours_in_a_small_file_end_after_ten_minutes_of_sound() {
    let bomb = flac_bomb(50_000, 8_000);
    assert!(bomb.len() < 1 << 20, "three and a half days of sound in {} bytes", bomb.len());
    assert!(matches!(refused("a bomb", bomb), ReferenceError::TooLong { at_least: true, .. }));
    // At a rate at which ten minutes are 390 million samples, their number ends it.
    let bomb = flac_bomb(20_000, 655_350);
    assert!(matches!(refused("a fast bomb", bomb), ReferenceError::TooLong { at_least: true, .. }));
}

#[test]
fn time_and_packets_are_bounded() {
    let clip = encoded(Format::Wav, 20.0, shape(48_000, 1));
    for limits in [
        DecodeLimits { packets: 3, ..DecodeLimits::default() },
        DecodeLimits { patience: Duration::ZERO, ..DecodeLimits::default() },
        DecodeLimits { encoded_bytes: 1000, ..DecodeLimits::default() },
    ] {
        assert!(decode(clip.clone(), &limits).expect_err("it is refused").is_client());
    }
}

#[test]
fn sizes_that_lie_are_not_believed() {
    let whole = wav(super::muxers::WavKind::Pcm(16), false, &tone(3.0, shape(16_000, 1)), 16_000);
    let mut endless = whole.clone();
    endless[4..8].copy_from_slice(&[0xFF; 4]);
    endless[40..44].copy_from_slice(&[0xFF; 4]);
    assert_tone("a stream's sizes", &decoded(endless).expect("what is there is read"), 3.0, 0.4);
    let cut = whole[..whole.len() / 2].to_vec();
    assert_tone("a half", &decoded(cut).expect("what is there is read"), 1.5, 0.4);
    let mut none = whole.clone();
    none[40..44].copy_from_slice(&[0; 4]);
    refused("a size of nothing", none);
    let mut wide = whole;
    wide[22..24].copy_from_slice(&[0xFF; 2]);
    refused("65,535 channels", wide);
}

#[test]
fn nested_and_endless_elements_end() {
    let mut deep = vec![0];
    for _ in 0..2000 {
        deep = element(&[0x18, 0x53, 0x80, 0x67], &deep);
    }
    refused("a segment in a segment", [ebml_head(), deep].concat());
    let tiny: Vec<u8> = (0..200_000).flat_map(|_| [0xEC, 0x80]).collect();
    refused("nothing but padding", [ebml_head(), element(&[0x18, 0x53, 0x80, 0x67], &tiny)].concat());
}

#[test]
fn silence_is_told_apart_from_speech() {
    let error = refused("silence", encoded_silence());
    assert!(error.to_string().contains("silent"), "{error}");
}

fn encoded_silence() -> Vec<u8> {
    wav(super::muxers::WavKind::Pcm(16), false, &[0.0; 32_000], 16_000)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// A file with flipped bytes, cut anywhere, is read or refused; it never fails as ours, and never for long.
    #[test]
    fn damaged_files_are_read_or_refused(
        kind in 0_usize..6,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        keep in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let mut bytes = sample(kind);
        for (place, value) in damage {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        if is_cut {
            bytes.truncate(keep.index(bytes.len()));
        }
        if let Err(error) = decoded(bytes) {
            prop_assert!(error.is_client(), "{error}");
        }
    }
}

/// A sound file of each kind, made once.
fn sample(kind: usize) -> Vec<u8> {
    use std::sync::OnceLock;
    static FILES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    let files = FILES.get_or_init(|| {
        let formats = [Format::Wav, Format::Flac, Format::Mp3, Format::Opus, Format::Aac];
        let mut files: Vec<Vec<u8>> = formats.into_iter().map(|format| encoded(format, 1.2, shape(24_000, 1))).collect();
        files.push(webm_opus(&tone(1.2, shape(48_000, 1)), 1));
        files
    });
    files[kind % files.len()].clone()
}
