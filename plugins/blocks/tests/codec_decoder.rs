//! The 12.5 Hz decoder: against the published package, and its streams against themselves.

mod common;
#[path = "common/published.rs"]
mod published;

use burn::tensor::Device;
use common::{Random, Stored, folder, gap, relative, values};
use omni_blocks::codecs::qwen12hz::{Config, DecodeError, Decoder, declare};
use omni_blocks::conv::{SlotError, Slots};
use omni_blocks::load::Manifest;

/// Codes a frame and entries a codebook of the golden codec.
const CODEBOOKS: usize = 4;
const ENTRIES: usize = 64;

fn config() -> Config {
    Config::from_json(&std::fs::read(folder("qwen12hz").join("config.json")).expect("a file")).expect("a configuration")
}

fn decoder() -> Decoder {
    let weights = Stored::open(&folder("qwen12hz"), "model");
    weights.read(&Device::flex(), |reader| Decoder::load(reader, &config().decoder_config)).expect("the golden weights load")
}

fn golden() -> Stored {
    Stored::open(&folder("qwen12hz"), "golden")
}

fn whole(decoder: &Decoder, codes: &[i32]) -> Vec<f32> {
    values(decoder.whole(codes).expect("valid codes").clamp(-1.0, 1.0))
}

/// One stream in pieces of these many frames, again and again.
fn streamed(decoder: &Decoder, slots: &mut Slots, slot: usize, codes: &[i32], pieces: &[usize]) -> Vec<f32> {
    let mut pieces = pieces.iter().cycle();
    let (mut left, mut samples) = (codes, Vec::new());
    while !left.is_empty() {
        let frames = (*pieces.next().expect("endless")).min(left.len() / CODEBOOKS);
        let (now, later) = left.split_at(frames * CODEBOOKS);
        samples.extend(values(decoder.step(slots, &[slot], now).expect("valid codes")));
        left = later;
    }
    samples
}

#[test]
fn the_waveform_is_the_published_one() {
    let (decoder, golden) = (decoder(), golden());
    let samples = values(decoder.whole(&golden.i32("decode.codes")).expect("valid codes"));
    let expected = golden.f32("decode.pcm");
    println!("largest difference {:.1e}, relative {:.1e}", gap(&samples, &expected), relative(&samples, &expected));
    assert!(gap(&samples, &expected) <= 1e-5 && relative(&samples, &expected) <= 1e-4);
}

#[test]
fn streams_are_the_published_waveform_too() {
    let (decoder, golden) = (decoder(), golden());
    let samples = streamed(&decoder, &mut decoder.slots(1), 0, &golden.i32("decode.codes"), &[1, 3, 2]);
    assert!(gap(&samples, &golden.f32("decode.pcm")) <= 1e-5);
}

/// Ninety frames are fifteen windows of the golden codec's attention, and more than one of its largest pieces.
#[test]
fn streamed_is_whole_whatever_the_pieces() {
    let decoder = decoder();
    let codes = Random(1).codes(90 * CODEBOOKS, ENTRIES);
    let expected = whole(&decoder, &codes);
    for pieces in [&[1][..], &[3], &[7], &[25], &[1, 25, 2, 40, 5]] {
        let samples = streamed(&decoder, &mut decoder.slots(1), 0, &codes, pieces);
        println!("{pieces:?}: {:.1e}", gap(&samples, &expected));
        assert!(gap(&samples, &expected) <= 1e-5, "{pieces:?}");
    }
}

/// Streams that join and leave at different times, in changing company and order.
#[test]
fn company_changes_no_bit() {
    let decoder = decoder();
    let mut random = Random(2);
    let streams: Vec<Vec<i32>> = (0..4).map(|_| random.codes(24 * CODEBOOKS, ENTRIES)).collect();
    let alone: Vec<Vec<f32>> = streams.iter().map(|codes| streamed(&decoder, &mut decoder.slots(1), 0, codes, &[2])).collect();
    let mut slots = decoder.slots(4);
    let (mut at, mut together) = (vec![0; 4], vec![Vec::new(); 4]);
    for which in [&[2][..], &[0, 2], &[3, 0, 2], &[1, 0, 3, 2]].iter().cycle() {
        let which: Vec<usize> = which.iter().copied().filter(|slot| at[*slot] < 24).collect();
        if which.is_empty() && at.iter().all(|at| *at == 24) {
            break;
        }
        if which.is_empty() {
            continue;
        }
        let codes: Vec<i32> = which.iter().flat_map(|slot| &streams[*slot][at[*slot] * CODEBOOKS..][..2 * CODEBOOKS]).copied().collect();
        let samples = values(decoder.step(&mut slots, &which, &codes).expect("valid codes"));
        for (slot, samples) in which.iter().zip(samples.chunks(2 * decoder.samples())) {
            together[*slot].extend_from_slice(samples);
            at[*slot] += 2;
        }
    }
    assert!(together == alone, "a stream's samples depend on its neighbours");
}

