//! The small pre-norm transformers inside codecs: full heads, rotary positions, a window into the past.
//!
//! Layer scales are part of the output matrices and the attention's scale is part of the queries' matrix, so neither costs a step
//! anything. Keys are carried after their rotation, at absolute positions that are counted in 64 bits.

use burn::tensor::activation::{gelu, silu, softmax};
use burn::tensor::{Device, Tensor, TensorData};

use crate::conv::{Carry, Dense};
use crate::load::{LoadError, Reader};
use crate::nn::{Norm, NormConfig};

/// Queries that attend at once; bounds the memory of long signals.
const QUERIES: usize = 512;

/// Which feed-forward part a transformer uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MlpKind {
    /// `down(silu(gate x) * up x)`, tensors `mlp.gate_proj`, `mlp.up_proj`, `mlp.down_proj`.
    SwiGlu,
    /// `fc2(gelu(fc1 x))` with the exact GELU, tensors `mlp.fc1`, `mlp.fc2`.
    Gelu,
}

/// The shape of a transformer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TransformerSpec {
    /// Channels in and out.
    pub width: usize,
    /// Layers.
    pub layers: usize,
    /// Heads of queries, keys and values.
    pub heads: usize,
    /// Channels a head, even.
    pub head: usize,
    /// Channels inside the feed-forward part.
    pub hidden: usize,
    /// Normalisation.
    pub norm: NormConfig,
    /// Feed-forward part.
    pub mlp: MlpKind,
    /// Base of the rotary frequencies.
    pub theta: f64,
    /// How many positions back a query sees; `None` for all.
    pub past: Option<usize>,
}

/// Layers without a final normalisation.
#[derive(Debug, Clone)]
pub struct Transformer {
    spec: TransformerSpec,
    layers: Vec<Layer>,
}

#[derive(Debug, Clone)]
struct Layer {
    norm1: Norm,
    /// Queries, keys and values, `[width, 3 * heads * head]`.
    qkv: Dense,
    out: Dense,
    norm2: Norm,
    mlp: Mlp,
}

#[derive(Debug, Clone)]
enum Mlp {
    /// Gate and up in one matrix.
    SwiGlu {
        gate_up: Dense,
        down: Dense,
    },
    Gelu {
        up: Dense,
        down: Dense,
    },
}

impl Transformer {
    /// Reads `layers.{n}.*` with the names that transformers use, no biases but a layer normalisation's.
    pub fn load(reader: &Reader, spec: TransformerSpec) -> Result<Self, LoadError> {
        let layers = (0..spec.layers).map(|layer| Layer::load(&reader.part(format_args!("layers.{layer}")), &spec));
        Ok(Self { spec, layers: layers.collect::<Result<_, _>>()? })
    }

    /// Values of state a stream: keys and values of every layer. Without a window nothing is carried.
    pub fn carried(&self) -> usize {
        self.spec.layers * 2 * self.spec.past.unwrap_or(0) * self.spec.heads * self.spec.head
    }

    /// The next piece of streams, of which row `r` begins at position `first[r]`.
    ///
    /// # Shapes
    /// - `x` and the result: `[rows, time, width]`
    pub fn push(&self, carry: &mut Carry, x: Tensor<3>, first: &[i64]) -> Tensor<3> {
        let places = Places::new(first, x.dims()[1], &self.spec, &x.device());
        self.layers.iter().fold(x, |x, layer| layer.forward(carry, x, &places, &self.spec))
    }
}

impl Layer {
    fn load(reader: &Reader, spec: &TransformerSpec) -> Result<Self, LoadError> {
        let (width, inner) = (spec.width, spec.heads * spec.head);
        let mut qkv = reader.values("self_attn.q_proj.weight", &[inner, width])?;
        let scale = 1.0 / (spec.head as f32).sqrt();
        qkv.iter_mut().for_each(|weight| *weight *= scale);
        qkv.extend(reader.values("self_attn.k_proj.weight", &[inner, width])?);
        qkv.extend(reader.values("self_attn.v_proj.weight", &[inner, width])?);
        Ok(Self {
            norm1: spec.norm.load(reader, "input_layernorm", width)?,
            qkv: Dense::new(&qkv, [3 * inner, width], None, reader.device()),
            out: scaled_dense(reader, "self_attn.o_proj", "self_attn_layer_scale", inner, width)?,
            norm2: spec.norm.load(reader, "post_attention_layernorm", width)?,
            mlp: Mlp::load(reader, spec)?,
        })
    }

