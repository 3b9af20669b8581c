//! What the codec's `config.json` says. Nothing has a default: the published class defaults are not those of the checkpoints.

use serde::Deserialize;

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Not the JSON of such a codec.
    #[error("the codec's config.json cannot be read: {0}")]
    Json(#[from] serde_json::Error),
    /// A value no network can be built from.
    #[error("the codec's {field} is {value}, which {reason}")]
    Value {
        /// The field.
        field: &'static str,
        /// What it says.
        value: String,
        /// What is wrong with it.
        reason: &'static str,
    },
}

/// The whole codec.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Config {
    /// Codebooks a frame has, of those the encoder could give.
    pub encoder_valid_num_quantizers: usize,
    /// Samples a second that it takes.
    pub input_sample_rate: u32,
    /// Samples a second that it gives.
    pub output_sample_rate: u32,
    /// Samples a frame when encoding.
    pub encode_downsample_rate: usize,
    /// Samples a frame when decoding.
    pub decode_upsample_rate: usize,
    /// Codes to samples.
    pub decoder_config: DecoderConfig,
    /// Samples to codes.
    pub encoder_config: EncoderConfig,
}

/// The decoder.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct DecoderConfig {
    /// Channels between the parts.
    pub latent_dim: usize,
    /// Channels out of the quantiser.
    pub codebook_dim: usize,
    /// Entries a codebook.
    pub codebook_size: usize,
    /// Channels at the start of the upsampling stack, halved by each of its blocks.
    pub decoder_dim: usize,
    /// Width of the transformer.
    pub hidden_size: usize,
    /// Width of its feed-forward parts.
    pub intermediate_size: usize,
    /// Its layers.
    pub num_hidden_layers: usize,
    /// Its heads.
    pub num_attention_heads: usize,
    /// Its heads of keys and values; as many.
    pub num_key_value_heads: usize,
    /// Channels a head.
    pub head_dim: usize,
    /// Codebooks a frame.
    pub num_quantizers: usize,
    /// How many of them are semantic.
    pub num_semantic_quantizers: usize,
    /// Epsilon of the normalisations.
    pub rms_norm_eps: f64,
    /// Base of the rotary frequencies.
    pub rope_theta: f64,
    /// Positions a query sees, itself counted.
    pub sliding_window: usize,
    /// Steps between samples of each block.
    pub upsample_rates: Vec<usize>,
    /// Steps between frames of each stage before the blocks.
    pub upsampling_ratios: Vec<usize>,
}

/// The encoder.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct EncoderConfig {
    /// Channels of the input.
    pub audio_channels: usize,
    /// Channels after the first convolution, doubled by each stage.
    pub num_filters: usize,
    /// Taps of the first convolution.
    pub kernel_size: usize,
    /// Taps of the last.
    pub last_kernel_size: usize,
    /// Taps of the residual units' first.
    pub residual_kernel_size: usize,
    /// Residual units a stage; the dilation of unit `n` is `dilation_growth_rate` to the `n`.
    pub num_residual_layers: usize,
    /// See `num_residual_layers`.
    pub dilation_growth_rate: usize,
    /// How many times fewer channels are inside a residual unit.
    pub compress: usize,
    /// Strides of the stages, last first.
    pub upsampling_ratios: Vec<usize>,
    /// Width of the transformer.
    pub hidden_size: usize,
    /// Its layers.
    pub num_hidden_layers: usize,
    /// Its heads.
    pub num_attention_heads: usize,
    /// Its heads of keys and values; as many.
    pub num_key_value_heads: usize,
    /// Channels a head.
    pub head_dim: usize,
    /// Width of its feed-forward parts.
    pub intermediate_size: usize,
    /// Epsilon of the normalisations.
    pub norm_eps: f64,
    /// Base of the rotary frequencies.
    pub rope_theta: f64,
    /// Positions a query sees, itself counted, where the window is applied.
    pub sliding_window: usize,
    /// Codebooks in the checkpoint.
    pub num_quantizers: usize,
    /// How many of them are semantic.
    pub num_semantic_quantizers: usize,
    /// Entries a codebook.
    pub codebook_size: usize,
    /// Width of their vectors.
    pub codebook_dim: usize,
}

impl Config {
    /// Reads and checks a `config.json`.
    pub fn from_json(json: &[u8]) -> Result<Self, ConfigError> {
        let config: Self = serde_json::from_slice(json)?;
        config.check()?;
        Ok(config)
    }

    /// Whether networks can be built from it.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.decoder_config.check()?;
        self.encoder_config.check()?;
        let samples = self.decoder_config.samples();
        expect("decode_upsample_rate", self.decode_upsample_rate, self.decode_upsample_rate == samples, "is not the decoder's")?;
        let samples = self.encoder_config.samples();
        expect("encode_downsample_rate", self.encode_downsample_rate, self.encode_downsample_rate == samples, "is not the encoder's")?;
        let valid = self.encoder_valid_num_quantizers;
        let fits = valid > self.encoder_config.num_semantic_quantizers && valid <= self.encoder_config.num_quantizers;
        expect("encoder_valid_num_quantizers", valid, fits, "is not a number of the encoder's codebooks")
    }
}

