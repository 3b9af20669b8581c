//! What a checkpoint of a family consists of: so that the host can say what of one would load, and make one of random numbers.

use serde::{Deserialize, Serialize};

/// The files of a checkpoint and the tensors in them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CheckpointLayout {
    /// Files that must be there beside the weights, relative to the directory.
    pub files: Vec<String>,
    /// The weights.
    pub weights: Vec<WeightFile>,
}

/// A file of weights.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct WeightFile {
    /// A `.safetensors` file, relative to the directory. Where it is absent, the shards of `<path>.index.json` stand for it.
    pub path: String,
    /// Every tensor that may be in it.
    pub tensors: Vec<TensorLayout>,
}

/// A tensor of a checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TensorLayout {
    /// Its name.
    pub name: String,
    /// Its shape.
    pub shape: Vec<u64>,
    /// The element type that published files have: `BF16` or `F32`. Others load too if the family converts them.
    pub dtype: String,
    /// Whether the family needs it.
    pub is_required: bool,
    /// What it is filled with where there is no trained one.
    pub fill: Fill,
}

/// Random numbers that make a network without training whose numbers stay in range.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fill {
    /// Around `mean` with this standard deviation, never more than four of them away.
    Normal {
        /// The middle.
        mean: f32,
        /// The standard deviation.
        deviation: f32,
    },
    /// Evenly from `low` to `high`.
    Uniform {
        /// The least.
        low: f32,
        /// The greatest.
        high: f32,
    },
}

/// Which checkpoint is to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlueprintRequest {
    /// One of the family's published variants, as it spells them.
    pub variant: String,
    /// The same names with small shapes: for trying the path without a GPU.
    pub is_tiny: bool,
}

/// A checkpoint without its numbers.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Blueprint {
    /// Configuration and tokenizer.
    pub texts: Vec<TextFile>,
    /// The weights to fill.
    pub weights: Vec<WeightFile>,
}

/// A file of text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextFile {
    /// Relative to the directory.
    pub path: String,
    /// All of it.
    pub content: String,
}

impl WeightFile {
    /// Numbers in all tensors.
    pub fn numbers(&self) -> u64 {
        self.tensors.iter().map(TensorLayout::numbers).fold(0, u64::saturating_add)
    }
}

impl TensorLayout {
    /// Numbers in it.
    pub fn numbers(&self) -> u64 {
        self.shape.iter().copied().fold(1, u64::saturating_mul)
    }
}
