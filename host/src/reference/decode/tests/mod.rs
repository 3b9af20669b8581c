//! Every format, and files made to do harm.

mod hostile;
mod muxers;

use std::f32::consts::TAU;

use super::{DecodeLimits, decode};
use crate::audio::Format;
use crate::audio::encode::{Length, Shape, open};
use crate::reference::{Clip, ReferenceError};

/// A tone of 220 Hz, interleaved; channels differ in loudness.
fn tone(seconds: f32, shape: Shape) -> Vec<f32> {
    let len = (seconds * shape.sample_rate_hz as f32) as usize;
    let sample = |at: usize| 0.4 * (TAU * 220.0 * at as f32 / shape.sample_rate_hz as f32).sin();
    (0..len).flat_map(|at| (0..shape.channels).map(move |channel| sample(at) / f32::from(channel + 1))).collect()
}

fn shape(sample_rate_hz: u32, channels: u16) -> Shape {
    Shape { sample_rate_hz, channels }
}

fn encoded(format: Format, seconds: f32, shape: Shape) -> Vec<u8> {
    let samples = tone(seconds, shape);
    let len = samples.len() / usize::from(shape.channels);
    let mut encoder = open(format, shape, Length::Known(len as u64)).expect("the format has the shape");
    let mut bytes = Vec::new();
    encoder.push(&samples, &mut bytes).expect("samples are whole");
    encoder.finish(&mut bytes).expect("the length is true");
    bytes
}

fn decoded(bytes: Vec<u8>) -> Result<Clip, ReferenceError> {
    decode(bytes, &DecodeLimits::default())
}

/// Zero crossings upwards a second in the middle of a clip: the pitch of a tone.
fn pitch_hz(clip: &Clip) -> f64 {
    let middle = &clip.samples[clip.samples.len() / 4..clip.samples.len() / 4 * 3];
    let crossings = middle.windows(2).filter(|pair| matches!(pair, [before, after] if *before < 0.0 && *after >= 0.0)).count();
    crossings as f64 * f64::from(clip.sample_rate_hz) / middle.len() as f64
}

/// Whether a clip is the tone, of about so many seconds and so loud.
fn assert_tone(what: &str, clip: &Clip, seconds: f64, peak: f32) {
    assert!((clip.seconds() - seconds).abs() < 0.06, "{what}: {} s", clip.seconds());
    assert!((pitch_hz(clip) - 220.0).abs() < 5.0, "{what}: {} Hz", pitch_hz(clip));
    let middle = &clip.samples[clip.samples.len() / 4..clip.samples.len() / 2];
    let found = middle.iter().fold(0.0_f32, |peak, sample| peak.max(*sample));
    assert!((found - peak).abs() < 0.08, "{what}: its peak is {found}");
}

#[test]
fn what_our_own_encoders_write_is_read_and_mixed_to_one_channel() {
    for format in Format::ALL.iter().copied().filter(|format| *format != Format::Pcm) {
        for shape in [shape(24_000, 1), shape(48_000, 2)] {
            let clip = decoded(encoded(format, 2.0, shape)).unwrap_or_else(|error| panic!("{format:?}: {error}"));
            let peak = if shape.channels == 2 { 0.3 } else { 0.4 };
            assert_tone(&format!("{format:?} {shape:?}"), &clip, 2.0, peak);
        }
    }
}

#[test]
fn every_kind_of_wav_is_read() {
    for kind in muxers::WAV_KINDS {
        // G.711 in an extensible header is a kind that nothing writes and the decoder does not know.
        let has_extensible = !matches!(kind, muxers::WavKind::ALaw | muxers::WavKind::MuLaw);
        for extensible in [false, true].into_iter().filter(|extensible| has_extensible || !extensible) {
            let clip = decoded(muxers::wav(kind, extensible, &tone(1.5, shape(16_000, 1)), 16_000));
            let clip = clip.unwrap_or_else(|error| panic!("{kind:?}, extensible {extensible}: {error}"));
            assert_tone(&format!("{kind:?}"), &clip, 1.5, 0.4);
        }
    }
}

#[test]
fn opus_in_webm_is_read_without_the_delay_of_its_encoder() {
    for channels in [1, 2] {
        let clip = decoded(muxers::webm_opus(&tone(1.5, shape(48_000, channels)), channels)).expect("it is read");
        assert_eq!(clip.sample_rate_hz, 48_000);
        assert_tone("webm", &clip, 1.5, if channels == 2 { 0.3 } else { 0.4 });
    }
}

#[test]
fn the_length_decides() {
    for (seconds, part) in [(0.9, "too short (0.9s)"), (30.5, "too long (30.5s)"), (605.0, "too long (over 600.")] {
        let error = decoded(encoded(Format::Wav, seconds, shape(8_000, 1))).expect_err("it is refused").to_string();
        assert!(error.contains(part), "{error}");
    }
    for seconds in [1.0, 30.0] {
        assert!(decoded(encoded(Format::Wav, seconds, shape(8_000, 1))).is_ok(), "{seconds}");
    }
}

#[test]
fn the_content_names_the_clip_and_not_its_container() {
    let content = |format, seconds| decoded(encoded(format, seconds, shape(8_000, 1))).expect("a clip").content();
    assert_eq!(content(Format::Wav, 1.0), content(Format::Flac, 1.0), "both keep every sample");
    assert_ne!(content(Format::Wav, 1.0), content(Format::Mp3, 1.0), "one of them does not");
    assert_ne!(content(Format::Wav, 1.0), content(Format::Wav, 1.5));
}

#[test]
fn a_clip_is_brought_to_another_rate_and_one_that_cannot_be_says_so() {
    let clip = decoded(encoded(Format::Wav, 2.0, shape(44_100, 1))).expect("a clip");
    for rate_hz in [16_000, 24_000, 44_100, 48_000] {
        let samples = clip.at(rate_hz).expect("a common rate");
        assert_tone("resampled", &Clip::new(samples, rate_hz), 2.0, 0.4);
    }
    let odd = Clip::new(clip.samples, 44_101);
    assert!(odd.at(24_000).expect_err("an odd rate").is_client());
}
