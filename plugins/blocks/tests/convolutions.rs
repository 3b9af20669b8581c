//! The convolution engine against Burn's own convolutions, and its pieces against the whole.

mod common;

use burn::tensor::module::{conv_transpose1d, conv1d};
use burn::tensor::ops::{ConvOptions, ConvTransposeOptions, PadMode as BurnPad};
use burn::tensor::{Device, Tensor};
use common::{Random, gap, tensor, values};
use omni_blocks::conv::{Carry, Conv, ConvSpec, ConvTransposed, Pad, PadMode};
use proptest::prelude::*;

/// A convolution with random weights, and the same one as Burn takes it.
struct Case {
    spec: ConvSpec,
    weight: Vec<f32>,
    bias: Vec<f32>,
}

impl Case {
    fn new(spec: ConvSpec, weights: usize) -> Self {
        let mut random = Random(spec.kernel as u64 + 31 * spec.output as u64);
        Self { spec, weight: random.many(weights), bias: random.many(spec.output) }
    }

    fn conv(&self) -> Conv {
        Conv::new(self.spec, &self.weight, Some(self.bias.clone()), &Device::flex())
    }

    fn burn(&self, x: Tensor<3>) -> Tensor<3> {
        let ConvSpec { input, output, kernel, stride, dilation, groups } = self.spec;
        let weight = tensor(self.weight.clone(), [output, input / groups, kernel]);
        let bias = tensor(self.bias.clone(), [output]);
        conv1d(x.swap_dims(1, 2), weight, Some(bias), ConvOptions::new([stride], [0], [dilation], groups)).swap_dims(1, 2)
    }

    fn transposed(&self) -> ConvTransposed {
        ConvTransposed::new(self.spec, &self.weight, Some(self.bias.clone()), &Device::flex())
    }

    fn burn_transposed(&self, x: Tensor<3>) -> Tensor<3> {
        let ConvSpec { input, output, kernel, stride, groups, .. } = self.spec;
        let weight = tensor(self.weight.clone(), [input, output / groups, kernel]);
        let bias = tensor(self.bias.clone(), [output]);
        let options = ConvTransposeOptions::new([stride], [0], [0], [1], groups);
        conv_transpose1d(x.swap_dims(1, 2), weight, Some(bias), options).swap_dims(1, 2)
    }
}

fn signal(rows: usize, time: usize, channels: usize) -> Tensor<3> {
    tensor(Random(time as u64).many(rows * time * channels), [rows, time, channels])
}

/// Groups, channels of a group in and out.
fn channels() -> impl Strategy<Value = [usize; 3]> {
    prop_oneof![(1..=3usize, 1..=3usize, 1..=3usize).prop_map(|(g, i, o)| [g, i, o]), (2..=5usize).prop_map(|g| [g, 1, 1])]
}

fn spec() -> impl Strategy<Value = ConvSpec> {
    (channels(), 1..=7usize, 1..=4usize, 1..=4usize).prop_map(|([groups, i, o], kernel, stride, dilation)| ConvSpec {
        input: groups * i,
        output: groups * o,
        kernel,
        stride,
        dilation,
        groups,
    })
}

fn mode() -> impl Strategy<Value = (PadMode, BurnPad)> {
    prop_oneof![
        Just((PadMode::Zero, BurnPad::Constant(0.0))),
        Just((PadMode::Edge, BurnPad::Edge)),
        Just((PadMode::Reflect, BurnPad::Reflect))
    ]
}

