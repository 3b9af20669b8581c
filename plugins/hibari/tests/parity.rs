//! The voice against the numpy reference of `tools/export_golden.py`.

mod common;

use common::{Golden, gap, path, relative};
use hibari::acoustic::{FRAME_WIDTH, TEXT_WIDTH};
use hibari::dsp::BINS;
use hibari::dsp::noise::{NoiseKey, uniforms};
use hibari::fast::decoder::FastDecoder;
use hibari::nn::decoder::OUTPUT;
use hibari::nn::layers::Loader;
use hibari::nn::text_encoder::TextEncoderConfig;
use hibari::nn::{Decoder, Prosody};
use hibari::vocab::SYMBOLS;
use hibari::vocoder::conditions;
use hibari::{Acoustic, Oov, Utterance};

use burn::tensor::{Device, Int, Tensor, TensorData};

const CASES: [&str; 4] = ["word", "sentence", "fast", "marks"];

fn voice() -> Acoustic {
    Acoustic::embedded().expect("the embedded weights load")
}

fn utterance(voice: &Acoustic, golden: &Golden) -> Utterance {
    voice.encode(&golden.ids(), golden.f32("speed")[0]).expect("golden ids are valid")
}

fn column(utterance: &Utterance, column: usize) -> Vec<f32> {
    utterance.frames.iter().copied().skip(column).step_by(FRAME_WIDTH).collect()
}

/// The decoder as the plain module, and the fast form of it.
fn decoders() -> (Decoder, FastDecoder) {
    let bytes = std::fs::read(path("../../weights/hibari.safetensors")).expect("the weights");
    let module = Decoder::load(&Loader::read(&bytes, &Device::flex()).expect("readable")).expect("a decoder");
    let fast = FastDecoder::new(&module);
    (module, fast)
}

#[test]
fn phonemes_have_the_reference_ids() {
    let vocab = voice().vocab().clone();
    assert_eq!(vocab.ids("həlˈO."), Golden::open("word").ids());
    assert_eq!(vocab.ids("“zˈɪksᵻə” — ʔɑ§ːɹʲə… (ɲˈuʒ)!"), Golden::open("marks").ids());
    assert!(!vocab.contains('§'));
}

#[test]
fn prosody_and_text_agree() {
    let voice = voice();
    for name in CASES {
        let golden = Golden::open(name);
        let utterance = utterance(&voice, &golden);
        assert_eq!(utterance.durations, golden.indices("durations"), "{name}");
        let f0 = gap(&column(&utterance, TEXT_WIDTH), &golden.f32("f0"));
        let energy = gap(&column(&utterance, TEXT_WIDTH + 1), &golden.f32("energy"));
        let starts = utterance.durations.iter().scan(0, |at, frames| Some(std::mem::replace(at, *at + 2 * frames)));
        let rows = starts.step_by(8).flat_map(|row| &utterance.frames[row * FRAME_WIDTH..][..TEXT_WIDTH]);
        let text = gap(&rows.copied().collect::<Vec<_>>(), &golden.f32("text"));
        println!("{name}: f0 {f0:.1e} Hz, energy {energy:.1e}, text {text:.1e}");
        assert!(f0 < 1e-3 * 300.0 && energy < 1e-3 && text < 1e-3, "{name}");
    }
}

#[test]
fn the_fast_encoder_agrees_with_the_module() {
    let bytes = std::fs::read(path("../../weights/hibari.safetensors")).expect("the weights");
    let device = Device::flex();
    let loader = Loader::read(&bytes, &device).expect("readable");
    let (voice, prosody) = (voice(), Prosody::load(&loader, SYMBOLS).expect("a predictor"));
    let text = TextEncoderConfig { symbols: SYMBOLS, width: TEXT_WIDTH, passes: 4 }.load(&loader, "text").expect("an encoder");
    let ids = Golden::open("sentence").ids();
    let wide: Vec<i32> = ids.iter().map(|id| i32::from(*id)).collect();
    let utterance = voice.encode(&ids, 1.0).expect("golden ids are valid");
    let plain_text = text.forward(&wide, &device).into_data();
    let first: &[f32] = &plain_text.as_slice().expect("f32")[..TEXT_WIDTH];
    assert!(gap(&utterance.frames[..TEXT_WIDTH], first) < 1e-5);
    let (hidden, log_durations) = prosody.durations(&wide, &device);
    let durations = log_durations.into_data();
    let durations: &[f32] = durations.as_slice().expect("f32");
    let rounded = durations.iter().map(|log| (log.exp() - 1.0).round_ties_even().max(1.0) as usize);
    assert_eq!(rounded.collect::<Vec<_>>(), utterance.durations);
    let at = utterance.durations.iter().enumerate().flat_map(|(i, frames)| std::iter::repeat_n(i as i32, *frames));
    let stretched = hidden.select(1, Tensor::<1, Int>::from_data(at.collect::<Vec<_>>().as_slice(), &device));
    let contour = prosody.contour(stretched).into_data();
    let contour: Vec<f32> = contour.as_slice::<f32>().expect("f32").to_vec();
    let pitch: Vec<f32> = contour.as_chunks::<4>().0.iter().flat_map(|frame| [frame[0] * 100.0, frame[1] * 100.0]).collect();
    assert!(gap(&column(&utterance, TEXT_WIDTH), &pitch) < 1e-3);
}

