//! Convolutions: whole signals with any padding, or causal ones piece by piece.

use burn::tensor::{Device, Tensor};

use super::carry::Carry;
use super::dense::{product, put};
use super::pad::{Pad, PadMode};
use super::patches::patches;
use crate::load::{LoadError, Reader};
use crate::nn::is_host;

/// Values of a tile's windows: a megabyte.
const TILE: usize = 1 << 18;
/// A tile's fewest windows: fewer would read the weights too often.
const LEAST_TILE: usize = 64;

/// The shape of a convolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConvSpec {
    /// Channels in.
    pub input: usize,
    /// Channels out.
    pub output: usize,
    /// Taps.
    pub kernel: usize,
    /// Inputs from one window to the next.
    pub stride: usize,
    /// Inputs from one tap to the next.
    pub dilation: usize,
    /// Groups of channels that see only each other: 1, or `input` for a depthwise convolution, or between.
    pub groups: usize,
}

impl ConvSpec {
    /// A full convolution of stride and dilation 1.
    pub fn full(input: usize, output: usize, kernel: usize) -> Self {
        Self { input, output, kernel, stride: 1, dilation: 1, groups: 1 }
    }

    /// A depthwise convolution of stride and dilation 1.
    pub fn depthwise(channels: usize, kernel: usize) -> Self {
        Self { groups: channels, ..Self::full(channels, channels, kernel) }
    }

    /// The same with another stride.
    #[must_use]
    pub fn stride(self, stride: usize) -> Self {
        Self { stride, ..self }
    }

    /// The same with another dilation.
    #[must_use]
    pub fn dilation(self, dilation: usize) -> Self {
        Self { dilation, ..self }
    }

    /// Inputs a window spans.
    pub fn span(&self) -> usize {
        (self.kernel - 1) * self.dilation + 1
    }

    /// Inputs a causal convolution looks back on: its span less one stride.
    pub fn past(&self) -> usize {
        self.span().saturating_sub(self.stride)
    }

    fn depthwise_only(&self) -> bool {
        self.groups > 1 && self.groups == self.input && self.groups == self.output
    }
}

/// A convolution.
#[derive(Debug, Clone)]
pub struct Conv {
    spec: ConvSpec,
    weight: Weight,
    bias: Option<Tensor<1>>,
}

#[derive(Debug, Clone)]
enum Weight {
    /// `[taps * in, out]`.
    Full(Tensor<2>),
    /// `[groups, taps * in / groups, out / groups]`.
    Grouped(Tensor<3>),
    /// `[channels, taps]`.
    Depthwise(Tensor<2>),
}

impl Conv {
    /// Reads `{name}.weight` `[out, in / groups, taps]`, and `{name}.bias` `[out]` if it has one.
    pub fn load(reader: &Reader, name: &str, spec: ConvSpec, bias: bool) -> Result<Self, LoadError> {
        let weight = reader.values(&format!("{name}.weight"), &[spec.output, spec.input / spec.groups, spec.kernel])?;
        let bias = bias.then(|| reader.values(&format!("{name}.bias"), &[spec.output])).transpose()?;
        Ok(Self::new(spec, &weight, bias, reader.device()))
    }

    /// From a weight `[out, in / groups, taps]`.
    pub fn new(spec: ConvSpec, weight: &[f32], bias: Option<Vec<f32>>, device: &Device) -> Self {
        let ConvSpec { input, output, kernel, groups, .. } = spec;
        let weight = if spec.depthwise_only() {
            Weight::Depthwise(put(weight.to_vec(), [output, kernel], device))
        } else {
            let taps = taps_first(weight, [groups, output / groups, input / groups, kernel]);
            match groups {
                1 => Weight::Full(put(taps, [kernel * input, output], device)),
                _ => Weight::Grouped(put(taps, [groups, kernel * input / groups, output / groups], device)),
            }
        };
        Self { spec, weight, bias: bias.map(|bias| put(bias, [output], device)) }
    }

    /// Its shape.
    pub fn spec(&self) -> ConvSpec {
        self.spec
    }

    /// Values of state a stream.
    pub fn carried(&self) -> usize {
        self.spec.past() * self.spec.input
    }

    /// Convolves the next piece of streams: `out[t]` depends on inputs up to `t * stride`, and on zeros before the first. A last window
    /// that is not complete is completed with zeros, so every piece but a stream's last is a multiple of the stride long.
    ///
    /// # Shapes
    /// - `x`: `[rows, time, in]`, result: `[rows, ceil(time / stride), out]`
    pub fn push(&self, carry: &mut Carry, x: Tensor<3>) -> Tensor<3> {
        let time = x.dims()[1];
        let missing = time.next_multiple_of(self.spec.stride) - time;
        let x = Pad { left: 0, right: missing, mode: PadMode::Zero }.apply(x);
        self.valid(carry.extend(x, self.spec.past()))
    }

