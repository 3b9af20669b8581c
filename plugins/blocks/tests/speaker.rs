//! The mel front end and the speaker encoder against the published package.

mod common;

use burn::tensor::{Device, Tensor};
use common::{Stored, folder, gap, relative, tensor, values};
use omni_blocks::encoders::ecapa::declare;
use omni_blocks::encoders::{Ecapa, EcapaConfig, TooShort};
use omni_blocks::load::Manifest;
use omni_blocks::signal::{MelFrontEnd, MelSpec};

fn config() -> EcapaConfig {
    let config: EcapaConfig =
        serde_json::from_slice(&std::fs::read(folder("ecapa").join("config.json")).expect("a file")).expect("a configuration");
    config.check().expect("a sound configuration");
    config
}

fn encoder() -> Ecapa {
    let weights = Stored::open(&folder("ecapa"), "model");
    weights.read(&Device::flex(), |reader| Ecapa::load(reader, &config())).expect("the golden weights load")
}

#[test]
fn spectrograms_are_the_published_ones() {
    let golden = Stored::open(&folder("ecapa"), "golden");
    let front = MelFrontEnd::new(MelSpec::speaker_24k());
    for case in ["long", "short"] {
        let mel = front.compute(&golden.f32(&format!("{case}.audio"))).expect("long enough");
        let expected = golden.f32(&format!("{case}.mel"));
        println!("{case}: {:.1e}, relative {:.1e}", gap(&mel, &expected), relative(&mel, &expected));
        assert!(relative(&mel, &expected) <= 1e-4, "{case}");
    }
}

#[test]
fn vectors_are_the_published_ones() {
    let (golden, encoder) = (Stored::open(&folder("ecapa"), "golden"), encoder());
    for case in ["long", "short"] {
        let mel = golden.f32(&format!("{case}.mel"));
        let frames = mel.len() / 128;
        let vector = values(encoder.forward(tensor(mel, [1, frames, 128])).expect("long enough"));
        let error = relative(&vector, &golden.f32(&format!("{case}.vector")));
        println!("{case}: {error:.1e}");
        assert!(error <= 1e-4, "{case}: {error}");
    }
}

#[test]
fn recordings_in_one_batch_are_recordings_alone() {
    let (golden, encoder) = (Stored::open(&folder("ecapa"), "golden"), encoder());
    let mel = golden.f32("long.mel");
    let frames = mel.len() / 128 - 1;
    let [one, two] = [&mel[..frames * 128], &mel[128..]].map(|mel| tensor(mel.to_vec(), [1, frames, 128]));
    let both = values(encoder.forward(Tensor::cat(vec![one.clone(), two.clone()], 0)).expect("long enough"));
    let alone = [one, two].map(|mel| values(encoder.forward(mel).expect("long enough"))).concat();
    assert!(both == alone);
}

#[test]
fn checkpoints_hold_what_is_declared() {
    let mut manifest = Manifest::default();
    declare(&mut manifest, "", &config());
    manifest.check(Stored::open(&folder("ecapa"), "model").checkpoint()).expect("every tensor is known");
    for (width, numbers) in [(1024, 8_854_336), (2048, 12_001_088)] {
        let published: EcapaConfig = serde_json::from_str(&format!(r#"{{"enc_dim": {width}}}"#)).expect("a configuration");
        let mut manifest = Manifest::default();
        declare(&mut manifest, "speaker_encoder.", &published);
        assert_eq!(manifest.tensors().map(|(_, shape)| shape.iter().product::<usize>()).sum::<usize>(), numbers);
        assert_eq!(manifest.tensors().count(), 76);
    }
}

#[test]
fn what_is_too_short_is_refused_with_what_it_needs() {
    let encoder = encoder();
    assert_eq!(encoder.shortest(), 5);
    assert_eq!(encoder.forward(tensor(vec![0.5; 4 * 128], [1, 4, 128])).err(), Some(TooShort { frames: 4, least: 5 }));
    assert!(encoder.forward(tensor(vec![0.5; 5 * 128], [1, 5, 128])).is_ok());
}

#[test]
fn a_checkpoint_need_only_say_how_wide_the_vector_is() {
    let config: EcapaConfig = serde_json::from_str(r#"{"enc_dim": 2048, "sample_rate": 24000}"#).expect("a configuration");
    config.check().expect("a sound configuration");
    assert_eq!((config.mel_dim, config.enc_channels[4], config.enc_dilations[3]), (128, 1536, 4));
    let wrong = EcapaConfig { enc_channels: vec![512, 512, 300, 512, 1536], ..config.clone() };
    assert!(wrong.check().expect_err("unequal blocks").to_string().contains("enc_channels"));
    let wrong = EcapaConfig { enc_dilations: vec![1, 2], ..config };
    assert!(wrong.check().expect_err("too few").to_string().contains("enc_dilations"));
}
