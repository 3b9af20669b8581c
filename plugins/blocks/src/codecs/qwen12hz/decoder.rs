//! Codes to samples.

use burn::tensor::{Device, Int, Tensor, TensorData};

use super::config::DecoderConfig;
use super::stack::Stack;
use crate::codecs::transformer::{MlpKind, Transformer, TransformerSpec};
use crate::conv::{Carry, Conv, ConvSpec, Dense, SlotError, Slots};
use crate::load::{LoadError, Reader};
use crate::nn::{Norm, NormConfig};
use crate::quant::{Rvq, RvqSpec, SplitRvq};

/// Frames computed at once: more only take more memory, of which a frame needs some 10 MB.
const PIECE: usize = 32;

/// Why a step cannot be made. The states are as they were before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The slots are wrong.
    #[error(transparent)]
    Slot(#[from] SlotError),
    /// The codes are not as many frames for every slot.
    #[error("{codes} codes are no frames of {codebooks} codes for {rows} streams")]
    Length {
        /// How many codes came.
        codes: usize,
        /// Codes a frame.
        codebooks: usize,
        /// How many streams they are for.
        rows: usize,
    },
    /// A code is not an entry of its codebook.
    #[error("code {code} in codebook {codebook} of frame {frame} is not one of {entries}")]
    Code {
        /// What came.
        code: i32,
        /// Its codebook.
        codebook: usize,
        /// The frame, over all streams in order.
        frame: usize,
        /// How many entries a codebook has.
        entries: usize,
    },
}

/// The decoder. It holds no stream: [`Slots`] do.
#[derive(Debug, Clone)]
pub struct Decoder {
    config: DecoderConfig,
    /// Every codebook after its output projection, under one another: `[codebooks * entries, codebook_dim]`.
    vectors: Tensor<2>,
    before: Conv,
    narrow: Dense,
    transformer: Transformer,
    norm: Norm,
    widen: Dense,
    stack: Stack,
}

impl Decoder {
    /// Reads the tensors below `decoder.`. The configuration must have passed [`DecoderConfig::check`].
    pub fn load(reader: &Reader, config: &DecoderConfig) -> Result<Self, LoadError> {
        let reader = &reader.part("decoder");
        let inner = reader.part("pre_transformer");
        Ok(Self {
            vectors: quantizer(&reader.part("quantizer"), config)?.folded(),
            before: Conv::load(reader, "pre_conv.conv", ConvSpec::full(config.codebook_dim, config.latent_dim, 3), true)?,
            narrow: Dense::load(&inner, "input_proj", config.latent_dim, config.hidden_size, true)?,
            transformer: Transformer::load(&inner, transformer(config))?,
            norm: NormConfig::rms(config.rms_norm_eps).load(&inner, "norm", config.hidden_size)?,
            widen: Dense::load(&inner, "output_proj", config.hidden_size, config.latent_dim, true)?,
            stack: Stack::load(reader, config)?,
            config: config.clone(),
        })
    }

    /// Samples a frame.
    pub fn samples(&self) -> usize {
        self.config.samples()
    }

    /// Codes a frame.
    pub fn codebooks(&self) -> usize {
        self.config.num_quantizers
    }

    /// Values of state a stream, f32 each.
    pub fn carried(&self) -> usize {
        self.before.carried() + self.transformer.carried() + self.stack.carried()
    }

    /// Room for this many streams.
    pub fn slots(&self, count: usize) -> Slots {
        Slots::new(count, self.carried(), &self.device())
    }

    /// Decodes the next frames of the streams in these slots, as many for each. Samples are between -1 and 1.
    ///
    /// # Shapes
    /// - `codes`: `[slots, frames, codebooks]`, result: `[slots, frames * samples]`
    pub fn step(&self, slots: &mut Slots, which: &[usize], codes: &[i32]) -> Result<Tensor<2>, DecodeError> {
        let frames = self.frames(which.len(), codes)?;
        let first = slots.taken(which)?;
        let (samples, state) = self.decode(slots.gather(which)?, &first, codes, frames);
        slots.scatter(which, state, frames)?;
        Ok(samples.clamp(-1.0, 1.0))
    }

    /// Decodes a whole sequence of frames, samples not limited to -1 and 1.
    ///
    /// # Shapes
    /// - `codes`: `[frames, codebooks]`, result: `[frames * samples]`
    pub fn whole(&self, codes: &[i32]) -> Result<Tensor<1>, DecodeError> {
        let frames = self.frames(1, codes)?;
        let start = Tensor::zeros([1, self.carried()], &self.device());
        Ok(self.decode(start, &[0], codes, frames).0.squeeze_dim(0))
    }

