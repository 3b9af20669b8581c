//! Transposed convolutions: each input becomes `stride` outputs.

use burn::tensor::{Device, Tensor};

use super::carry::Carry;
use super::causal::{Conv, ConvSpec};
use super::pad::{Pad, PadMode};
use crate::load::{LoadError, Reader};

/// A transposed convolution, computed as a plain one.
///
/// Output `t * stride + phase` is the sum over taps `i` of input `t - i` times kernel value `i * stride + phase`: a convolution over
/// `ceil(kernel / stride)` inputs whose channels are the phases' channels. The kernel's last taps may be missing; they are zeros.
#[derive(Debug, Clone)]
pub struct ConvTransposed {
    conv: Conv,
    stride: usize,
    kernel: usize,
    output: usize,
    groups: usize,
}

impl ConvTransposed {
    /// Reads `{name}.weight` `[in, out / groups, kernel]`, and `{name}.bias` `[out]` if it has one. Of `spec`, the dilation is 1.
    pub fn load(reader: &Reader, name: &str, spec: ConvSpec, bias: bool) -> Result<Self, LoadError> {
        let ConvSpec { input, output, kernel, groups, .. } = spec;
        let weight = reader.values(&format!("{name}.weight"), &[input, output / groups, kernel])?;
        let bias = bias.then(|| reader.values(&format!("{name}.bias"), &[output])).transpose()?;
        Ok(Self::new(spec, &weight, bias, reader.device()))
    }

    /// From a weight `[in, out / groups, kernel]`.
    pub fn new(spec: ConvSpec, weight: &[f32], bias: Option<Vec<f32>>, device: &Device) -> Self {
        let ConvSpec { input, output, kernel, stride, groups, .. } = spec;
        let phases = ConvSpec { groups, ..ConvSpec::full(input, output * stride, kernel.div_ceil(stride)) };
        let bias = bias.map(|bias| phase_bias(&bias, stride, groups));
        Self { conv: Conv::new(phases, &phases_of(weight, spec), bias, device), stride, kernel, output, groups }
    }

    /// Values of state a stream.
    pub fn carried(&self) -> usize {
        self.conv.carried()
    }

    /// The next piece of streams, with the outputs that depend on later inputs cut: `kernel - stride` at the end of the signal.
    ///
    /// # Shapes
    /// - `x`: `[rows, time, in]`, result: `[rows, time * stride, out]`
    pub fn push(&self, carry: &mut Carry, x: Tensor<3>) -> Tensor<3> {
        self.interleaved(self.conv.push(carry, x))
    }

    /// A whole signal, without the first `left` and the last `right` of its `(time - 1) * stride + kernel` outputs.
    ///
    /// # Shapes
    /// - `x`: `[rows, time, in]`, result: `[rows, (time - 1) * stride + kernel - left - right, out]`
    pub fn whole(&self, x: Tensor<3>, left: usize, right: usize) -> Tensor<3> {
        let full = (x.dims()[1] - 1) * self.stride + self.kernel;
        let pad = Pad::both(self.conv.spec().kernel - 1, PadMode::Zero);
        self.interleaved(self.conv.whole(x, pad)).narrow(1, left, full - left - right)
    }

    /// `[rows, time, groups * stride * out / groups]` to `[rows, time * stride, out]`.
    fn interleaved(&self, y: Tensor<3>) -> Tensor<3> {
        let [rows, time, _] = y.dims();
        if self.groups > 1 {
            let parts = y.reshape([rows, time, self.groups, self.stride, self.output / self.groups]);
            return parts.swap_dims(2, 3).reshape([rows, time * self.stride, self.output]);
        }
        y.reshape([rows, time * self.stride, self.output])
    }
}

/// `[in, out / groups, kernel]` to `[groups * stride * out / groups, in / groups, taps]`, earlier inputs first.
fn phases_of(weight: &[f32], spec: ConvSpec) -> Vec<f32> {
    let ConvSpec { input, output, kernel, stride, groups, .. } = spec;
    let (inner, outer, taps) = (input / groups, output / groups, kernel.div_ceil(stride));
    let mut phases = vec![0.0; output * stride * inner * taps];
    for (at, value) in weight.iter().enumerate() {
        let (channel, out, place) = (at / (outer * kernel), at / kernel % outer, at % kernel);
        let (group, channel, tap) = (channel / inner, channel % inner, taps - 1 - place / stride);
        let row = (group * stride + place % stride) * outer + out;
        phases[(row * inner + channel) * taps + tap] = *value;
    }
    phases
}

/// The bias `[out]` once a phase, in the order of [`phases_of`].
fn phase_bias(bias: &[f32], stride: usize, groups: usize) -> Vec<f32> {
    bias.chunks(bias.len() / groups).flat_map(|group| group.repeat(stride)).collect()
}