#[test]
fn a_reset_slot_begins_anew_and_leaks_nothing() {
    let decoder = decoder();
    let mut slots = decoder.slots(2);
    let codes = Random(3).codes(12 * CODEBOOKS, ENTRIES);
    let fresh = streamed(&decoder, &mut slots, 0, &codes, &[4]);
    let poison = common::tensor(vec![f32::NAN; decoder.carried()], [1, decoder.carried()]);
    slots.scatter(&[0], poison, 12).expect("a slot");
    let other = streamed(&decoder, &mut slots, 1, &codes[..4 * CODEBOOKS], &[4]);
    assert!(other == fresh[..4 * decoder.samples()], "a poisoned neighbour is not heard");
    slots.reset(0).expect("a slot");
    assert!(streamed(&decoder, &mut slots, 0, &codes, &[4]) == fresh);
    assert!(streamed(&decoder, &mut slots, 1, &codes[4 * CODEBOOKS..], &[4]) == fresh[4 * decoder.samples()..], "the other goes on");
}

#[test]
fn what_cannot_be_decoded_is_refused_and_changes_nothing() {
    let decoder = decoder();
    let mut slots = decoder.slots(2);
    let codes = Random(4).codes(6 * CODEBOOKS, ENTRIES);
    let mut step = |which: &[usize], codes: &[i32]| decoder.step(&mut slots, which, codes).err();
    assert_eq!(step(&[2], &codes), Some(DecodeError::Slot(SlotError::Unknown { slot: 2, slots: 2 })));
    assert_eq!(step(&[1, 1], &codes), Some(DecodeError::Slot(SlotError::Twice(1))));
    assert_eq!(step(&[0], &codes[..5]), Some(DecodeError::Length { codes: 5, codebooks: CODEBOOKS, rows: 1 }));
    assert_eq!(step(&[0], &[]), Some(DecodeError::Length { codes: 0, codebooks: CODEBOOKS, rows: 1 }));
    assert!(matches!(step(&[], &codes), Some(DecodeError::Length { rows: 0, .. })));
    for code in [-1, ENTRIES as i32, i32::MAX, i32::MIN] {
        let mut wrong = codes.clone();
        wrong[6] = code;
        assert_eq!(step(&[0, 1], &wrong), Some(DecodeError::Code { code, codebook: 2, frame: 1, entries: ENTRIES }));
    }
    assert!(streamed(&decoder, &mut slots, 0, &codes, &[3]) == streamed(&decoder, &mut decoder.slots(1), 0, &codes, &[3]));
}

#[test]
fn the_golden_checkpoint_holds_what_is_declared() {
    let mut manifest = Manifest::default();
    declare(&mut manifest, "", &config());
    let tally = manifest.check(Stored::open(&folder("qwen12hz"), "model").checkpoint()).expect("every tensor is known");
    // Marks of initialisation, and the two codebooks that frames do not have.
    assert_eq!(tally.skipped, 6 + 2 * 2);
}

#[test]
fn the_published_checkpoint_has_the_published_numbers() {
    let mut manifest = Manifest::default();
    declare(&mut manifest, "", &published::config());
    let numbers = |part: &str| {
        manifest.tensors().filter(|(name, _)| name.starts_with(part)).map(|(_, shape)| shape.iter().product::<usize>()).sum::<usize>()
    };
    assert_eq!(numbers("decoder."), 114_323_137);
    // 16 of the encoder's 32 codebooks are not read; a mark of each codebook neither.
    assert_eq!(numbers("encoder."), 56_234_304 - 16 * (2048 + 2048 * 256) - 32);
    let mut prefixed = Manifest::default();
    declare(&mut prefixed, "speech.", &published::config());
    assert!(prefixed.tensors().all(|(name, _)| name.starts_with("speech.")));
}

#[test]
fn a_configuration_no_network_fits_is_refused_by_field() {
    let refused = |from: &str, to: &str| {
        let json = published::JSON.replacen(from, to, 1);
        assert_ne!(json, published::JSON);
        Config::from_json(json.as_bytes()).expect_err(to).to_string()
    };
    for (from, to, field) in [
        ("\"latent_dim\": 1024", "\"latent_dim\": 0", "latent_dim"),
        ("\"head_dim\": 64", "\"head_dim\": 63", "head_dim"),
        ("\"num_quantizers\": 16", "\"num_quantizers\": 1", "num_quantizers"),
        ("[8, 5, 4, 3]", "[8, 5, 4, 0]", "upsample_rates"),
        ("[8, 5, 4, 3]", "[8, 5, 4, 4]", "decode_upsample_rate"),
        ("[8, 6, 5, 4]", "[]", "upsampling_ratios"),
        ("\"decoder_dim\": 1536", "\"decoder_dim\": 1544", "decoder_dim"),
        ("\"encoder_valid_num_quantizers\": 16", "\"encoder_valid_num_quantizers\": 33", "encoder_valid_num_quantizers"),
        ("\"codebook_size\": 2048", "\"codebook_size\": 99999999999", "codebook_size"),
        ("\"sliding_window\": 72,", "\"window\": 72,", "sliding_window"),
    ] {
        assert!(refused(from, to).contains(field), "{}", refused(from, to));
    }
}
