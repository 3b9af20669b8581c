//! Residual quantisation: each codebook codes what the ones before it left.

use burn::tensor::{Int, Tensor};

use super::codebook::Codebook;
use crate::conv::Dense;
use crate::load::{LoadError, Reader};

/// The shape of a quantiser and how its tensors are called.
#[derive(Debug, Clone, Copy)]
pub struct RvqSpec<'a> {
    /// Codebooks to read.
    pub codebooks: usize,
    /// Vectors a codebook.
    pub entries: usize,
    /// Width of the vectors.
    pub width: usize,
    /// Channels outside the projections.
    pub outer: usize,
    /// Where codebook `n` lies: `{before}{n}{after}` holds its sums and usages.
    pub before: &'a str,
    /// See `before`.
    pub after: &'a str,
    /// The name of a codebook's sums.
    pub sums: &'a str,
}

/// Codebooks between two projections without bias, `input_proj` and `output_proj`, stored as convolutions over single inputs.
#[derive(Debug, Clone)]
pub struct Rvq {
    input: Dense,
    stages: Vec<Codebook>,
    output: Dense,
}

impl Rvq {
    /// Reads a quantiser.
    pub fn load(reader: &Reader, spec: &RvqSpec) -> Result<Self, LoadError> {
        let (outer, width) = (spec.outer, spec.width);
        let input = reader.values("input_proj.weight", &[width, outer, 1])?;
        let output = reader.values("output_proj.weight", &[outer, width, 1])?;
        let stage = |n| Codebook::load(&reader.part(format_args!("{}{n}{}", spec.before, spec.after)), spec.sums, spec.entries, width);
        Ok(Self {
            input: Dense::new(&input, [width, outer], None, reader.device()),
            stages: (0..spec.codebooks).map(stage).collect::<Result<_, _>>()?,
            output: Dense::new(&output, [outer, width], None, reader.device()),
        })
    }

    /// Codebooks.
    pub fn codebooks(&self) -> usize {
        self.stages.len()
    }

    /// Codes vectors.
    ///
    /// # Shapes
    /// - `x`: `[rows, time, outer]`, result: `[rows, time, codebooks]`
    pub fn encode(&self, x: Tensor<3>) -> Tensor<3, Int> {
        let [rows, time, _] = x.dims();
        let x = self.input.forward(x);
        let mut left = x.reshape([(rows * time) as i64, -1]);
        let mut codes = Vec::with_capacity(self.stages.len());
        for stage in &self.stages {
            let nearest = stage.nearest(left.clone());
            left = left - stage.table().clone().select(0, nearest.clone());
            codes.push(nearest.reshape([rows, time, 1]));
        }
        Tensor::cat(codes, 2)
    }

    /// The vectors that codes stand for. Every code must be an entry of its codebook.
    ///
    /// # Shapes
    /// - `codes`: `[rows, time, codebooks]`, result: `[rows, time, outer]`
    pub fn decode(&self, codes: Tensor<3, Int>) -> Tensor<3> {
        let [rows, time, _] = codes.dims();
        let vectors = self.stages.iter().enumerate().map(|(n, stage)| {
            let ids = codes.clone().narrow(2, n, 1).reshape([rows * time]);
            stage.table().clone().select(0, ids)
        });
        let width = self.stages.first().map_or(0, |stage| stage.table().dims()[1]);
        let sum = vectors.reduce(|sum, vectors| sum + vectors);
        let sum = sum.unwrap_or_else(|| Tensor::zeros([rows * time, width], &codes.device()));
        self.output.forward(sum.reshape([rows, time, width]))
    }

    /// Every codebook with the output projection applied, `[entries, outer]` each: decoding is then a sum of their rows.
    pub fn folded(&self) -> Vec<Tensor<2>> {
        self.stages.iter().map(|stage| stage.table().clone().matmul(self.output.weight().clone())).collect()
    }
}

/// A semantic and an acoustic quantiser, both of the same input: the first codebooks are the semantic one's.
#[derive(Debug, Clone)]
pub struct SplitRvq {
    /// Codes the content.
    pub semantic: Rvq,
    /// Codes the sound.
    pub acoustic: Rvq,
}

impl SplitRvq {
    /// Codebooks of both.
    pub fn codebooks(&self) -> usize {
        self.semantic.codebooks() + self.acoustic.codebooks()
    }

    /// # Shapes
    /// - `x`: `[rows, time, outer]`, result: `[rows, time, codebooks]`
    pub fn encode(&self, x: Tensor<3>) -> Tensor<3, Int> {
        Tensor::cat(vec![self.semantic.encode(x.clone()), self.acoustic.encode(x)], 2)
    }

    /// # Shapes
    /// - `codes`: `[rows, time, codebooks]`, result: `[rows, time, outer]`
    pub fn decode(&self, codes: Tensor<3, Int>) -> Tensor<3> {
        let first = self.semantic.codebooks();
        let semantic = self.semantic.decode(codes.clone().narrow(2, 0, first));
        semantic + self.acoustic.decode(codes.narrow(2, first, self.acoustic.codebooks()))
    }

    /// The folded tables of both under one another, `[codebooks * entries, outer]`: see [`Rvq::folded`].
    pub fn folded(&self) -> Tensor<2> {
        let mut tables = self.semantic.folded();
        tables.extend(self.acoustic.folded());
        Tensor::cat(tables, 0)
    }
}