/// Runs a stream in pieces, each of as many strides.
fn pushed(pieces: &[usize], x: &Tensor<3>, carried: usize, push: impl Fn(&mut Carry, Tensor<3>) -> Tensor<3>) -> Tensor<3> {
    let [rows, time, _] = x.dims();
    let (mut at, mut out) = (0, Vec::new());
    let mut state = Tensor::zeros([rows, carried], &x.device());
    for piece in pieces.iter().cycle() {
        let piece = (*piece).min(time - at);
        let mut carry = Carry::new(state);
        out.push(push(&mut carry, x.clone().narrow(1, at, piece)));
        state = carry.finish();
        at += piece;
        if at == time {
            break;
        }
    }
    Tensor::cat(out, 1)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whole_signals_are_convolved_as_by_burn(spec in spec(), (mode, burn) in mode(), left in 0..4usize, right in 0..4usize, more in 0..9usize) {
        let case = Case::new(spec, spec.output * spec.input / spec.groups * spec.kernel);
        let x = signal(2, spec.span().max(4) + more, spec.input);
        let expected = case.burn(x.clone().pad([(left, right), (0, 0)], burn));
        let found = case.conv().whole(x, Pad { left, right, mode });
        prop_assert_eq!(found.dims(), expected.dims());
        prop_assert!(gap(&values(found), &values(expected)) < 1e-5);
    }

    #[test]
    fn pieces_are_the_whole(spec in spec(), windows in 1..12usize, pieces in proptest::collection::vec(1..4usize, 1..4)) {
        prop_assume!(spec.span() >= spec.stride);
        let case = Case::new(spec, spec.output * spec.input / spec.groups * spec.kernel);
        let x = signal(2, windows * spec.stride, spec.input);
        let expected = case.burn(x.clone().pad([(spec.span() - spec.stride, 0), (0, 0)], BurnPad::Constant(0.0)));
        let pieces: Vec<usize> = pieces.into_iter().map(|piece| piece * spec.stride).collect();
        let conv = case.conv();
        let found = pushed(&pieces, &x, conv.carried(), |carry, x| conv.push(carry, x));
        prop_assert_eq!(found.dims(), expected.dims());
        prop_assert!(gap(&values(found), &values(expected)) < 1e-5);
    }

    #[test]
    fn transposed_signals_are_those_of_burn(
        [groups, i, o] in channels(), kernel in 1..=9usize, stride in 1..=4usize, time in 1..9usize, left in 0..3usize, right in 0..3usize
    ) {
        let spec = ConvSpec { input: groups * i, output: groups * o, kernel, stride, dilation: 1, groups };
        let full = (time - 1) * stride + kernel;
        prop_assume!(left + right < full && kernel >= stride);
        let case = Case::new(spec, spec.input * o * kernel);
        let x = signal(2, time, spec.input);
        let expected = case.burn_transposed(x.clone());
        let conv = case.transposed();
        let found = conv.whole(x.clone(), left, right);
        prop_assert!(gap(&values(found), &values(expected.clone().narrow(1, left, full - left - right))) < 1e-5);
        let causal = pushed(&[2, 1, 3], &x, conv.carried(), |carry, x| conv.push(carry, x));
        prop_assert_eq!(causal.dims(), [2, time * stride, spec.output]);
        prop_assert!(gap(&values(causal), &values(expected.narrow(1, 0, time * stride))) < 1e-5);
    }
}

#[test]
fn the_end_of_a_stream_completes_its_last_window_with_zeros() {
    let case = Case::new(ConvSpec::full(2, 3, 4).stride(2), 3 * 2 * 4);
    let conv = case.conv();
    let x = signal(1, 5, 2);
    let expected = case.burn(x.clone().pad([(2, 1), (0, 0)], BurnPad::Constant(0.0)));
    let found = pushed(&[2], &x, conv.carried(), |carry, x| conv.push(carry, x));
    assert!(gap(&values(found), &values(expected)) < 1e-6);
}

/// Long enough that the processor takes a dilated signal in several tiles, the last of one window, and reads an undilated one in place.
#[test]
fn long_signals_are_convolved_as_by_burn_and_alone_as_in_company() {
    for dilation in [1, 3] {
        let case = Case::new(ConvSpec::full(64, 8, 7).dilation(dilation), 8 * 64 * 7);
        let conv = case.conv();
        let tile = (1 << 18) / (7 * 64);
        let x = signal(2, 2 * tile + 1, 64);
        let expected = values(case.burn(x.clone().pad([(6 * dilation, 0), (0, 0)], BurnPad::Constant(0.0))));
        let push = |x: Tensor<3>| {
            let state = Tensor::zeros([x.dims()[0], conv.carried()], &x.device());
            values(conv.push(&mut Carry::new(state), x))
        };
        let found = push(x.clone());
        assert!(gap(&found, &expected) < 1e-4, "{}", gap(&found, &expected));
        let alone: Vec<f32> = (0..2).flat_map(|row| push(x.clone().narrow(0, row, 1))).collect();
        assert!(found == alone);
    }
}
