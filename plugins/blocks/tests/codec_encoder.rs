//! The 12.5 Hz encoder against the published package.

mod common;

use burn::tensor::Device;
use common::{Random, Stored, folder, relative, values};
use omni_blocks::codecs::qwen12hz::{Config, Encoder};

fn encoder(windowed: bool) -> Encoder {
    let config = std::fs::read(folder("qwen12hz").join("config.json")).expect("a file");
    let config = Config::from_json(&config).expect("a configuration");
    let weights = Stored::open(&folder("qwen12hz"), "model");
    weights.read(&Device::flex(), |reader| Encoder::load(reader, &config, windowed)).expect("the golden weights load")
}

fn codes(encoder: &Encoder, pcm: &[f32]) -> Vec<i32> {
    encoder.encode(pcm).expect("some samples").into_data().convert::<i32>().try_to_vec().expect("codes")
}

#[test]
fn codes_are_the_published_ones() {
    let golden = Stored::open(&folder("qwen12hz"), "golden");
    for (windowed, suffix) in [(false, ""), (true, "_windowed")] {
        let encoder = encoder(windowed);
        for case in ["encode", "encode_aligned", "encode_short"] {
            let all = golden.i32(&format!("{case}.codes{suffix}"));
            let [frames, stored] = golden.shape(&format!("{case}.codes{suffix}"))[..] else { panic!("two axes") };
            let expected: Vec<i32> = all.chunks(stored).flat_map(|frame| &frame[..encoder.codebooks()]).copied().collect();
            let audio = golden.f32(&format!("{case}.audio"));
            assert_eq!(frames, audio.len().div_ceil(1920));
            assert_eq!(codes(&encoder, &audio), expected, "{case}{suffix}");
        }
    }
}

#[test]
fn features_are_the_published_ones() {
    let golden = Stored::open(&folder("qwen12hz"), "golden");
    for (windowed, suffix) in [(false, ""), (true, "_windowed")] {
        let features = encoder(windowed).features(&golden.f32("encode.audio")).expect("some samples");
        let expected = golden.f32(&format!("encode.downsampled{suffix}"));
        let error = relative(&values(features.swap_dims(1, 2)), &expected);
        println!("{error:.1e}");
        assert!(error <= 1e-4, "{error}");
    }
}

#[test]
fn every_started_frame_is_coded_and_silence_of_no_length_is_not() {
    let encoder = encoder(false);
    for (samples, frames) in [(1, 1), (960, 1), (961, 1), (1919, 1), (1920, 1), (1921, 2), (24_777, 13), (24 * 1920 + 1, 25)] {
        let signal = Random(samples as u64).many(samples);
        assert_eq!(codes(&encoder, &signal).len(), frames * encoder.codebooks(), "{samples} samples");
    }
    assert!(encoder.encode(&[]).is_none());
}

/// A recording longer than a piece has the features of its beginning at its beginning: everything is causal.
#[test]
fn pieces_leave_no_seam() {
    let encoder = encoder(false);
    let signal = Random(9).many(30 * 1920);
    let long = values(encoder.features(&signal).expect("some samples"));
    for frames in [5, 12, 13, 29] {
        let short = values(encoder.features(&signal[..frames * 1920]).expect("some samples"));
        assert!(relative(&short, &long[..short.len()]) < 1e-5, "{frames} frames");
    }
}
