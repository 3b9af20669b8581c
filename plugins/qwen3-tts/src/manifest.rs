//! Every tensor of a checkpoint's main file, with its shape.

use omni_blocks::codecs::qwen12hz;
use omni_blocks::encoders::{EcapaConfig, ecapa};
use omni_blocks::load::Manifest;

use crate::config::{Config, DecoderConfig};

/// The tensors of `model.safetensors` that a checkpoint of this config has. Only Base has the speaker encoder.
pub fn main(config: &Config, speaker: Option<&EcapaConfig>) -> Manifest {
    let mut manifest = Manifest::default();
    let talker = &config.talker_config;
    let (width, text) = (talker.decoder.hidden_size, talker.text_hidden_size);
    manifest.load("talker.model.text_embedding.weight", &[talker.text_vocab_size, text]);
    manifest.load("talker.model.codec_embedding.weight", &[talker.decoder.vocab_size, width]);
    linear(&mut manifest, "talker.text_projection.linear_fc1", text, text);
    linear(&mut manifest, "talker.text_projection.linear_fc2", text, width);
    decoder(&mut manifest, "talker.model", &talker.decoder);
    manifest.load("talker.codec_head.weight", &[talker.decoder.vocab_size, width]);
    predictor(&mut manifest, config);
    if let Some(speaker) = speaker {
        ecapa::declare(&mut manifest, "speaker_encoder.", speaker);
    }
    manifest
}

/// The tensors of `speech_tokenizer/model.safetensors`.
pub fn codec(config: &qwen12hz::Config) -> Manifest {
    let mut manifest = Manifest::default();
    qwen12hz::declare(&mut manifest, "", config);
    manifest
}

fn predictor(manifest: &mut Manifest, config: &Config) {
    let (inner, outer) = (&config.talker_config.code_predictor_config, config.talker_config.decoder.hidden_size);
    let place = "talker.code_predictor";
    for step in 0..config.talker_config.num_code_groups - 1 {
        manifest.load(format!("{place}.model.codec_embedding.{step}.weight"), &[inner.vocab_size, outer]);
        manifest.load(format!("{place}.lm_head.{step}.weight"), &[inner.vocab_size, inner.hidden_size]);
    }
    decoder(manifest, &format!("{place}.model"), inner);
    if inner.hidden_size != outer {
        linear(manifest, &format!("{place}.small_to_mtp_projection"), outer, inner.hidden_size);
    }
}

fn decoder(manifest: &mut Manifest, place: &str, config: &DecoderConfig) {
    let (width, hidden) = (config.hidden_size, config.intermediate_size);
    let (queries, keys) = (config.num_attention_heads * config.head_dim, config.num_key_value_heads * config.head_dim);
    for layer in 0..config.num_hidden_layers {
        let place = format!("{place}.layers.{layer}");
        for norm in ["input_layernorm", "post_attention_layernorm"] {
            manifest.load(format!("{place}.{norm}.weight"), &[width]);
        }
        for norm in ["q_norm", "k_norm"] {
            manifest.load(format!("{place}.self_attn.{norm}.weight"), &[config.head_dim]);
        }
        for (name, shape) in [
            ("self_attn.q_proj", [queries, width]),
            ("self_attn.k_proj", [keys, width]),
            ("self_attn.v_proj", [keys, width]),
            ("self_attn.o_proj", [width, queries]),
            ("mlp.gate_proj", [hidden, width]),
            ("mlp.up_proj", [hidden, width]),
            ("mlp.down_proj", [width, hidden]),
        ] {
            manifest.load(format!("{place}.{name}.weight"), &shape);
        }
    }
    manifest.load(format!("{place}.norm.weight"), &[width]);
}

fn linear(manifest: &mut Manifest, name: &str, inputs: usize, outputs: usize) {
    manifest.load(format!("{name}.weight"), &[outputs, inputs]);
    manifest.load(format!("{name}.bias"), &[outputs]);
}
