//! Every tensor of a codec's checkpoint.

use super::config::{Config, DecoderConfig, EncoderConfig};
use crate::load::Manifest;

/// Expects the codec's tensors, their names after `prefix`, which ends in a dot or is empty.
///
/// What training leaves and nothing here reads is known and skipped: codebooks beyond those a frame has, and marks that one is initialised.
pub fn declare(manifest: &mut Manifest, prefix: &str, config: &Config) {
    let mut names = Names { manifest, prefix: format!("{prefix}decoder.") };
    decoder(&mut names, &config.decoder_config);
    names.prefix = format!("{prefix}encoder.");
    encoder(&mut names, &config.encoder_config, config.encoder_valid_num_quantizers);
}

struct Names<'a> {
    manifest: &'a mut Manifest,
    prefix: String,
}

impl Names<'_> {
    fn load(&mut self, name: &str, shape: &[usize]) {
        self.manifest.load(format!("{}{name}", self.prefix), shape);
    }

    fn skip(&mut self, name: &str, shape: &[usize]) {
        self.manifest.skip(format!("{}{name}", self.prefix), shape);
    }

    /// `{name}.weight` and a bias of its first axis.
    fn biased(&mut self, name: &str, shape: &[usize]) {
        self.with_bias(name, shape, shape[0]);
    }

    fn with_bias(&mut self, name: &str, shape: &[usize], bias: usize) {
        self.load(&format!("{name}.weight"), shape);
        self.load(&format!("{name}.bias"), &[bias]);
    }

    fn snake(&mut self, name: &str, channels: usize) {
        self.load(&format!("{name}.alpha"), &[channels]);
        self.load(&format!("{name}.beta"), &[channels]);
    }

    /// Projections of a quantiser whose codebooks are `width` wide.
    fn projections(&mut self, name: &str, width: usize, outer: usize) {
        self.load(&format!("{name}.input_proj.weight"), &[width, outer, 1]);
        self.load(&format!("{name}.output_proj.weight"), &[outer, width, 1]);
    }
}

fn decoder(names: &mut Names, config: &DecoderConfig) {
    let (latent, outer, width) = (config.latent_dim, config.codebook_dim, config.codebook_dim / 2);
    let semantic = config.num_semantic_quantizers;
    for (part, codebooks) in [("rvq_first", semantic), ("rvq_rest", config.num_quantizers - semantic)] {
        names.projections(&format!("quantizer.{part}"), width, outer);
        for n in 0..codebooks {
            names.load(&format!("quantizer.{part}.vq.layers.{n}._codebook.cluster_usage"), &[config.codebook_size]);
            names.load(&format!("quantizer.{part}.vq.layers.{n}._codebook.embedding_sum"), &[config.codebook_size, width]);
        }
    }
    names.biased("pre_conv.conv", &[latent, outer, 3]);
    decoder_transformer(names, config);
    for (n, rate) in config.upsampling_ratios.iter().enumerate() {
        names.biased(&format!("upsample.{n}.0.conv"), &[latent, latent, *rate]);
        names.biased(&format!("upsample.{n}.1.dwconv.conv"), &[latent, 1, 7]);
        names.biased(&format!("upsample.{n}.1.norm"), &[latent]);
        names.biased(&format!("upsample.{n}.1.pwconv1"), &[4 * latent, latent]);
        names.biased(&format!("upsample.{n}.1.pwconv2"), &[latent, 4 * latent]);
        names.load(&format!("upsample.{n}.1.gamma"), &[latent]);
    }
    decoder_stack(names, config);
}

fn decoder_transformer(names: &mut Names, config: &DecoderConfig) {
    let (width, hidden, inner) = (config.hidden_size, config.intermediate_size, config.num_attention_heads * config.head_dim);
    names.biased("pre_transformer.input_proj", &[width, config.latent_dim]);
    names.biased("pre_transformer.output_proj", &[config.latent_dim, width]);
    names.load("pre_transformer.norm.weight", &[width]);
    for n in 0..config.num_hidden_layers {
        let layer = format!("pre_transformer.layers.{n}");
        attention(names, &layer, width, inner);
        for norm in ["input_layernorm", "post_attention_layernorm"] {
            names.load(&format!("{layer}.{norm}.weight"), &[width]);
        }
        names.load(&format!("{layer}.mlp.gate_proj.weight"), &[hidden, width]);
        names.load(&format!("{layer}.mlp.up_proj.weight"), &[hidden, width]);
        names.load(&format!("{layer}.mlp.down_proj.weight"), &[width, hidden]);
    }
}

