//! The codec as it is published.

use omni_blocks::codecs::qwen12hz::Config;

/// The published `config.json`, without what nothing reads.
pub const JSON: &str = r#"{
  "model_type": "qwen3_tts_tokenizer_12hz", "encoder_valid_num_quantizers": 16,
  "input_sample_rate": 24000, "output_sample_rate": 24000, "encode_downsample_rate": 1920, "decode_upsample_rate": 1920,
  "decoder_config": {
    "latent_dim": 1024, "codebook_dim": 512, "codebook_size": 2048, "decoder_dim": 1536, "hidden_size": 512, "intermediate_size": 1024,
    "num_hidden_layers": 8, "num_attention_heads": 16, "num_key_value_heads": 16, "head_dim": 64, "num_quantizers": 16,
    "num_semantic_quantizers": 1, "semantic_codebook_size": 4096, "rms_norm_eps": 1e-5, "rope_theta": 10000, "sliding_window": 72,
    "upsample_rates": [8, 5, 4, 3], "upsampling_ratios": [2, 2]
  },
  "encoder_config": {
    "audio_channels": 1, "num_filters": 64, "kernel_size": 7, "last_kernel_size": 3, "residual_kernel_size": 3, "num_residual_layers": 1,
    "dilation_growth_rate": 2, "compress": 2, "upsampling_ratios": [8, 6, 5, 4], "hidden_size": 512, "num_hidden_layers": 8,
    "num_attention_heads": 8, "num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 2048, "norm_eps": 1e-5,
    "rope_theta": 10000, "sliding_window": 250, "num_quantizers": 32, "num_semantic_quantizers": 1, "codebook_size": 2048,
    "codebook_dim": 256
  }
}"#;

/// The published configuration.
pub fn config() -> Config {
    Config::from_json(JSON.as_bytes()).expect("the published configuration")
}
