//! Where the time of the embedded voice goes. `cargo bench -p omni-hibari`.
//!
//! The sentence is 3.4 s long, so a real-time factor is a figure here divided by 3.4 s.

use std::sync::LazyLock;

use burn::tensor::{Device, Tensor, TensorData};
use divan::{Bencher, black_box};
use hibari::acoustic::FRAME_WIDTH;
use hibari::dsp::noise::NoiseKey;
use hibari::dsp::spectrum::{Noise, combine};
use hibari::dsp::stft::{Analysis, PulseStft};
use hibari::dsp::{BINS, pulse::PulseTrain};
use hibari::fast::decoder::FastDecoder;
use hibari::fast::rows;
use hibari::nn::Decoder;
use hibari::nn::decoder::{HIDDEN, WIDTH};
use hibari::nn::layers::Loader;
use hibari::vocoder::conditions;
use hibari::{Acoustic, Oov, Utterance};
use realfft::num_complex::Complex32;

const SENTENCE: &str = "ðə bˈɜɹʧ kənˈu slˈɪd ˌɔn ðə smˈuð plˈæŋks, æt lˈæst.";
/// Half frames of a usual first chunk.
const FIRST: usize = 40;

static VOICE: LazyLock<Acoustic> = LazyLock::new(|| Acoustic::embedded().expect("the embedded weights load"));

fn utterance() -> Utterance {
    VOICE.encode(&VOICE.vocab().ids(SENTENCE), 1.0).expect("valid ids")
}

#[divan::bench]
fn load() -> Acoustic {
    Acoustic::embedded().expect("the embedded weights load")
}

#[divan::bench]
fn load_oov() -> Oov {
    Oov::embedded().expect("the embedded weights load")
}

#[divan::bench]
fn spell_a_word(bencher: Bencher) {
    let oov = Oov::embedded().expect("the embedded weights load");
    bencher.bench(|| oov.spell(black_box("kubernetes")));
}

#[divan::bench]
fn whole_sentence(bencher: Bencher) {
    let ids = VOICE.vocab().ids(SENTENCE);
    bencher.bench(|| {
        let utterance = VOICE.encode(&ids, 1.0).expect("valid ids");
        decode(&utterance.frames, true)
    });
}

#[divan::bench]
fn first_audio(bencher: Bencher) {
    let ids = VOICE.vocab().ids(SENTENCE);
    bencher.bench(|| {
        let utterance = VOICE.encode(&ids, 1.0).expect("valid ids");
        decode(&utterance.frames[..FIRST * FRAME_WIDTH], false)
    });
}

fn decode(frames: &[f32], last: bool) -> Vec<f32> {
    let (mut state, mut out) = (VOICE.vocoder().start(1, 0), Vec::new());
    VOICE.vocoder().decode(&mut state, frames, last, &mut out);
    out
}

#[divan::bench]
fn encode(bencher: Bencher) {
    let ids = VOICE.vocab().ids(SENTENCE);
    bencher.bench(|| VOICE.encode(&ids, 1.0));
}

#[divan::bench]
fn decode_whole(bencher: Bencher) {
    let utterance = utterance();
    bencher.bench(|| decode(&utterance.frames, true));
}

/// The network of the decoder alone, as plain modules and in its fast form.
mod decoder_network {
    use super::*;

    fn module() -> Decoder {
        let bytes = include_bytes!("../weights/hibari.safetensors");
        Decoder::load(&Loader::read(bytes, &Device::flex()).expect("readable")).expect("a decoder")
    }

    #[divan::bench]
    fn plain(bencher: Bencher) {
        let (module, utterance) = (module(), utterance());
        let shape = [1, utterance.len(), FRAME_WIDTH];
        let x = Tensor::<3>::from_data(TensorData::new(conditions(&utterance.frames), shape), &Device::flex());
        bencher.bench(|| module.forward(x.clone()).into_data());
    }

    #[divan::bench(args = [16, 32, 64, 128, 270])]
    fn fast(bencher: Bencher, piece: usize) {
        let (decoder, x) = (FastDecoder::new(&module()), conditions(&utterance().frames));
        bencher.bench(|| {
            let mut state = decoder.start();
            for piece in x.chunks(piece * FRAME_WIDTH) {
                black_box(decoder.push(&mut state, piece, false));
            }
            decoder.push(&mut state, &[], true)
        });
    }
}

/// Single parts, for 80 half frames: one second.
mod second_of {
    use super::*;

    #[divan::bench]
    fn gelu(bencher: Bencher) {
        let (mut x, bias) = (vec![0.3f32; 80 * HIDDEN], vec![0.1f32; HIDDEN]);
        bencher.bench_local(|| rows::bias_gelu(black_box(&mut x), &bias));
    }

    #[divan::bench]
    fn depthwise_and_norm(bencher: Bencher) {
        let (x, mut out) = (vec![0.3f32; 86 * WIDTH], vec![0.0f32; 80 * WIDTH]);
        let (taps, bias) = (vec![0.1f32; 7 * WIDTH], vec![0.1f32; WIDTH]);
        bencher.bench_local(|| {
            rows::depthwise(black_box(&x), &taps, &bias, 1, &mut out);
            rows::layer_norm(&mut out, &bias, &bias);
        });
    }

    #[divan::bench]
    fn matmul(bencher: Bencher) {
        let device = Device::flex();
        let x = Tensor::<2>::ones([80, WIDTH], &device);
        let w = Tensor::<2>::ones([WIDTH, HIDDEN], &device);
        bencher.bench(|| x.clone().matmul(w.clone()).into_data());
    }

    #[divan::bench]
    fn pulses(bencher: Bencher) {
        bencher.bench(|| {
            let mut out = Vec::new();
            PulseTrain::new().push(black_box(&[180.0; 80]), true, &mut out);
            out
        });
    }

    #[divan::bench]
    fn pulses_and_their_transform(bencher: Bencher) {
        let analysis = Analysis::new();
        let mut spectrum = vec![Complex32::default(); BINS];
        bencher.bench_local(|| {
            let mut pulses = PulseStft::new();
            pulses.push(black_box(&[180.0; 80]), true);
            for frame in 0..80 {
                black_box(pulses.transform(frame, &analysis, &mut spectrum));
            }
        });
    }

    #[divan::bench]
    fn spectra(bencher: Bencher) {
        let (network, pulses) = (vec![0.3f32; 5 * BINS], vec![Complex32::new(0.5, 0.1); BINS]);
        let (mut out, key) = (vec![Complex32::default(); BINS], NoiseKey::new(1, 2));
        bencher.bench_local(|| {
            for frame in 0..80 {
                combine(&network, Some(&pulses), Noise::Counter(key.frame(frame, BINS as u64)), black_box(&mut out));
            }
        });
    }
}

fn main() {
    divan::main();
}
