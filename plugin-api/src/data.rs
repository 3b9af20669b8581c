//! What travels between stages, and the named tensors of a prompt or a voice.

use serde::{Deserialize, Serialize};

/// The kind of data that a stage takes or gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DataKind {
    /// The prompt that `prepare` made; only a first stage takes it.
    Prompt,
    /// Codec codes, `i32 [frames, codebooks]`.
    Codes,
    /// Token ids, `i32 [n]`.
    Tokens,
    /// Continuous latents, `f32 [n, patch, width]`.
    Latents,
    /// Audio, `f32 [samples, channels]`, interleaved, full scale 1.0.
    Pcm,
    /// An opaque id of tensors that stay inside the plugin, between stages on one device.
    Handle,
}

/// One chunk of data. It carries new units only, never context: a stage keeps the state it needs.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    /// Codec codes, row-major `[frames, codebooks]`.
    Codes {
        /// The codes, frame by frame.
        codes: Vec<i32>,
        /// Codebooks a frame, at least 1.
        codebooks: usize,
    },
    /// Token ids, `[n]`.
    Tokens(Vec<i32>),
    /// Latents, row-major `[n, patch, width]`.
    Latents {
        /// The values, unit by unit.
        values: Vec<f32>,
        /// Latent frames a unit, at least 1.
        patch: usize,
        /// Width of a latent frame, at least 1.
        width: usize,
    },
    /// Audio samples, interleaved `[samples, channels]`.
    Pcm {
        /// The samples, full scale 1.0.
        samples: Vec<f32>,
        /// Channels, at least 1.
        channels: usize,
    },
    /// Tensors that stay in the plugin under this id; `units` says how many units they hold.
    Handle {
        /// The plugin's own name for them.
        id: u64,
        /// Units (frames, tokens, latents) behind the id.
        units: usize,
    },
}

impl Data {
    /// The kind of this chunk.
    pub fn kind(&self) -> DataKind {
        match self {
            Data::Codes { .. } => DataKind::Codes,
            Data::Tokens(_) => DataKind::Tokens,
            Data::Latents { .. } => DataKind::Latents,
            Data::Pcm { .. } => DataKind::Pcm,
            Data::Handle { .. } => DataKind::Handle,
        }
    }

    /// How many units it holds: frames, tokens, latents or samples a channel.
    pub fn units(&self) -> usize {
        match self {
            Data::Codes { codes, codebooks } => codes.len() / (*codebooks).max(1),
            Data::Tokens(tokens) => tokens.len(),
            Data::Latents { values, patch, width } => values.len() / (patch * width).max(1),
            Data::Pcm { samples, channels } => samples.len() / (*channels).max(1),
            Data::Handle { units, .. } => *units,
        }
    }

    /// Whether the length agrees with the shape it claims.
    pub fn is_well_formed(&self) -> bool {
        let whole = |len: usize, unit: usize| unit > 0 && len.is_multiple_of(unit);
        match self {
            Data::Codes { codes, codebooks } => whole(codes.len(), *codebooks),
            Data::Latents { values, patch, width } => whole(values.len(), patch.saturating_mul(*width)),
            Data::Pcm { samples, channels } => whole(samples.len(), *channels),
            Data::Tokens(_) | Data::Handle { .. } => true,
        }
    }
}

/// The values of a [`NamedTensor`].
#[derive(Debug, Clone, PartialEq)]
pub enum TensorValues {
    /// 32-bit floats.
    F32(Vec<f32>),
    /// 32-bit integers.
    I32(Vec<i32>),
}

impl TensorValues {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            TensorValues::F32(values) => values.len(),
            TensorValues::I32(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A tensor with a name, row-major: what the host stores of a voice and what a prompt carries.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedTensor {
    /// Its name, unique within the set.
    pub name: String,
    /// Its shape; the product is the number of values.
    pub shape: Vec<usize>,
    /// Its values.
    pub values: TensorValues,
}

impl NamedTensor {
    /// A float tensor.
    pub fn f32(name: impl Into<String>, shape: Vec<usize>, values: Vec<f32>) -> Self {
        Self { name: name.into(), shape, values: TensorValues::F32(values) }
    }

    /// Whether every value is a number.
    pub fn is_finite(&self) -> bool {
        match &self.values {
            TensorValues::F32(values) => values.iter().all(|value| value.is_finite()),
            TensorValues::I32(_) => true,
        }
    }

    /// An integer tensor.
    pub fn i32(name: impl Into<String>, shape: Vec<usize>, values: Vec<i32>) -> Self {
        Self { name: name.into(), shape, values: TensorValues::I32(values) }
    }
}

#[cfg(test)]
mod tests {
    use super::Data;

    #[test]
    fn a_chunk_that_does_not_fill_its_shape_is_malformed() {
        assert!(Data::Codes { codes: vec![1, 2, 3, 4], codebooks: 2 }.is_well_formed());
        assert!(!Data::Codes { codes: vec![1, 2, 3], codebooks: 2 }.is_well_formed());
        assert!(!Data::Codes { codes: vec![], codebooks: 0 }.is_well_formed());
        assert!(!Data::Latents { values: vec![0.0; 7], patch: 2, width: 2 }.is_well_formed());
        assert!(!Data::Latents { values: vec![0.0; 8], patch: usize::MAX, width: 2 }.is_well_formed());
        assert_eq!(Data::Latents { values: vec![0.0; 8], patch: 2, width: 2 }.units(), 2);
    }
}
