//! A recording to codes: the [Mimi](https://arxiv.org/abs/2410.00037) encoder.

use burn::tensor::{Int, Tensor, TensorData};

use super::config::Config;
use crate::codecs::transformer::{MlpKind, Transformer, TransformerSpec};
use crate::conv::{Carry, Conv, ConvSpec, Pad, PadMode};
use crate::encoders::seanet::{Seanet, SeanetSpec};
use crate::load::{LoadError, Reader};
use crate::nn::NormConfig;
use crate::quant::{Rvq, RvqSpec, SplitRvq};

/// Frames whose samples pass the convolutions at once; a second of audio takes some 100 MB there.
const PIECE: usize = 12;
/// Features a frame.
const HALF: usize = 2;

/// The encoder.
#[derive(Debug, Clone)]
pub struct Encoder {
    samples: usize,
    seanet: Seanet,
    transformer: Transformer,
    downsample: Conv,
    quantizer: SplitRvq,
}

impl Encoder {
    /// Reads the tensors below `encoder.`. The configuration must have passed [`Config::check`].
    ///
    /// `windowed` says whether queries see only the configured window. The published package ignores it with its default attention, so
    /// codes like its own need `false`; they differ for recordings of more than 10 s.
    pub fn load(reader: &Reader, config: &Config, windowed: bool) -> Result<Self, LoadError> {
        let reader = &reader.part("encoder");
        let width = config.encoder_config.hidden_size;
        Ok(Self {
            samples: config.encode_downsample_rate,
            seanet: Seanet::load(&reader.part("encoder"), &seanet(config))?,
            transformer: Transformer::load(&reader.part("encoder_transformer"), transformer(config, windowed))?,
            downsample: Conv::load(reader, "downsample.conv", ConvSpec::full(width, width, 2 * HALF).stride(HALF), false)?,
            quantizer: quantizer(&reader.part("quantizer"), config)?,
        })
    }

    /// Codes a frame.
    pub fn codebooks(&self) -> usize {
        self.quantizer.codebooks()
    }

    /// Codes a mono recording at the codec's rate; none for no samples.
    ///
    /// # Shapes
    /// - result: `[ceil(samples / samples a frame), codebooks]`
    pub fn encode(&self, pcm: &[f32]) -> Option<Tensor<2, Int>> {
        let features = self.features(pcm)?;
        Some(self.quantizer.encode(features).squeeze_dim(0))
    }

    /// What is quantised, `[1, frames, width]`.
    pub fn features(&self, pcm: &[f32]) -> Option<Tensor<3>> {
        let x = self.convolved(pcm)?;
        let h = self.transform(x);
        // The last frame may lack its second feature: it stands in for itself.
        let missing = h.dims()[1] % HALF;
        Some(self.downsample.whole(h, Pad { left: HALF, right: missing, mode: PadMode::Edge }))
    }

    /// Samples to two features a frame, in pieces.
    fn convolved(&self, pcm: &[f32]) -> Option<Tensor<3>> {
        let device = self.seanet.device();
        let mut state = Tensor::zeros([1, self.seanet.carried()], &device);
        let mut pieces = Vec::new();
        for piece in pcm.chunks(PIECE * self.samples) {
            let mut carry = Carry::new(state);
            let x = Tensor::from_data(TensorData::new(piece.to_vec(), [1, piece.len(), 1]), &device);
            pieces.push(self.seanet.push(&mut carry, x));
            state = carry.finish();
        }
        (!pieces.is_empty()).then(|| Tensor::cat(pieces, 1))
    }

    fn transform(&self, x: Tensor<3>) -> Tensor<3> {
        let state = Tensor::zeros([1, self.transformer.carried()], &x.device());
        self.transformer.push(&mut Carry::new(state), x, &[0])
    }
}

fn seanet(config: &Config) -> SeanetSpec {
    let config = &config.encoder_config;
    SeanetSpec {
        filters: config.num_filters,
        kernel: config.kernel_size,
        last_kernel: config.last_kernel_size,
        unit_kernel: config.residual_kernel_size,
        dilations: (0..config.num_residual_layers as u32).map(|n| config.dilation_growth_rate.pow(n)).collect(),
        compress: config.compress,
        strides: config.upsampling_ratios.iter().rev().copied().collect(),
        output: config.hidden_size,
    }
}

fn transformer(config: &Config, windowed: bool) -> TransformerSpec {
    let config = &config.encoder_config;
    TransformerSpec {
        width: config.hidden_size,
        layers: config.num_hidden_layers,
        heads: config.num_attention_heads,
        head: config.head_dim,
        hidden: config.intermediate_size,
        norm: NormConfig::layer(config.norm_eps),
        mlp: MlpKind::Gelu,
        theta: config.rope_theta,
        past: windowed.then(|| config.sliding_window - 1),
    }
}

fn quantizer(reader: &Reader, config: &Config) -> Result<SplitRvq, LoadError> {
    let (all, config) = (config.encoder_valid_num_quantizers, &config.encoder_config);
    let spec = |codebooks| RvqSpec {
        codebooks,
        entries: config.codebook_size,
        width: config.codebook_dim,
        outer: config.hidden_size,
        before: "layers.",
        after: ".codebook",
        sums: "embed_sum",
    };
    let semantic = config.num_semantic_quantizers;
    Ok(SplitRvq {
        semantic: Rvq::load(&reader.part("semantic_residual_vector_quantizer"), &spec(semantic))?,
        acoustic: Rvq::load(&reader.part("acoustic_residual_vector_quantizer"), &spec(all - semantic))?,
    })
}
