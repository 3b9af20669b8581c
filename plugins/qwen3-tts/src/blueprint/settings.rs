//! The JSON files of the published variants, and of tiny ones.

use serde_json::{Map, Value, json};

use super::variant::{Size, Variant};
use crate::task::Task;

/// Ids of languages, which every variant has.
const LANGUAGES: [(&str, u32); 10] = [
    ("chinese", 2055),
    ("english", 2050),
    ("german", 2053),
    ("italian", 2070),
    ("portuguese", 2071),
    ("spanish", 2054),
    ("japanese", 2058),
    ("korean", 2064),
    ("french", 2061),
    ("russian", 2069),
];
/// Ids of dialects, which only CustomVoice has.
const DIALECTS: [(&str, u32); 2] = [("beijing_dialect", 2074), ("sichuan_dialect", 2062)];
/// Ids of the built-in speakers, and the dialect of those who speak one.
const SPEAKERS: [(&str, u32, Option<&str>); 9] = [
    ("serena", 3066, None),
    ("vivian", 3065, None),
    ("uncle_fu", 3010, None),
    ("ryan", 3061, None),
    ("aiden", 2861, None),
    ("ono_anna", 2873, None),
    ("sohee", 2864, None),
    ("eric", 2875, Some("sichuan_dialect")),
    ("dylan", 2878, Some("beijing_dialect")),
];

/// Sizes of a transformer of the talker's kind.
struct Shape {
    hidden: usize,
    inter: usize,
    layers: usize,
    heads: usize,
    kv_heads: usize,
    head_dim: usize,
}

impl Shape {
    fn talker(size: Size, is_tiny: bool) -> Self {
        let (hidden, inter) = match (is_tiny, size) {
            (false, Size::Small) => (1024, 3072),
            (false, Size::Large) => (2048, 6144),
            (true, Size::Small) => (32, 56),
            (true, Size::Large) => (48, 80),
        };
        Self { hidden, inter, ..Self::rest(28, is_tiny) }
    }

    fn predictor(is_tiny: bool) -> Self {
        let (hidden, inter) = if is_tiny { (32, 64) } else { (1024, 3072) };
        Self { hidden, inter, ..Self::rest(5, is_tiny) }
    }

    fn rest(layers: usize, is_tiny: bool) -> Self {
        let (layers, heads, kv_heads, head_dim) = if is_tiny { (2, 4, 2, 16) } else { (layers, 16, 8, 128) };
        Self { hidden: 0, inter: 0, layers, heads, kv_heads, head_dim }
    }

    /// The keys that talker and predictor share.
    fn document(&self) -> Map<String, Value> {
        object(json!({
            "hidden_size": self.hidden, "intermediate_size": self.inter, "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads, "num_key_value_heads": self.kv_heads, "head_dim": self.head_dim,
            "hidden_act": "silu", "rms_norm_eps": 1e-6, "rope_theta": 1_000_000, "attention_bias": false, "attention_dropout": 0,
            "initializer_range": 0.02, "use_cache": true, "use_sliding_window": false, "sliding_window": null,
            "tie_word_embeddings": false, "num_code_groups": 16,
        }))
    }
}

/// `config.json`.
pub fn main(variant: Variant, is_tiny: bool) -> Value {
    let talker = Shape::talker(variant.size, is_tiny);
    let mut config = json!({
        "architectures": ["Qwen3TTSForConditionalGeneration"], "model_type": "qwen3_tts",
        "tokenizer_type": "qwen3_tts_tokenizer_12hz", "tts_model_size": variant.size.code(), "tts_model_type": kind(variant.task),
        "assistant_token_id": 77_091, "im_start_token_id": 151_644, "im_end_token_id": 151_645, "tts_pad_token_id": 151_671,
        "tts_bos_token_id": 151_672, "tts_eos_token_id": 151_673, "talker_config": talker_config(variant, &talker, is_tiny),
    });
    if variant.task == Task::Base {
        config["speaker_encoder_config"] = speaker(talker.hidden, is_tiny);
    }
    config
}

fn kind(task: Task) -> &'static str {
    match task {
        Task::Base => "base",
        Task::CustomVoice => "custom_voice",
        Task::VoiceDesign => "voice_design",
    }
}

fn talker_config(variant: Variant, shape: &Shape, is_tiny: bool) -> Value {
    let is_custom = variant.task == Task::CustomVoice;
    let languages = LANGUAGES.iter().chain(DIALECTS.iter().filter(|_| is_custom)).map(|(name, id)| ((*name).to_owned(), json!(id)));
    let speakers = || SPEAKERS.iter().filter(|_| is_custom);
    let ids: Map<_, _> = speakers().map(|(name, id, _)| ((*name).to_owned(), json!(id))).collect();
    let dialects: Map<_, _> =
        speakers().map(|(name, _, dialect)| ((*name).to_owned(), dialect.map_or(json!(false), |one| json!(one)))).collect();
    let mut config = shape.document();
    config.extend(object(json!({
        "model_type": "qwen3_tts_talker", "vocab_size": 3072, "text_vocab_size": 151_936,
        "text_hidden_size": if is_tiny { 24 } else { 2048 }, "max_position_embeddings": 32_768, "position_id_per_seconds": 13,
        "rope_scaling": {
            "interleaved": true, "mrope_section": if is_tiny { [4, 2, 2] } else { [24, 20, 20] }, "rope_type": "default", "type": "default",
        },
        "codec_pad_id": 2148, "codec_bos_id": 2149, "codec_eos_token_id": 2150, "codec_think_id": 2154, "codec_nothink_id": 2155,
        "codec_think_bos_id": 2156, "codec_think_eos_id": 2157, "codec_language_id": languages.collect::<Map<_, _>>(), "spk_id": ids,
        "spk_is_dialect": dialects, "code_predictor_config": predictor_config(is_tiny),
    })));
    Value::Object(config)
}

