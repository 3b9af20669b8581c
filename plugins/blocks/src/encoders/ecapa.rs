//! [ECAPA-TDNN](https://arxiv.org/abs/2005.07143): a mel spectrogram to a vector that says who speaks.
//!
//! As speakers' encoders inside speech models use it: "same" convolutions with mirrored edges, no batch normalisation, and a vector that is
//! not normalised.

use burn::tensor::Tensor;
use burn::tensor::activation::{relu, sigmoid, softmax};
use serde::Deserialize;

use crate::conv::{Conv, ConvSpec, Pad, PadMode};
use crate::load::{LoadError, Manifest, Reader};

/// The least variance that pooling takes a root of.
const LEAST_VARIANCE: f64 = 1e-12;

/// The shape of an encoder, as a `speaker_encoder_config` tells it: what that leaves out has the published value.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct EcapaConfig {
    /// Width of the vector.
    pub enc_dim: usize,
    /// Samples a second of the recordings.
    #[serde(default = "published::rate")]
    pub sample_rate: u32,
    /// Bands of the spectrogram.
    #[serde(default = "published::bands")]
    pub mel_dim: usize,
    /// Channels of the first layer, of each block, and where their outputs meet.
    #[serde(default = "published::channels")]
    pub enc_channels: Vec<usize>,
    /// Taps of each.
    #[serde(default = "published::kernels")]
    pub enc_kernel_sizes: Vec<usize>,
    /// Dilation of each.
    #[serde(default = "published::dilations")]
    pub enc_dilations: Vec<usize>,
    /// Channels inside the pooling.
    #[serde(default = "published::inner")]
    pub enc_attention_channels: usize,
    /// Parts of a block's channels.
    #[serde(default = "published::scale")]
    pub enc_res2net_scale: usize,
    /// Channels inside the squeeze.
    #[serde(default = "published::inner")]
    pub enc_se_channels: usize,
}

/// What checkpoints leave out.
mod published {
    pub fn rate() -> u32 {
        24_000
    }
    pub fn bands() -> usize {
        128
    }
    pub fn channels() -> Vec<usize> {
        vec![512, 512, 512, 512, 1536]
    }
    pub fn kernels() -> Vec<usize> {
        vec![5, 3, 3, 3, 1]
    }
    pub fn dilations() -> Vec<usize> {
        vec![1, 2, 3, 4, 1]
    }
    pub fn inner() -> usize {
        128
    }
    pub fn scale() -> usize {
        8
    }
}

/// Why no encoder can be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("speaker_encoder_config.{field} is {value}, which {reason}")]
pub struct EcapaConfigError {
    field: &'static str,
    value: String,
    reason: &'static str,
}

impl EcapaConfig {
    /// Whether an encoder can be built from it.
    pub fn check(&self) -> Result<(), EcapaConfigError> {
        let size = |value: &usize| (1..=1 << 16).contains(value);
        let short = |value: &usize| (1..=64).contains(value);
        let layers = self.enc_channels.len();
        let blocks = self.enc_channels.get(..layers.saturating_sub(1)).unwrap_or_default();
        let divides = |width: &usize| width.is_multiple_of(self.enc_res2net_scale) && Some(width) == blocks.first();
        expect("enc_dim", self.enc_dim, size(&self.enc_dim), "is no width")?;
        expect("mel_dim", self.mel_dim, size(&self.mel_dim), "is no number of bands")?;
        expect("enc_attention_channels", self.enc_attention_channels, size(&self.enc_attention_channels), "is no width")?;
        expect("enc_se_channels", self.enc_se_channels, size(&self.enc_se_channels), "is no width")?;
        expect("enc_res2net_scale", self.enc_res2net_scale, (2..=64).contains(&self.enc_res2net_scale), "is no number of parts")?;
        let sound = (3..=16).contains(&layers) && self.enc_channels.iter().all(size) && blocks.iter().all(divides);
        expect("enc_channels", format!("{:?}", self.enc_channels), sound, "are not equal blocks of whole parts and a last layer")?;
        for (field, values) in [("enc_kernel_sizes", &self.enc_kernel_sizes), ("enc_dilations", &self.enc_dilations)] {
            let sound = values.len() == layers && values.iter().all(short);
            expect(field, format!("{values:?}"), sound, "is not one small number a layer")?;
        }
        Ok(())
    }
}

fn expect(field: &'static str, value: impl ToString, fine: bool, reason: &'static str) -> Result<(), EcapaConfigError> {
    if fine { Ok(()) } else { Err(EcapaConfigError { field, value: value.to_string(), reason }) }
}