    /// Convolves a whole signal.
    ///
    /// # Shapes
    /// - `x`: `[rows, time, in]` with at least [`Pad::shortest`] values in time and, padded, one window
    /// - result: `[rows, (padded - span) / stride + 1, out]`
    pub fn whole(&self, x: Tensor<3>, pad: Pad) -> Tensor<3> {
        self.valid(pad.apply(x))
    }

    /// Convolves without padding.
    fn valid(&self, x: Tensor<3>) -> Tensor<3> {
        let [rows, time, _] = x.dims();
        let windows = (time - self.spec.span()) / self.spec.stride + 1;
        let y = match &self.weight {
            Weight::Full(weight) => self.full(x, weight).reshape([rows, windows, self.spec.output]),
            Weight::Grouped(weight) => self.grouped(x, weight).reshape([rows, windows, self.spec.output]),
            Weight::Depthwise(weight) => self.depthwise(x, weight),
        };
        match &self.bias {
            Some(bias) => y + bias.clone().unsqueeze::<3>(),
            None => y,
        }
    }

    /// One product, or on the host several, so that windows, which repeat every input once a tap, are never written out or stay in the
    /// cache.
    fn full(&self, x: Tensor<3>, weight: &Tensor<2>) -> Tensor<2> {
        let [rows, time, _] = x.dims();
        let windows = (time - self.spec.span()) / self.spec.stride + 1;
        let is_small = rows > 1 && windows < LEAST_TILE;
        if self.spec.kernel == 1 || is_small || !is_host(&x.device()) {
            return product(self.patches(x), weight);
        }
        let row = |row| x.clone().narrow(0, row, 1);
        let products: Vec<Tensor<2>> = match self.spec.dilation {
            1 => (0..rows).map(|at| product(self.overlapping(row(at)), weight)).collect(),
            _ => (0..rows).flat_map(|at| self.tiles(row(at), windows)).map(|tile| product(self.patches(tile), weight)).collect(),
        };
        Tensor::cat(products, 0)
    }

    /// The windows of one signal without dilation: a view, in which neighbouring rows share values.
    fn overlapping(&self, x: Tensor<3>) -> Tensor<2> {
        let [_, time, channels] = x.dims();
        x.reshape([1, time * channels]).unfold::<3, _>(1, self.spec.kernel * channels, self.spec.stride * channels).squeeze_dim(0)
    }

    /// Pieces of one signal, each of as many windows as fit a tile.
    fn tiles(&self, x: Tensor<3>, windows: usize) -> impl Iterator<Item = Tensor<3>> {
        let ConvSpec { kernel, stride, input, .. } = self.spec;
        let (tile, span) = ((TILE / (kernel * input)).max(LEAST_TILE), self.spec.span());
        (0..windows).step_by(tile).map(move |from| {
            let count = tile.min(windows - from);
            x.clone().narrow(1, from * stride, (count - 1) * stride + span)
        })
    }

    fn patches(&self, x: Tensor<3>) -> Tensor<2> {
        patches(x, self.spec.kernel, self.spec.stride, self.spec.dilation)
    }

    /// One product a group.
    fn grouped(&self, x: Tensor<3>, weight: &Tensor<3>) -> Tensor<2> {
        let ConvSpec { input, output, kernel, groups, .. } = self.spec;
        let patches = self.patches(x);
        let windows = patches.dims()[0];
        let taps = patches.reshape([windows, kernel, groups, input / groups]);
        let taps = taps.permute([2, 0, 1, 3]).reshape([groups, windows, kernel * input / groups]);
        taps.matmul(weight.clone()).swap_dims(0, 1).reshape([windows, output])
    }

    /// A weighted sum over the taps of each channel.
    fn depthwise(&self, x: Tensor<3>, weight: &Tensor<2>) -> Tensor<3> {
        let [rows, _, channels] = x.dims();
        let patches = self.patches(x);
        let windows = patches.dims()[0] / rows;
        let taps = patches.reshape([rows, windows, self.spec.kernel, channels]);
        (taps * weight.clone().transpose().unsqueeze::<4>()).sum_dim(2).squeeze_dim(2)
    }
}

/// `[groups, out, in, taps]` to `[groups, taps, in, out]`.
fn taps_first(weight: &[f32], [groups, output, input, kernel]: [usize; 4]) -> Vec<f32> {
    let mut taps = vec![0.0; weight.len()];
    let mut values = weight.iter();
    for group in 0..groups {
        for out in 0..output {
            for channel in 0..input {
                for (tap, value) in (0..kernel).zip(values.by_ref()) {
                    taps[((group * kernel + tap) * input + channel) * output + out] = *value;
                }
            }
        }
    }
    taps
}
