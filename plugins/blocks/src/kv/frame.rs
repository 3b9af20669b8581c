//! Keys and values of the few steps inside a frame.

use burn::tensor::{Bool, DType, Device, Int, Tensor, TensorData};

use super::{KeysValues, KvShape, attend, causal};

/// One buffer a layer, `[R, Hkv, P, D]`, overwritten frame by frame and never cleared: a step sees only the steps of its own frame.
#[derive(Debug)]
pub struct FrameKv {
    layers: Vec<(Tensor<4>, Tensor<4>)>,
    /// The position of each step, `[R, P]`. Made once: a recorded frame may take nothing from the host.
    positions: Tensor<2, Int>,
    /// Steps of this frame that are done.
    done: usize,
    /// The mask of a first pass of several steps, by their number.
    prologue: Option<(usize, Tensor<3, Bool>)>,
}

impl FrameKv {
    /// Room for `rows` rows of `positions` steps.
    pub fn new(shape: KvShape, rows: usize, positions: usize, device: &Device, dtype: DType) -> Self {
        let buffer = || Tensor::zeros([rows, shape.heads, positions, shape.head_dim], (device, dtype));
        let steps: Vec<i64> = std::iter::repeat_n(0..positions as i64, rows).flatten().collect();
        Self {
            layers: (0..shape.layers).map(|_| (buffer(), buffer())).collect(),
            positions: Tensor::from_data(TensorData::new(steps, [rows, positions]), device),
            done: 0,
            prologue: None,
        }
    }

    /// Rows it has room for.
    pub fn rows(&self) -> usize {
        self.layers.first().map_or(0, |(keys, _)| keys.dims()[0])
    }

    /// A new frame begins.
    pub fn restart(&mut self) {
        self.done = 0;
    }

    /// The positions `[R, T]` of the next `time` steps.
    pub fn next_positions(&self, rows: usize, time: usize) -> Tensor<2, Int> {
        self.positions.clone().slice([0..rows, self.done..self.done + time])
    }

    /// What the next `time` steps do not see: only the first pass of a frame has several.
    fn hidden(&mut self, time: usize) -> Option<Tensor<3, Bool>> {
        if time == 1 {
            return None;
        }
        match &self.prologue {
            Some((steps, mask)) if *steps == time && self.done == 0 => Some(mask.clone()),
            _ => {
                let mask = causal(self.done, time, None, &self.positions.device())?;
                self.prologue = (self.done == 0).then(|| (time, mask.clone()));
                Some(mask)
            }
        }
    }

    /// `time` steps are done, in every layer.
    pub fn advance(&mut self, time: usize) {
        self.done += time;
    }
}

impl KeysValues for FrameKv {
    fn attend(&mut self, layer: usize, q: Tensor<4>, k: Tensor<4>, v: Tensor<4>) -> Tensor<4> {
        let [rows, heads, time, width] = k.dims();
        let (from, to) = (self.done, self.done + time);
        let hidden = self.hidden(time);
        let (keys, values) = &mut self.layers[layer];
        let keep = |buffer: &mut Tensor<4>, new: Tensor<4>| {
            buffer.inplace(|buffer| buffer.slice_assign([0..rows, 0..heads, from..to, 0..width], new));
            buffer.clone().slice([0..rows, 0..heads, 0..to, 0..width])
        };
        let (keys, values) = (keep(keys, k), keep(values, v));
        attend(q, keys, values, hidden)
    }
}