fn decoder_stack(names: &mut Names, config: &DecoderConfig) {
    names.biased("decoder.0.conv", &[config.decoder_dim, config.latent_dim, 7]);
    let mut channels = config.decoder_dim;
    for (n, rate) in (1..).zip(&config.upsample_rates) {
        let half = channels / 2;
        names.snake(&format!("decoder.{n}.block.0"), channels);
        names.with_bias(&format!("decoder.{n}.block.1.conv"), &[channels, half, 2 * rate], half);
        for unit in 2..5 {
            let unit = format!("decoder.{n}.block.{unit}");
            names.snake(&format!("{unit}.act1"), half);
            names.snake(&format!("{unit}.act2"), half);
            names.biased(&format!("{unit}.conv1.conv"), &[half, half, 7]);
            names.biased(&format!("{unit}.conv2.conv"), &[half, half, 1]);
        }
        channels = half;
    }
    let blocks = config.upsample_rates.len();
    names.snake(&format!("decoder.{}", blocks + 1), channels);
    names.biased(&format!("decoder.{}.conv", blocks + 2), &[1, channels, 7]);
}

fn encoder(names: &mut Names, config: &EncoderConfig, used: usize) {
    encoder_convolutions(names, config);
    let (width, hidden, inner) = (config.hidden_size, config.intermediate_size, config.num_attention_heads * config.head_dim);
    for n in 0..config.num_hidden_layers {
        let layer = format!("encoder_transformer.layers.{n}");
        attention(names, &layer, width, inner);
        names.biased(&format!("{layer}.input_layernorm"), &[width]);
        names.biased(&format!("{layer}.post_attention_layernorm"), &[width]);
        names.load(&format!("{layer}.mlp.fc1.weight"), &[hidden, width]);
        names.load(&format!("{layer}.mlp.fc2.weight"), &[width, hidden]);
    }
    names.load("downsample.conv.weight", &[width, width, 4]);
    let semantic = config.num_semantic_quantizers;
    codebooks(names, "quantizer.semantic_residual_vector_quantizer", config, semantic, semantic);
    codebooks(names, "quantizer.acoustic_residual_vector_quantizer", config, config.num_quantizers - semantic, used - semantic);
}

fn encoder_convolutions(names: &mut Names, config: &EncoderConfig) {
    names.biased("encoder.layers.0.conv", &[config.num_filters, 1, config.kernel_size]);
    let (mut channels, mut layer) = (config.num_filters, 1);
    for stride in config.upsampling_ratios.iter().rev() {
        let inner = channels / config.compress;
        for _ in 0..config.num_residual_layers {
            names.biased(&format!("encoder.layers.{layer}.block.1.conv"), &[inner, channels, config.residual_kernel_size]);
            names.biased(&format!("encoder.layers.{layer}.block.3.conv"), &[channels, inner, 1]);
            layer += 1;
        }
        names.biased(&format!("encoder.layers.{}.conv", layer + 1), &[2 * channels, channels, 2 * stride]);
        channels *= 2;
        layer += 2;
    }
    names.biased(&format!("encoder.layers.{}.conv", layer + 1), &[config.hidden_size, channels, config.last_kernel_size]);
}

fn attention(names: &mut Names, layer: &str, width: usize, inner: usize) {
    for part in ["q", "k", "v"] {
        names.load(&format!("{layer}.self_attn.{part}_proj.weight"), &[inner, width]);
    }
    names.load(&format!("{layer}.self_attn.o_proj.weight"), &[width, inner]);
    for scale in ["self_attn_layer_scale", "mlp_layer_scale"] {
        names.load(&format!("{layer}.{scale}.scale"), &[width]);
    }
}

fn codebooks(names: &mut Names, name: &str, config: &EncoderConfig, stored: usize, used: usize) {
    names.projections(name, config.codebook_dim, config.hidden_size);
    for n in 0..stored {
        let codebook = format!("{name}.layers.{n}.codebook");
        let tensors = [
            (format!("{codebook}.cluster_usage"), vec![config.codebook_size]),
            (format!("{codebook}.embed_sum"), vec![config.codebook_size, config.codebook_dim]),
        ];
        for (tensor, shape) in tensors {
            if n < used { names.load(&tensor, &shape) } else { names.skip(&tensor, &shape) }
        }
        names.skip(&format!("{codebook}.initialized"), &[1]);
    }
}