    /// Takes checked codes in pieces; gives samples and the state after them.
    fn decode(&self, mut state: Tensor<2>, first: &[i64], codes: &[i32], frames: usize) -> (Tensor<2>, Tensor<2>) {
        let rows = first.len();
        let ids = self.ids(codes, rows, frames);
        let mut samples = Vec::with_capacity(frames.div_ceil(PIECE));
        for from in (0..frames).step_by(PIECE) {
            let piece = ids.clone().narrow(1, from, PIECE.min(frames - from));
            let first: Vec<i64> = first.iter().map(|first| first + from as i64).collect();
            let mut carry = Carry::new(state);
            samples.push(self.piece(&mut carry, piece, &first));
            state = carry.finish();
        }
        (Tensor::cat(samples, 1), state)
    }

    /// # Shapes
    /// - `ids`: `[rows, frames, codebooks]`, rows of [`Self::vectors`]; result: `[rows, frames * samples]`
    fn piece(&self, carry: &mut Carry, ids: Tensor<3, Int>, first: &[i64]) -> Tensor<2> {
        let [rows, frames, codebooks] = ids.dims();
        let vectors = self.vectors.clone().select(0, ids.reshape([rows * frames * codebooks]));
        let x = vectors.reshape([rows * frames, codebooks, self.config.codebook_dim]).sum_dim(1);
        let x = self.before.push(carry, x.reshape([rows, frames, self.config.codebook_dim]));
        let h = self.transformer.push(carry, self.narrow.forward(x), first);
        let x = self.widen.forward(self.norm.forward(h));
        self.stack.push(carry, x).reshape([rows, frames * self.samples()])
    }

    /// How many frames each row gets, if every code is one.
    fn frames(&self, rows: usize, codes: &[i32]) -> Result<usize, DecodeError> {
        let (codebooks, entries) = (self.codebooks(), self.config.codebook_size);
        let wrong = DecodeError::Length { codes: codes.len(), codebooks, rows };
        if rows == 0 || codes.is_empty() || !codes.len().is_multiple_of(rows * codebooks) {
            return Err(wrong);
        }
        let fits = |code: &i32| usize::try_from(*code).is_ok_and(|code| code < entries);
        match codes.iter().position(|code| !fits(code)) {
            Some(at) => Err(DecodeError::Code { code: codes[at], codebook: at % codebooks, frame: at / codebooks, entries }),
            None => Ok(codes.len() / codebooks / rows),
        }
    }

    /// Codes as rows of [`Self::vectors`].
    fn ids(&self, codes: &[i32], rows: usize, frames: usize) -> Tensor<3, Int> {
        let tables = (0..self.codebooks()).map(|codebook| (codebook * self.config.codebook_size) as i32).cycle();
        let ids: Vec<i32> = codes.iter().zip(tables).map(|(code, table)| code + table).collect();
        Tensor::from_data(TensorData::new(ids, [rows, frames, self.codebooks()]), &self.device())
    }

    /// Where it runs.
    pub fn device(&self) -> Device {
        self.vectors.device()
    }
}

fn quantizer(reader: &Reader, config: &DecoderConfig) -> Result<SplitRvq, LoadError> {
    let spec = |codebooks| RvqSpec {
        codebooks,
        entries: config.codebook_size,
        width: config.codebook_dim / 2,
        outer: config.codebook_dim,
        before: "vq.layers.",
        after: "._codebook",
        sums: "embedding_sum",
    };
    let semantic = config.num_semantic_quantizers;
    Ok(SplitRvq {
        semantic: Rvq::load(&reader.part("rvq_first"), &spec(semantic))?,
        acoustic: Rvq::load(&reader.part("rvq_rest"), &spec(config.num_quantizers - semantic))?,
    })
}

fn transformer(config: &DecoderConfig) -> TransformerSpec {
    TransformerSpec {
        width: config.hidden_size,
        layers: config.num_hidden_layers,
        heads: config.num_attention_heads,
        head: config.head_dim,
        hidden: config.intermediate_size,
        norm: NormConfig::rms(config.rms_norm_eps),
        mlp: MlpKind::SwiGlu,
        theta: config.rope_theta,
        past: Some(config.sliding_window - 1),
    }
}