impl DecoderConfig {
    /// Samples a frame.
    pub fn samples(&self) -> usize {
        self.upsample_rates.iter().chain(&self.upsampling_ratios).product()
    }

    /// Whether a network can be built from it.
    pub fn check(&self) -> Result<(), ConfigError> {
        sizes(&[
            ("decoder latent_dim", self.latent_dim),
            ("decoder codebook_dim", self.codebook_dim),
            ("decoder codebook_size", self.codebook_size),
            ("decoder decoder_dim", self.decoder_dim),
            ("decoder hidden_size", self.hidden_size),
            ("decoder intermediate_size", self.intermediate_size),
            ("decoder num_attention_heads", self.num_attention_heads),
            ("decoder head_dim", self.head_dim),
            ("decoder sliding_window", self.sliding_window),
            ("decoder num_semantic_quantizers", self.num_semantic_quantizers),
        ])?;
        let (heads, keys) = (self.num_attention_heads, self.num_key_value_heads);
        expect("decoder num_key_value_heads", keys, heads == keys, "is not the number of heads")?;
        expect("decoder head_dim", self.head_dim, self.head_dim.is_multiple_of(2), "is odd")?;
        expect("decoder codebook_dim", self.codebook_dim, self.codebook_dim.is_multiple_of(2), "is odd")?;
        let more = self.num_quantizers > self.num_semantic_quantizers && self.num_quantizers <= LARGEST_COUNT;
        expect("decoder num_quantizers", self.num_quantizers, more, "leaves no acoustic codebook, or is absurd")?;
        count("decoder num_hidden_layers", self.num_hidden_layers)?;
        strides("decoder upsample_rates", &self.upsample_rates)?;
        strides("decoder upsampling_ratios", &self.upsampling_ratios)?;
        let halves = self.decoder_dim.is_multiple_of(1 << self.upsample_rates.len());
        expect("decoder decoder_dim", self.decoder_dim, halves, "cannot be halved by every block")
    }
}

impl EncoderConfig {
    /// Samples a frame: the strides of the stages, and one of 2 after them.
    pub fn samples(&self) -> usize {
        2 * self.upsampling_ratios.iter().product::<usize>()
    }

    /// Whether a network can be built from it.
    pub fn check(&self) -> Result<(), ConfigError> {
        sizes(&[
            ("encoder num_filters", self.num_filters),
            ("encoder kernel_size", self.kernel_size),
            ("encoder last_kernel_size", self.last_kernel_size),
            ("encoder residual_kernel_size", self.residual_kernel_size),
            ("encoder compress", self.compress),
            ("encoder dilation_growth_rate", self.dilation_growth_rate),
            ("encoder hidden_size", self.hidden_size),
            ("encoder num_attention_heads", self.num_attention_heads),
            ("encoder head_dim", self.head_dim),
            ("encoder intermediate_size", self.intermediate_size),
            ("encoder sliding_window", self.sliding_window),
            ("encoder num_semantic_quantizers", self.num_semantic_quantizers),
            ("encoder codebook_size", self.codebook_size),
            ("encoder codebook_dim", self.codebook_dim),
        ])?;
        expect("encoder audio_channels", self.audio_channels, self.audio_channels == 1, "is not one")?;
        let (heads, keys) = (self.num_attention_heads, self.num_key_value_heads);
        expect("encoder num_key_value_heads", keys, heads == keys, "is not the number of heads")?;
        expect("encoder head_dim", self.head_dim, self.head_dim.is_multiple_of(2), "is odd")?;
        let fits = self.num_filters.is_multiple_of(self.compress);
        expect("encoder compress", self.compress, fits, "does not divide num_filters")?;
        count("encoder num_hidden_layers", self.num_hidden_layers)?;
        expect("encoder num_residual_layers", self.num_residual_layers, self.num_residual_layers <= 4, "is absurd")?;
        expect("encoder dilation_growth_rate", self.dilation_growth_rate, self.dilation_growth_rate <= 16, "is absurd")?;
        count("encoder num_quantizers", self.num_quantizers)?;
        strides("encoder upsampling_ratios", &self.upsampling_ratios)
    }
}

/// No width of such a network comes near it; products of two still fit everywhere.
const LARGEST_SIZE: usize = 1 << 16;
/// Nor does a number of layers or codebooks.
const LARGEST_COUNT: usize = 256;

fn sizes(fields: &[(&'static str, usize)]) -> Result<(), ConfigError> {
    fields.iter().try_for_each(|(field, value)| expect(field, value, (1..=LARGEST_SIZE).contains(value), "is no size"))
}

fn count(field: &'static str, value: usize) -> Result<(), ConfigError> {
    expect(field, value, (1..=LARGEST_COUNT).contains(&value), "is no number of layers")
}

fn strides(field: &'static str, values: &[usize]) -> Result<(), ConfigError> {
    let sane = (1..=8).contains(&values.len()) && values.iter().all(|value| (1..=16).contains(value));
    expect(field, format!("{values:?}"), sane, "is no list of strides")
}

fn expect(field: &'static str, value: impl std::fmt::Display, fine: bool, reason: &'static str) -> Result<(), ConfigError> {
    if fine { Ok(()) } else { Err(ConfigError::Value { field, value: value.to_string(), reason }) }
}
