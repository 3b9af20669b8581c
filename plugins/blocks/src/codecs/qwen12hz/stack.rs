//! The upsampling stack of the decoder: frames of the transformer to samples.

use burn::tensor::Tensor;

use super::config::DecoderConfig;
use crate::conv::{Carry, Conv, ConvNext, ConvSpec, ConvTransposed, ResidualUnit, SnakeBeta};
use crate::load::{LoadError, Reader};

/// Taps of the convolutions that look back.
const KERNEL: usize = 7;
/// Dilations of a block's residual units.
const DILATIONS: [usize; 3] = [1, 3, 9];

/// Everything after the transformer.
#[derive(Debug, Clone)]
pub(super) struct Stack {
    stages: Vec<(ConvTransposed, ConvNext)>,
    entry: Conv,
    blocks: Vec<Block>,
    last: SnakeBeta,
    exit: Conv,
}

/// One block: as many times more places as its rate, half the channels.
#[derive(Debug, Clone)]
struct Block {
    act: SnakeBeta,
    up: ConvTransposed,
    units: Vec<ResidualUnit>,
}

impl Stack {
    /// Reads `upsample.{n}` and `decoder.{n}`.
    pub(super) fn load(reader: &Reader, config: &DecoderConfig) -> Result<Self, LoadError> {
        let blocks = config.upsample_rates.len();
        let end = config.decoder_dim >> blocks;
        let stage = |(n, rate): (usize, &usize)| stage(&reader.part(format_args!("upsample.{n}")), config.latent_dim, *rate);
        let block = |(n, rate): (usize, &usize)| {
            let reader = reader.part(format_args!("decoder.{}.block", n + 1));
            Block::load(&reader, config.decoder_dim >> n, *rate)
        };
        Ok(Self {
            stages: config.upsampling_ratios.iter().enumerate().map(stage).collect::<Result<_, _>>()?,
            entry: Conv::load(reader, "decoder.0.conv", ConvSpec::full(config.latent_dim, config.decoder_dim, KERNEL), true)?,
            blocks: config.upsample_rates.iter().enumerate().map(block).collect::<Result<_, _>>()?,
            last: SnakeBeta::load(reader, &format!("decoder.{}", blocks + 1), end)?,
            exit: Conv::load(reader, &format!("decoder.{}.conv", blocks + 2), ConvSpec::full(end, 1, KERNEL), true)?,
        })
    }

    /// Values of state a stream.
    pub(super) fn carried(&self) -> usize {
        let stages: usize = self.stages.iter().map(|(up, block)| up.carried() + block.carried()).sum();
        let blocks: usize = self.blocks.iter().map(Block::carried).sum();
        stages + self.entry.carried() + blocks + self.exit.carried()
    }

    /// # Shapes
    /// - `x`: `[rows, frames, latent]`, result: `[rows, samples, 1]`
    pub(super) fn push(&self, carry: &mut Carry, x: Tensor<3>) -> Tensor<3> {
        let x = self.stages.iter().fold(x, |x, (up, block)| {
            let x = up.push(carry, x);
            block.push(carry, x)
        });
        let x = self.entry.push(carry, x);
        let x = self.blocks.iter().fold(x, |x, block| block.push(carry, x));
        self.exit.push(carry, self.last.forward(x))
    }
}

/// A transposed convolution without overlap, and a block at its rate.
fn stage(reader: &Reader, channels: usize, rate: usize) -> Result<(ConvTransposed, ConvNext), LoadError> {
    let spec = ConvSpec::full(channels, channels, rate).stride(rate);
    Ok((ConvTransposed::load(reader, "0.conv", spec, true)?, ConvNext::load(&reader.part(1), channels, KERNEL)?))
}

impl Block {
    fn load(reader: &Reader, channels: usize, rate: usize) -> Result<Self, LoadError> {
        let half = channels / 2;
        let spec = ConvSpec::full(channels, half, 2 * rate).stride(rate);
        let unit = |(n, dilation): (usize, &usize)| ResidualUnit::load(&reader.part(n + 2), half, KERNEL, *dilation);
        Ok(Self {
            act: SnakeBeta::load(reader, "0", channels)?,
            up: ConvTransposed::load(reader, "1.conv", spec, true)?,
            units: DILATIONS.iter().enumerate().map(unit).collect::<Result<_, _>>()?,
        })
    }

    fn carried(&self) -> usize {
        self.up.carried() + self.units.iter().map(ResidualUnit::carried).sum::<usize>()
    }

    fn push(&self, carry: &mut Carry, x: Tensor<3>) -> Tensor<3> {
        let x = self.up.push(carry, self.act.forward(x));
        self.units.iter().fold(x, |x, unit| unit.push(carry, x))
    }
}