    fn forward(&self, carry: &mut Carry, x: Tensor<3>, places: &Places, spec: &TransformerSpec) -> Tensor<3> {
        let x = x.clone() + self.attend(carry, self.norm1.forward(x), places, spec);
        x.clone() + self.mlp.forward(self.norm2.forward(x))
    }

    fn attend(&self, carry: &mut Carry, h: Tensor<3>, places: &Places, spec: &TransformerSpec) -> Tensor<3> {
        let [rows, time, _] = h.dims();
        let inner = spec.heads * spec.head;
        let qkv = self.qkv.forward(h);
        let part = |i: usize| qkv.clone().narrow(2, i * inner, inner);
        let heads = |x: Tensor<3>| {
            let time = x.dims()[1];
            x.reshape([rows, time, spec.heads, spec.head])
        };
        let q = places.rotate(heads(part(0)));
        let k = places.rotate(heads(part(1))).reshape([rows, time, inner]);
        let past = spec.past.unwrap_or(0);
        let (k, v) = (heads(carry.extend(k, past)), heads(carry.extend(part(2), past)));
        let mixed = places.attend(q.swap_dims(1, 2), k.swap_dims(1, 2), v.swap_dims(1, 2));
        self.out.forward(mixed.swap_dims(1, 2).reshape([rows, time, inner]))
    }
}

impl Mlp {
    fn load(reader: &Reader, spec: &TransformerSpec) -> Result<Self, LoadError> {
        let (width, hidden) = (spec.width, spec.hidden);
        Ok(match spec.mlp {
            MlpKind::SwiGlu => {
                let mut rows = reader.values("mlp.gate_proj.weight", &[hidden, width])?;
                rows.extend(reader.values("mlp.up_proj.weight", &[hidden, width])?);
                let down = scaled_dense(reader, "mlp.down_proj", "mlp_layer_scale", hidden, width)?;
                Self::SwiGlu { gate_up: Dense::new(&rows, [2 * hidden, width], None, reader.device()), down }
            }
            MlpKind::Gelu => Self::Gelu {
                up: Dense::load(reader, "mlp.fc1", width, hidden, false)?,
                down: scaled_dense(reader, "mlp.fc2", "mlp_layer_scale", hidden, width)?,
            },
        })
    }

    fn forward(&self, h: Tensor<3>) -> Tensor<3> {
        match self {
            Self::SwiGlu { gate_up, down } => {
                let both = gate_up.forward(h);
                let hidden = both.dims()[2] / 2;
                down.forward(silu(both.clone().narrow(2, 0, hidden)) * both.narrow(2, hidden, hidden))
            }
            Self::Gelu { up, down } => down.forward(gelu(up.forward(h))),
        }
    }
}

/// A dense layer without bias whose outputs are scaled by `{scale}.scale`.
fn scaled_dense(reader: &Reader, name: &str, scale: &str, input: usize, output: usize) -> Result<Dense, LoadError> {
    let mut rows = reader.values(&format!("{name}.weight"), &[output, input])?;
    let scale = reader.values(&format!("{scale}.scale"), &[output])?;
    for (row, scale) in rows.chunks_exact_mut(input).zip(scale) {
        row.iter_mut().for_each(|weight| *weight *= scale);
    }
    Ok(Dense::new(&rows, [output, input], None, reader.device()))
}

/// What the layers of one step share: rotations and who sees whom.
struct Places {
    /// `[rows, time, 1, head / 2]`.
    cos: Tensor<4>,
    sin: Tensor<4>,
    /// `[rows, 1, time, keys]`: 0 where a query sees a key, minus infinity elsewhere.
    mask: Tensor<4>,
}

