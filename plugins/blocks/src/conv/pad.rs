//! Values before and after a signal.

use burn::tensor::Tensor;
use burn::tensor::ops::PadMode as BurnPad;

/// What stands beyond the ends of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PadMode {
    /// Zeros.
    Zero,
    /// The first and the last value.
    Edge,
    /// The signal mirrored, its end values not repeated; the signal must be longer than the padding.
    Reflect,
}

/// Padding of a signal in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pad {
    /// Places before it.
    pub left: usize,
    /// Places after it.
    pub right: usize,
    /// What stands there.
    pub mode: PadMode,
}

impl Pad {
    /// The same number of places on both sides.
    pub fn both(places: usize, mode: PadMode) -> Self {
        Self { left: places, right: places, mode }
    }

    /// The shortest signal this padding is defined for.
    pub fn shortest(&self) -> usize {
        match self.mode {
            PadMode::Zero => 0,
            PadMode::Edge => 1,
            PadMode::Reflect => self.left.max(self.right) + 1,
        }
    }

    /// Pads `[rows, time, channels]`, which must not be shorter than [`Self::shortest`].
    pub fn apply(&self, x: Tensor<3>) -> Tensor<3> {
        if self.left + self.right == 0 {
            return x;
        }
        let mode = match self.mode {
            PadMode::Zero => BurnPad::Constant(0.0),
            PadMode::Edge => BurnPad::Edge,
            PadMode::Reflect => BurnPad::Reflect,
        };
        x.pad([(self.left, self.right), (0, 0)], mode)
    }
}
