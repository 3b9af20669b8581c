//! The tensors of every published variant, counted and compared with real files; and the stand-in tokenizer.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use omni_plugin_api::{Blueprint, BlueprintRequest, Fill, TextFile, WeightFile};
use qwen3_tts::blueprint::variant::Variant;
use qwen3_tts::blueprint::{blueprint, layout};
use safetensors::SafeTensors;

fn made(variant: &str, is_tiny: bool) -> Blueprint {
    blueprint(&BlueprintRequest { variant: variant.to_owned(), is_tiny }).expect("a known variant")
}

#[test]
fn every_variant_has_the_published_number_of_tensors_and_parameters() {
    let published = [
        ("0.6B-Base", 478, 914_643_008),
        ("0.6B-CustomVoice", 402, 905_788_672),
        ("1.7B-Base", 480, 1_928_677_440),
        ("1.7B-CustomVoice", 404, 1_916_676_352),
        ("1.7B-VoiceDesign", 404, 1_916_676_352),
    ];
    assert_eq!(published.map(|(name, ..)| name.to_owned()), Variant::ALL.map(Variant::name));
    for (variant, tensors, numbers) in published {
        let weights = made(variant, false).weights;
        let counts: Vec<(usize, u64)> = weights.iter().map(|file| (file.tensors.len(), file.numbers())).collect();
        assert_eq!(counts, [(tensors, numbers), (496, 170_557_441)], "{variant}");
        let dtypes: Vec<&str> = weights.iter().map(|file| file.tensors[0].dtype.as_str()).collect();
        assert_eq!(dtypes, ["BF16", "F32"], "{variant}");
    }
}

#[test]
fn some_published_shapes_are_spelled_out() {
    let shapes = shapes(&made("1.7B-Base", false).weights);
    for (name, shape) in [
        ("talker.model.text_embedding.weight", &[151_936, 2048][..]),
        ("talker.model.layers.27.self_attn.k_proj.weight", &[1024, 2048]),
        ("talker.model.layers.0.mlp.down_proj.weight", &[2048, 6144]),
        ("talker.code_predictor.model.codec_embedding.14.weight", &[2048, 2048]),
        ("talker.code_predictor.model.layers.4.self_attn.o_proj.weight", &[1024, 2048]),
        ("talker.code_predictor.small_to_mtp_projection.weight", &[1024, 2048]),
        ("speaker_encoder.blocks.3.res2net_block.blocks.6.conv.weight", &[64, 64, 3]),
        ("speaker_encoder.asp.tdnn.conv.weight", &[128, 4608, 1]),
        ("speaker_encoder.fc.weight", &[2048, 3072, 1]),
        ("decoder.decoder.1.block.1.conv.weight", &[1536, 768, 16]),
        ("decoder.decoder.6.conv.weight", &[1, 96, 7]),
        ("decoder.quantizer.rvq_rest.vq.layers.14._codebook.embedding_sum", &[2048, 256]),
        ("encoder.encoder.layers.12.conv.weight", &[1024, 512, 16]),
        ("encoder.quantizer.acoustic_residual_vector_quantizer.layers.30.codebook.embed_sum", &[2048, 256]),
    ] {
        assert_eq!(shapes.get(name).map(Vec::as_slice), Some(shape), "{name}");
    }
}

fn shapes(files: &[WeightFile]) -> BTreeMap<String, Vec<u64>> {
    files.iter().flat_map(|file| &file.tensors).map(|tensor| (tensor.name.clone(), tensor.shape.clone())).collect()
}

fn golden(variant: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(variant)
}

#[test]
fn the_checkpoints_of_the_published_package_have_exactly_the_tensors_of_their_layout() {
    for variant in ["custom_voice", "voice_design", "base"] {
        let layout = layout(&golden(variant)).expect("its configuration is good");
        assert!(layout.files.iter().all(|file| golden(variant).join(file).is_file()), "{variant}: {:?}", layout.files);
        for file in &layout.weights {
            let bytes = std::fs::read(golden(variant).join(&file.path)).expect("a file");
            let found = SafeTensors::deserialize(&bytes).expect("safetensors");
            let found: BTreeMap<String, (Vec<u64>, String)> = found
                .iter()
                .map(|(name, view)| {
                    (name.to_owned(), (view.shape().iter().map(|size| *size as u64).collect(), format!("{:?}", view.dtype())))
                })
                .collect();
            let expected: BTreeMap<String, (Vec<u64>, String)> =
                file.tensors.iter().map(|tensor| (tensor.name.clone(), (tensor.shape.clone(), tensor.dtype.clone()))).collect();
            assert_eq!(expected, found, "{variant}/{}", file.path);
        }
    }
}

#[test]
fn every_tensor_is_random_and_small() {
    for file in made("1.7B-Base", false).weights {
        for tensor in file.tensors.iter().filter(|tensor| !tensor.name.ends_with(".initialized")) {
            let spread = match tensor.fill {
                Fill::Normal { mean, deviation } => (mean.abs() < 1.01 && deviation <= 1.0).then_some(deviation),
                Fill::Uniform { low, high } => (low > 0.0).then_some(high - low),
            };
            assert!(spread.is_some_and(|spread| spread > 0.0), "{}: {:?}", tensor.name, tensor.fill);
        }
    }
}

#[test]
fn an_unknown_variant_is_answered_with_the_known_ones() {
    let error = blueprint(&BlueprintRequest { variant: "0.6B-VoiceDesign".into(), is_tiny: true }).expect_err("there is none");
    assert!(error.message.contains("0.6B-Base, 0.6B-CustomVoice, 1.7B-Base"), "{error}");
}

#[test]
fn the_stand_in_vocabulary_has_the_published_size_and_ids() {
    let texts = made("0.6B-CustomVoice", true).texts;
    let content = |path: &str| texts.iter().find(|text| text.path == path).map(|text: &TextFile| text.content.as_str()).expect("a file");
    let vocab: BTreeMap<String, usize> = serde_json::from_str(content("vocab.json")).expect("a vocabulary");
    let ids: std::collections::BTreeSet<usize> = vocab.values().copied().collect();
    assert_eq!((vocab.len(), ids.len(), ids.last()), (151_643, 151_643, Some(&151_642)));
    assert_eq!((vocab["assistant"], vocab["user"], vocab["Ċ"], vocab["!"]), (77_091, 872, 198, 0));
    let merges: Vec<&str> = content("merges.txt").lines().skip(1).collect();
    assert_eq!(merges.len(), 151_643 - 256);
    for merge in merges {
        let (left, right) = merge.split_once(' ').expect("a pair");
        assert!(vocab.contains_key(left) && vocab.contains_key(right) && vocab.contains_key(&format!("{left}{right}")), "{merge}");
    }
}
