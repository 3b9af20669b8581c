//! RMS and layer normalisation with the rounding of the models that were trained with them.

use burn::tensor::{DType, Tensor};

use crate::load::{LoadError, Reader};

/// Which normalisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NormKind {
    /// Divides by the root of the mean square.
    Rms,
    /// Subtracts the mean, divides by the standard deviation, adds a bias.
    Layer,
}

/// The shape of a [`Norm`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NormConfig {
    /// Which.
    pub kind: NormKind,
    /// Added to the variance.
    pub eps: f64,
}

/// Normalisation over the last axis: statistics in `f32`, the normalised value rounded to the type of the input, then the weight.
#[derive(Debug, Clone)]
pub struct Norm {
    weight: Tensor<1>,
    bias: Option<Tensor<1>>,
    config: NormConfig,
}

impl NormConfig {
    /// RMS normalisation.
    pub fn rms(eps: f64) -> Self {
        Self { kind: NormKind::Rms, eps }
    }

    /// Layer normalisation.
    pub fn layer(eps: f64) -> Self {
        Self { kind: NormKind::Layer, eps }
    }

    /// Reads `<name>.weight` and, for layer normalisation, `<name>.bias`, both `[width]`.
    pub fn load(self, reader: &Reader, name: &str, width: usize) -> Result<Norm, LoadError> {
        let weight = reader.tensor(&format!("{name}.weight"), [width])?;
        let bias = match self.kind {
            NormKind::Rms => None,
            NormKind::Layer => Some(reader.tensor(&format!("{name}.bias"), [width])?),
        };
        Ok(Norm { weight, bias, config: self })
    }
}

impl Norm {
    /// Normalises the last axis of a tensor of any rank.
    pub fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        let dtype = x.dtype();
        let x = x.cast(DType::F32);
        let x = match self.config.kind {
            NormKind::Rms => x,
            NormKind::Layer => x.clone() - x.mean_dim(D - 1),
        };
        let variance = x.clone().square().mean_dim(D - 1);
        let y = (x / variance.add_scalar(self.config.eps).sqrt()).cast(dtype) * self.weight.clone().unsqueeze();
        match &self.bias {
            Some(bias) => y + bias.clone().unsqueeze(),
            None => y,
        }
    }

    /// The weight, `[width]`.
    pub fn weight(&self) -> &Tensor<1> {
        &self.weight
    }

    /// What is added to the variance.
    pub fn eps(&self) -> f64 {
        self.config.eps
    }
}
