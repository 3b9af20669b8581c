//! The state of a step: the last inputs of every layer that looks back, one row a stream.

use burn::tensor::Tensor;

/// Hands the layers of a network their part of the state in the order in which they run, and collects the next state.
#[derive(Debug)]
pub struct Carry {
    /// `[rows, values]`.
    old: Tensor<2>,
    at: usize,
    next: Vec<Tensor<2>>,
}

impl Carry {
    /// Begins a step with the state `[rows, values]` that the last one left, or zeros at the start of streams.
    pub fn new(old: Tensor<2>) -> Self {
        Self { old, at: 0, next: Vec::new() }
    }

    /// Puts the layer's last `keep` inputs before `x` and keeps the last `keep` of both for the next step.
    ///
    /// # Shapes
    /// - `x`: `[rows, time, channels]`, result: `[rows, keep + time, channels]`
    pub fn extend(&mut self, x: Tensor<3>, keep: usize) -> Tensor<3> {
        if keep == 0 {
            return x;
        }
        let [rows, time, channels] = x.dims();
        let width = keep * channels;
        let before = self.old.clone().narrow(1, self.at, width).reshape([rows, keep, channels]);
        let joined = Tensor::cat(vec![before, x], 1);
        self.next.push(joined.clone().narrow(1, time, keep).reshape([rows, width]));
        self.at += width;
        joined
    }

    /// The state for the next step, `[rows, values]`.
    pub fn finish(self) -> Tensor<2> {
        debug_assert_eq!(self.at, self.old.dims()[1], "every layer took its part of the state");
        if self.next.is_empty() { self.old } else { Tensor::cat(self.next, 1) }
    }
}
