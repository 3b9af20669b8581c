//! What the 12.5 Hz codec costs at its published size, with random weights. `cargo bench -p omni-blocks --bench codec`.
//!
//! A frame is 80 ms: a real-time factor is a figure here divided by 80 ms and by the frames of all streams. The two largest convolutions
//! and the activation stand alone too, for where the time goes.

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/common/published.rs"]
mod published;

use std::path::PathBuf;
use std::sync::LazyLock;

use burn::tensor::{Device, Tensor};
use common::{Random, Stored, write_random};
use divan::{Bencher, black_box};
use omni_blocks::codecs::qwen12hz::{Decoder, Encoder, declare};
use omni_blocks::conv::{Carry, Conv, ConvSpec};
use omni_blocks::encoders::{Ecapa, EcapaConfig};
use omni_blocks::load::Manifest;
use omni_blocks::signal::{MelFrontEnd, MelSpec};

static DECODER: LazyLock<Decoder> = LazyLock::new(|| {
    let config = published::config();
    checkpoint("decoder").read(&device(), |reader| Decoder::load(reader, &config.decoder_config)).expect("it loads")
});

static ENCODER: LazyLock<Encoder> = LazyLock::new(|| {
    let config = published::config();
    checkpoint("encoder").read(&device(), |reader| Encoder::load(reader, &config, false)).expect("it loads")
});

fn device() -> Device {
    Device::flex()
}

/// A checkpoint of one half, written once and removed when it is mapped.
fn checkpoint(part: &str) -> Stored {
    let mut all = Manifest::default();
    declare(&mut all, "", &published::config());
    let mut half = Manifest::default();
    for (name, shape) in all.tensors().filter(|(name, _)| name.starts_with(part)) {
        half.load(name, shape);
    }
    stored(&half)
}

fn stored(manifest: &Manifest) -> Stored {
    let folder: PathBuf = tempfile::tempdir().expect("a folder").keep();
    write_random(manifest, &folder, "model");
    let stored = Stored::open(&folder, "model");
    std::fs::remove_dir_all(&folder).expect("it was there");
    stored
}

/// One stream, chunks of so many frames.
#[divan::bench(args = [1, 4, 25], sample_count = 10, sample_size = 1)]
fn one_stream(bencher: Bencher, frames: usize) {
    streams(bencher, 1, frames);
}

/// Streams stepped together, one frame each.
#[divan::bench(args = [2, 4, 8], sample_count = 10, sample_size = 1)]
fn a_frame_of_each(bencher: Bencher, count: usize) {
    streams(bencher, count, 1);
}

fn streams(bencher: Bencher, count: usize, frames: usize) {
    let mut slots = DECODER.slots(count);
    let which: Vec<usize> = (0..count).collect();
    let codes = Random(1).codes(count * frames * DECODER.codebooks(), 2048);
    let mut step = || DECODER.step(&mut slots, &which, &codes).expect("valid codes").into_data();
    step();
    bencher.bench_local(step);
}

/// Ten seconds of reference.
#[divan::bench(sample_count = 3, sample_size = 1)]
fn encode_ten_seconds(bencher: Bencher) {
    let pcm = Random(2).many(240_000);
    bencher.bench(|| ENCODER.encode(black_box(&pcm)).expect("some samples").into_data());
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn speaker_of_ten_seconds(bencher: Bencher) {
    let config: EcapaConfig = serde_json::from_str(r#"{"enc_dim": 2048}"#).expect("a configuration");
    let mut manifest = Manifest::default();
    omni_blocks::encoders::ecapa::declare(&mut manifest, "", &config);
    let encoder = stored(&manifest).read(&device(), |reader| Ecapa::load(reader, &config)).expect("it loads");
    let (front, pcm) = (MelFrontEnd::new(MelSpec::speaker_24k()), Random(2).many(240_000));
    bencher.bench(|| {
        let mel = front.compute(black_box(&pcm)).expect("long enough");
        let frames = mel.len() / 128;
        encoder.forward(common::tensor(mel, [1, frames, 128])).expect("long enough").into_data()
    });
}

/// A residual unit's convolution where it is largest: 96 channels, a frame, by dilation.
#[divan::bench(args = [1, 9])]
fn largest_convolution(bencher: Bencher, dilation: usize) {
    convolution(bencher, ConvSpec::full(96, 96, 7).dilation(dilation), 1920);
}

/// The convolution with the most weights for the fewest inputs.
#[divan::bench]
fn entry_convolution(bencher: Bencher) {
    convolution(bencher, ConvSpec::full(1024, 1536, 7), 4);
}

fn convolution(bencher: Bencher, spec: ConvSpec, time: usize) {
    let mut random = Random(3);
    let conv = Conv::new(spec, &random.many(spec.input * spec.output * spec.kernel), None, &device());
    let x = common::tensor(random.many(time * spec.input), [1, time, spec.input]);
    let state = Tensor::<2>::zeros([1, conv.carried()], &device());
    bencher.bench_local(|| conv.push(&mut Carry::new(state.clone()), x.clone()).into_data());
}

fn main() {
    divan::main();
}