impl Places {
    fn new(first: &[i64], time: usize, spec: &TransformerSpec, device: &Device) -> Self {
        let half = spec.head / 2;
        let positions: Vec<i64> = first.iter().flat_map(|first| *first..*first + time as i64).collect();
        let frequencies: Vec<f64> = (0..half).map(|i| spec.theta.powf(-((2 * i) as f64) / spec.head as f64)).collect();
        let table = |part: fn(f64) -> f64| {
            let values = positions.iter().flat_map(|at| frequencies.iter().map(move |f| part(*at as f64 * f) as f32));
            Tensor::from_data(TensorData::new(values.collect::<Vec<_>>(), [first.len(), time, 1, half]), device)
        };
        let carried = spec.past.unwrap_or(0);
        let mask = TensorData::new(mask(first, time, carried, spec.past), [first.len(), 1, time, carried + time]);
        Self { cos: table(f64::cos), sin: table(f64::sin), mask: Tensor::from_data(mask, device) }
    }

    /// Rotates the two halves of each head against each other.
    ///
    /// # Shapes
    /// - `x` and the result: `[rows, time, heads, head]`
    fn rotate(&self, x: Tensor<4>) -> Tensor<4> {
        let half = x.dims()[3] / 2;
        let (a, b) = (x.clone().narrow(3, 0, half), x.narrow(3, half, half));
        let turned = [a.clone() * self.cos.clone() - b.clone() * self.sin.clone(), b * self.cos.clone() + a * self.sin.clone()];
        Tensor::cat(turned.to_vec(), 3)
    }

    /// # Shapes
    /// - `q`: `[rows, heads, time, head]`, `k` and `v`: `[rows, heads, keys, head]`, result: as `q`
    fn attend(&self, q: Tensor<4>, k: Tensor<4>, v: Tensor<4>) -> Tensor<4> {
        let (time, k) = (q.dims()[2], k.swap_dims(2, 3));
        let block = |from: usize| {
            let count = QUERIES.min(time - from);
            let scores = q.clone().narrow(2, from, count).matmul(k.clone()) + self.mask.clone().narrow(2, from, count);
            softmax(scores, 3).matmul(v.clone())
        };
        Tensor::cat((0..time).step_by(QUERIES).map(block).collect(), 2)
    }
}

/// Additive mask `[rows, time, carried + time]`: key `j` stands at position `first - carried + j`, and those before position 0 are no keys.
fn mask(first: &[i64], time: usize, carried: usize, past: Option<usize>) -> Vec<f32> {
    let keys = carried + time;
    let mut mask = Vec::with_capacity(first.len() * time * keys);
    for first in first {
        for query in 0..time {
            let last = query + carried;
            let oldest = past.map_or(0, |past| last.saturating_sub(past));
            let oldest = oldest.max(carried.saturating_sub(usize::try_from(*first).unwrap_or(usize::MAX)));
            mask.extend((0..keys).map(|key| if (oldest..=last).contains(&key) { 0.0 } else { f32::NEG_INFINITY }));
        }
    }
    mask
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(first: i64, time: usize, carried: usize, past: Option<usize>) -> Vec<Vec<usize>> {
        let rows = mask(&[first], time, carried, past);
        rows.chunks(carried + time).map(|row| (0..row.len()).filter(|key| row[*key] == 0.0).collect()).collect()
    }

    #[test]
    fn a_query_sees_itself_and_its_window() {
        assert_eq!(seen(10, 2, 2, Some(2)), [vec![0, 1, 2], vec![1, 2, 3]]);
        assert_eq!(seen(0, 3, 0, None), [vec![0], vec![0, 1], vec![0, 1, 2]]);
    }

    #[test]
    fn a_stream_that_begins_has_a_shorter_window() {
        assert_eq!(seen(0, 2, 2, Some(2)), [vec![2], vec![2, 3]]);
        assert_eq!(seen(1, 2, 2, Some(2)), [vec![1, 2], vec![1, 2, 3]]);
    }

    #[test]
    fn the_published_window_has_72_keys() {
        assert_eq!(seen(1000, 1, 71, Some(71))[0].len(), 72);
        assert_eq!(seen(70, 1, 71, Some(71))[0].len(), 71);
    }
}