/// Why a spectrogram has no vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the recording is too short to tell a voice: {frames} frames of its spectrum, at least {least} are needed")]
pub struct TooShort {
    /// Frames it has.
    pub frames: usize,
    /// Frames it needs.
    pub least: usize,
}

/// The encoder.
#[derive(Debug, Clone)]
pub struct Ecapa {
    first: Same,
    blocks: Vec<Block>,
    gather: Same,
    pool: Pooling,
    output: Same,
}

impl Ecapa {
    /// Reads `blocks.{n}`, `mfa`, `asp`, `fc`. The configuration must have passed [`EcapaConfig::check`].
    pub fn load(reader: &Reader, config: &EcapaConfig) -> Result<Self, LoadError> {
        let (channels, kernels, dilations) = (&config.enc_channels, &config.enc_kernel_sizes, &config.enc_dilations);
        let last = channels.len() - 1;
        let blocks = (1..last).map(|n| Block::load(&reader.part(format_args!("blocks.{n}")), config, n));
        let (joined, wide) = (channels[1..last].iter().sum(), channels[last]);
        Ok(Self {
            first: Same::load(reader, "blocks.0.conv", [config.mel_dim, channels[0]], kernels[0], dilations[0])?,
            blocks: blocks.collect::<Result<_, _>>()?,
            gather: Same::load(reader, "mfa.conv", [joined, wide], kernels[last], dilations[last])?,
            pool: Pooling::load(&reader.part("asp"), wide, config.enc_attention_channels)?,
            output: Same::load(reader, "fc", [2 * wide, config.enc_dim], 1, 1)?,
        })
    }

    /// The fewest frames a spectrogram may have: mirrored edges need one more than they are long.
    pub fn shortest(&self) -> usize {
        let blocks = self.blocks.iter().flat_map(|block| &block.parts);
        blocks.chain([&self.first, &self.gather]).map(|conv| conv.pad.shortest()).max().unwrap_or(1).max(1)
    }

    /// The vector of a spectrogram.
    ///
    /// # Shapes
    /// - `mel`: `[rows, frames, bands]`, result: `[rows, output]`
    pub fn forward(&self, mel: Tensor<3>) -> Result<Tensor<2>, TooShort> {
        let (frames, least) = (mel.dims()[1], self.shortest());
        if frames < least {
            return Err(TooShort { frames, least });
        }
        let mut x = relu(self.first.forward(mel));
        let mut outputs = Vec::with_capacity(self.blocks.len());
        for block in &self.blocks {
            x = block.forward(x);
            outputs.push(x.clone());
        }
        let x = relu(self.gather.forward(Tensor::cat(outputs, 2)));
        Ok(self.output.forward(self.pool.forward(x)).squeeze_dim(1))
    }
}

/// A convolution as long as its input, with mirrored edges.
#[derive(Debug, Clone)]
struct Same {
    conv: Conv,
    pad: Pad,
}

impl Same {
    fn load(reader: &Reader, name: &str, [input, output]: [usize; 2], kernel: usize, dilation: usize) -> Result<Self, LoadError> {
        let spec = ConvSpec::full(input, output, kernel).dilation(dilation);
        let pad = Pad { left: (spec.span() - 1) / 2, right: spec.span() / 2, mode: PadMode::Reflect };
        Ok(Self { conv: Conv::load(reader, name, spec, true)?, pad })
    }

    fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        self.conv.whole(x, self.pad)
    }
}

/// A squeeze-excitation Res2Net block.
#[derive(Debug, Clone)]
struct Block {
    before: Same,
    /// One for every part of the channels but the first.
    parts: Vec<Same>,
    after: Same,
    squeeze: Same,
    excite: Same,
}

impl Block {
    fn load(reader: &Reader, config: &EcapaConfig, n: usize) -> Result<Self, LoadError> {
        let (width, squeeze) = (config.enc_channels[n], config.enc_se_channels);
        let part = width / config.enc_res2net_scale;
        let parts = (0..config.enc_res2net_scale - 1).map(|i| {
            let name = format!("res2net_block.blocks.{i}.conv");
            Same::load(reader, &name, [part, part], config.enc_kernel_sizes[n], config.enc_dilations[n])
        });
        Ok(Self {
            before: Same::load(reader, "tdnn1.conv", [width, width], 1, 1)?,
            parts: parts.collect::<Result<_, _>>()?,
            after: Same::load(reader, "tdnn2.conv", [width, width], 1, 1)?,
            squeeze: Same::load(reader, "se_block.conv1", [width, squeeze], 1, 1)?,
            excite: Same::load(reader, "se_block.conv2", [squeeze, width], 1, 1)?,
        })
    }

    fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let h = relu(self.after.forward(self.staircase(relu(self.before.forward(x.clone())))));
        let gain = sigmoid(self.excite.forward(relu(self.squeeze.forward(h.clone().mean_dim(1)))));
        x + h * gain
    }

    /// The first part passes; every other is convolved together with the one before it, once that is done.
    fn staircase(&self, x: Tensor<3>) -> Tensor<3> {
        let width = x.dims()[2] / (self.parts.len() + 1);
        let mut done = vec![x.clone().narrow(2, 0, width)];
        let mut last: Option<Tensor<3>> = None;
        for (i, conv) in self.parts.iter().enumerate() {
            let part = x.clone().narrow(2, (i + 1) * width, width);
            let sum = last.map_or_else(|| part.clone(), |last| last + part.clone());
            let out = relu(conv.forward(sum));
            done.push(out.clone());
            last = Some(out);
        }
        Tensor::cat(done, 2)
    }
}

/// Mean and deviation over time, weighted by attention.
#[derive(Debug, Clone)]
struct Pooling {
    look: Same,
    weigh: Same,
}

impl Pooling {
    fn load(reader: &Reader, channels: usize, inner: usize) -> Result<Self, LoadError> {
        Ok(Self {
            look: Same::load(reader, "tdnn.conv", [3 * channels, inner], 1, 1)?,
            weigh: Same::load(reader, "conv", [inner, channels], 1, 1)?,
        })
    }

    /// # Shapes
    /// - `x`: `[rows, frames, channels]`, result: `[rows, 1, 2 * channels]`
    fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let [rows, frames, channels] = x.dims();
        let even = Tensor::full([rows, frames, 1], 1.0 / frames as f64, &x.device());
        let around = statistics(x.clone(), even).expand([rows, frames, 2 * channels]);
        let seen = relu(self.look.forward(Tensor::cat(vec![x.clone(), around], 2)));
        let weights = softmax(self.weigh.forward(seen.tanh()), 1);
        statistics(x, weights)
    }
}

/// Weighted mean and deviation over time, `[rows, 1, 2 * channels]`.
fn statistics(x: Tensor<3>, weights: Tensor<3>) -> Tensor<3> {
    let mean = (x.clone() * weights.clone()).sum_dim(1);
    let apart = x - mean.clone();
    let variance = (apart.clone() * apart * weights).sum_dim(1);
    Tensor::cat(vec![mean, variance.clamp_min(LEAST_VARIANCE).sqrt()], 2)
}

/// Expects the encoder's tensors, their names after `prefix`, which ends in a dot or is empty. The configuration must be sound.
pub fn declare(manifest: &mut Manifest, prefix: &str, config: &EcapaConfig) {
    let mut conv = |name: &str, output: usize, input: usize, kernel: usize| {
        manifest.load(format!("{prefix}{name}.weight"), &[output, input, kernel]);
        manifest.load(format!("{prefix}{name}.bias"), &[output]);
    };
    let (channels, kernels) = (&config.enc_channels, &config.enc_kernel_sizes);
    let (last, width) = (channels.len() - 1, channels[0]);
    let (wide, inner, squeeze) = (channels[last], config.enc_attention_channels, config.enc_se_channels);
    conv("blocks.0.conv", width, config.mel_dim, kernels[0]);
    for (n, kernel) in kernels.iter().enumerate().take(last).skip(1) {
        conv(&format!("blocks.{n}.tdnn1.conv"), width, width, 1);
        conv(&format!("blocks.{n}.tdnn2.conv"), width, width, 1);
        let part = width / config.enc_res2net_scale;
        (0..config.enc_res2net_scale - 1).for_each(|i| conv(&format!("blocks.{n}.res2net_block.blocks.{i}.conv"), part, part, *kernel));
        conv(&format!("blocks.{n}.se_block.conv1"), squeeze, width, 1);
        conv(&format!("blocks.{n}.se_block.conv2"), width, squeeze, 1);
    }
    conv("mfa.conv", wide, width * (last - 1), kernels[last]);
    conv("asp.tdnn.conv", inner, 3 * wide, 1);
    conv("asp.conv", wide, inner, 1);
    conv("fc", config.enc_dim, 2 * wide, 1);
}