#[test]
fn spectra_agree_in_module_and_fast_form() {
    let (voice, (module, fast)) = (voice(), decoders());
    for name in CASES {
        let golden = Golden::open(name);
        let utterance = utterance(&voice, &golden);
        let x = conditions(&utterance.frames);
        let shape = [1, utterance.len(), FRAME_WIDTH];
        let plain = module.forward(Tensor::from_data(TensorData::new(x.clone(), shape), &Device::flex())).into_data();
        let plain: &[f32] = plain.as_slice().expect("f32");
        let quick = fast.push(&mut fast.start(), &x, true).expect("a whole utterance");
        let quick = quick.values();
        let rows = |spectra: &[f32]| {
            golden.indices("rows").into_iter().flat_map(|row| spectra[row * OUTPUT..][..OUTPUT].to_vec()).collect::<Vec<_>>()
        };
        let (in_module, in_fast, between) =
            (gap(&rows(plain), &golden.f32("spectra")), gap(&rows(quick), &golden.f32("spectra")), gap(plain, quick));
        println!("{name}: module {in_module:.1e}, fast {in_fast:.1e}, between {between:.1e}");
        assert!(in_module < 1e-3 && in_fast < 1e-3 && between < 1e-3, "{name}");
    }
}

/// With the reference's pitch: a rounding of the pitch is a phase that grows over the utterance, which is no fault of the decoder.
#[test]
fn waveforms_agree() {
    let voice = voice();
    for name in CASES {
        let golden = Golden::open(name);
        let own = utterance(&voice, &golden);
        let mut same_pitch = own.clone();
        let pitches = same_pitch.frames.iter_mut().skip(TEXT_WIDTH).step_by(FRAME_WIDTH);
        pitches.zip(golden.f32("f0")).for_each(|(pitch, golden)| *pitch = golden);
        for kind in ["wave_seed_7_unit_3", "wave_no_noise"] {
            let (error, with_own_pitch) = (wave_error(&voice, &golden, &same_pitch, kind), wave_error(&voice, &golden, &own, kind));
            println!("{name} {kind}: {error:.1e}, with its own pitch {with_own_pitch:.1e}");
            assert!(error < 1e-4 && with_own_pitch < 5e-4, "{name} {kind}: {error}, with its own pitch {with_own_pitch}");
        }
    }
}

fn wave_error(voice: &Acoustic, golden: &Golden, utterance: &Utterance, kind: &str) -> f64 {
    let vocoder = voice.vocoder();
    let mut state = if kind == "wave_no_noise" { vocoder.start_without_noise() } else { vocoder.start(7, 3) };
    let mut wave = Vec::new();
    vocoder.decode(&mut state, &utterance.frames, true, &mut wave);
    assert_eq!(wave.len(), utterance.len() * 300);
    let (start, expected) = (golden.indices("wave_start")[0], golden.f32(kind));
    relative(&wave[start..start + expected.len()], &expected)
}

#[test]
fn noise_is_the_documented_one() {
    let golden = Golden::open("noise");
    let key = NoiseKey::new(0x1234_5678_9ABC_DEF0, 2);
    let bins = (0..3).flat_map(|frame| (0..BINS as u64).map(move |bin| uniforms(key.frame(frame, BINS as u64), bin)));
    let (re, im): (Vec<f32>, Vec<f32>) = bins
        .map(|(radius, turns)| {
            let (length, angle) = ((-2.0 * f64::from(radius).ln()).sqrt(), f64::from(turns) * std::f64::consts::TAU);
            ((length * angle.cos()) as f32, (length * angle.sin()) as f32)
        })
        .unzip();
    assert!(gap(&re, &golden.f32("re")) < 1e-6 && gap(&im, &golden.f32("im")) < 1e-6);
}

#[test]
fn words_are_spelled_as_by_the_published_network() {
    let oov = Oov::embedded().expect("the embedded weights load");
    let file = std::fs::read_to_string(path("oov.json")).expect("a golden file");
    let words: std::collections::BTreeMap<String, Option<String>> = serde_json::from_str(&file).expect("a table");
    assert!(words.len() > 60);
    for (word, spelled) in words {
        assert_eq!(oov.spell(&word), spelled, "{word}");
    }
    assert_eq!(oov.spell(""), None);
}