fn predictor_config(is_tiny: bool) -> Value {
    let shape = Shape::predictor(is_tiny);
    let mut config = shape.document();
    config.extend(object(json!({
        "model_type": "qwen3_tts_talker_code_predictor", "vocab_size": 2048, "max_length": 20, "max_position_embeddings": 65_536,
        "max_window_layers": 28, "rope_scaling": null, "layer_types": vec!["full_attention"; shape.layers],
    })));
    Value::Object(config)
}

/// Published files state two of these and leave the others to defaults.
fn speaker(width: usize, is_tiny: bool) -> Value {
    let mut config = json!({"enc_dim": width, "sample_rate": 24_000});
    if is_tiny {
        config["enc_channels"] = json!([16, 16, 16, 16, 48]);
        config["enc_attention_channels"] = json!(12);
        config["enc_se_channels"] = json!(10);
    }
    config
}

/// `generation_config.json`.
pub fn generation() -> Value {
    json!({
        "do_sample": true, "repetition_penalty": 1.05, "temperature": 0.9, "top_p": 1.0, "top_k": 50, "subtalker_dosample": true,
        "subtalker_temperature": 0.9, "subtalker_top_p": 1.0, "subtalker_top_k": 50, "max_new_tokens": 8192,
    })
}

/// `preprocessor_config.json`.
pub fn preprocessor() -> Value {
    json!({"padding_side": "left", "padding_value": 0.0, "processor_class": "Qwen3TTSProcessor", "return_attention_mask": true})
}

/// `speech_tokenizer/preprocessor_config.json`.
pub fn codec_preprocessor() -> Value {
    json!({
        "chunk_length_s": null, "feature_extractor_type": "EncodecFeatureExtractor", "feature_size": 1, "overlap": null,
        "padding_side": "right", "padding_value": 0.0, "return_attention_mask": true, "sampling_rate": 24_000,
    })
}

/// `speech_tokenizer/config.json`.
pub fn codec(is_tiny: bool) -> Value {
    let (mut decoder, mut encoder) = (decoder(), encoder());
    if is_tiny {
        overlay(
            &mut decoder,
            json!({
                "latent_dim": 32, "codebook_dim": 16, "decoder_dim": 32, "hidden_size": 16, "intermediate_size": 40, "num_hidden_layers": 2,
                "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 8, "vector_quantization_hidden_dimension": 16,
            }),
        );
        overlay(
            &mut encoder,
            json!({
                "num_filters": 2, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 8,
                "intermediate_size": 56, "upsample_groups": 24, "codebook_dim": 12, "vector_quantization_hidden_dimension": 12,
            }),
        );
    }
    json!({
        "architectures": ["Qwen3TTSTokenizerV2Model"], "model_type": "qwen3_tts_tokenizer_12hz", "encoder_valid_num_quantizers": 16,
        "input_sample_rate": 24_000, "output_sample_rate": 24_000, "encode_downsample_rate": 1920, "decode_upsample_rate": 1920,
        "decoder_config": decoder, "encoder_config": encoder,
    })
}

fn decoder() -> Map<String, Value> {
    object(json!({
        "latent_dim": 1024, "codebook_dim": 512, "codebook_size": 2048, "decoder_dim": 1536, "hidden_size": 512, "intermediate_size": 1024,
        "num_hidden_layers": 8, "num_attention_heads": 16, "num_key_value_heads": 16, "head_dim": 64, "hidden_act": "silu",
        "attention_bias": false, "attention_dropout": 0.0, "layer_scale_initial_scale": 0.01, "max_position_embeddings": 8000,
        "num_quantizers": 16, "num_semantic_quantizers": 1, "semantic_codebook_size": 4096, "rms_norm_eps": 1e-5, "rope_theta": 10_000,
        "sliding_window": 72, "upsample_rates": [8, 5, 4, 3], "upsampling_ratios": [2, 2], "vector_quantization_hidden_dimension": 512,
    }))
}

fn encoder() -> Map<String, Value> {
    object(json!({
        "model_type": "mimi", "_frame_rate": 12.5, "sampling_rate": 24_000, "audio_channels": 1, "num_filters": 64, "kernel_size": 7,
        "last_kernel_size": 3, "residual_kernel_size": 3, "num_residual_layers": 1, "dilation_growth_rate": 2, "compress": 2,
        "upsampling_ratios": [8, 6, 5, 4], "use_causal_conv": true, "use_conv_shortcut": false, "pad_mode": "constant",
        "trim_right_ratio": 1.0, "hidden_size": 512, "num_hidden_layers": 8, "num_attention_heads": 8, "num_key_value_heads": 8,
        "head_dim": 64, "intermediate_size": 2048, "hidden_act": "gelu", "norm_eps": 1e-5, "layer_scale_initial_scale": 0.01,
        "rope_theta": 10_000.0, "max_position_embeddings": 8000, "sliding_window": 250, "attention_bias": false, "attention_dropout": 0.0,
        "normalize": false, "use_cache": false, "use_streaming": false, "upsample_groups": 512, "num_quantizers": 32,
        "num_semantic_quantizers": 1, "codebook_size": 2048, "codebook_dim": 256, "vector_quantization_hidden_dimension": 256,
    }))
}

fn overlay(into: &mut Map<String, Value>, from: Value) {
    into.extend(object(from));
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
