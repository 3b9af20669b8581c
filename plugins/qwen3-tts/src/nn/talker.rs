//! The two transformers: one over frames, one over the codes of a frame.

use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use omni_blocks::kv::{FrameKv, KeysValues, KvShape};
use omni_blocks::load::{LoadError, Reader};
use omni_blocks::nn::{Act, AttentionConfig, BlockConfig, FrameDecoder, MlpConfig, NormConfig, Pick, Proj, Stack, StackConfig, Table};

use crate::config::{Config, DecoderConfig, TalkerConfig};

/// Codes of one frame, codebook 0 first.
pub type Frame = Vec<u32>;

/// The talker: what it has read so far to the logits of the next first code, that code to the others of its frame, a frame to the row
/// that is read next.
#[derive(Debug, Clone)]
pub struct Talker {
    stack: Stack,
    /// Vectors of first codes and of tags.
    codec: Table,
    /// Codes of codebook 0, then the end: the rows that can be drawn, of a head that has many more.
    head: Proj,
    /// Its tables, in the talker's width, are also what a frame is read by.
    decoder: FrameDecoder,
    shape: Shape,
}

/// What the numbers of a talker are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    /// Width of a row.
    width: usize,
    /// Codebooks.
    codebooks: usize,
    /// Codes of a codebook; also the end's place among the logits.
    codes: usize,
}

impl Talker {
    /// Reads everything below `talker.` but the text's embedding and projection. Positions up to `positions` can be asked for.
    pub fn load(reader: &Reader, config: &Config, positions: usize) -> Result<Self, LoadError> {
        let (config, reader) = (&config.talker_config, &reader.part("talker"));
        let (width, vocabulary) = (config.decoder.hidden_size, config.decoder.vocab_size);
        let model = reader.part("model");
        Ok(Self {
            stack: stack(&config.decoder, positions).load(&model)?,
            codec: Table::load(&model, &["codec_embedding.weight"], vocabulary, width)?,
            head: head(reader, config)?,
            decoder: frame_decoder(&reader.part("code_predictor"), config)?,
            shape: Shape { width, codebooks: config.num_code_groups, codes: config.code_predictor_config.vocab_size },
        })
    }

    /// What a position keeps in each layer.
    pub fn kv_shape(config: &TalkerConfig) -> KvShape {
        kv_shape(&config.decoder)
    }

    /// Reads rows and gives the hidden states after them.
    ///
    /// # Shapes
    /// - `rows` and the result: `[R, T, width]`
    /// - `positions`: `[R, T]`
    pub fn read(&self, rows: Tensor<3>, positions: Tensor<2, Int>, kv: &mut dyn KeysValues) -> Tensor<3> {
        self.stack.forward(rows, positions, kv)
    }

    /// Logits of the next first code in `f32`, the end last: hidden `[R, 1, width]` to `[R, codes + 1]`.
    pub fn logits(&self, hidden: Tensor<3>) -> Tensor<2> {
        let [rows, _, _] = hidden.dims();
        self.head.forward(hidden).cast(DType::F32).reshape([rows, self.shape.codes + 1])
    }

    /// The other codes of a frame, each `[R]`: from the hidden state `[R, 1, width]` and the first codes `[R]`.
    pub fn rest<E>(
        &self,
        hidden: Tensor<3>,
        first: Tensor<1, Int>,
        kv: &mut FrameKv,
        pick: &mut Pick<E>,
    ) -> Result<Vec<Tensor<1, Int>>, E> {
        let prologue = Tensor::cat(vec![hidden, self.codec.rows(0, first).unsqueeze_dim(1)], 1);
        self.decoder.run(prologue, kv, pick)
    }

    /// Caches for the codes inside a frame.
    pub fn frame_kv(&self, rows: usize, device: &Device, dtype: DType) -> FrameKv {
        let attention = self.decoder.stack.config().block.attention;
        let shape = KvShape { layers: self.decoder.stack.config().layers, heads: attention.kv_heads, head_dim: attention.head_dim };
        FrameKv::new(shape, rows, self.shape.codebooks, device, dtype)
    }

    /// What frames are read by: the sum of their codes' vectors, `[n, codebooks]` to `[n, width]`.
    pub fn frames(&self, codes: Tensor<2, Int>) -> Tensor<2> {
        let [count, codebooks] = codes.dims();
        let first: Tensor<1, Int> = codes.clone().narrow(1, 0, 1).reshape([count]);
        self.codec.rows(0, first) + self.decoder.inputs.sums(codes.narrow(1, 1, codebooks - 1))
    }

    /// Vectors of tags and first codes, `[n, width]`.
    pub fn tags(&self, ids: &[u32], device: &Device) -> Tensor<2> {
        self.codec.rows(0, ids_tensor(ids, device))
    }

    /// Codebooks of a frame.
    pub fn codebooks(&self) -> usize {
        self.shape.codebooks
    }

    /// Codes of a codebook; the end's place among the first code's logits.
    pub fn codes(&self) -> usize {
        self.shape.codes
    }

    /// Width of a row.
    pub fn width(&self) -> usize {
        self.shape.width
    }
}

/// Ids as a tensor.
pub(super) fn ids_tensor(ids: &[u32], device: &Device) -> Tensor<1, Int> {
    let ids: Vec<i64> = ids.iter().map(|id| i64::from(*id)).collect();
    let count = ids.len();
    Tensor::from_data(TensorData::new(ids, [count]), device)
}

/// The head's rows that can be drawn: the codes, then the end.
fn head(reader: &Reader, config: &TalkerConfig) -> Result<Proj, LoadError> {
    let (vocabulary, width) = (config.decoder.vocab_size, config.decoder.hidden_size);
    let all: Tensor<2> = reader.tensor("codec_head.weight", [vocabulary, width])?;
    let codes = all.clone().narrow(0, 0, config.code_predictor_config.vocab_size);
    let end = all.narrow(0, config.codec_eos_token_id as usize, 1);
    Ok(Proj::new(Tensor::cat(vec![codes, end], 0), None))
}

fn frame_decoder(reader: &Reader, config: &TalkerConfig) -> Result<FrameDecoder, LoadError> {
    let (inner, outer) = (&config.code_predictor_config, config.decoder.hidden_size);
    let steps = config.num_code_groups - 1;
    let tables: Vec<String> = (0..steps).map(|step| format!("codec_embedding.{step}.weight")).collect();
    let projection = match inner.hidden_size == outer {
        true => None,
        false => Some(Proj::load(reader, "small_to_mtp_projection", outer, inner.hidden_size)?),
    };
    let head = |step: usize| Proj::load(&reader.part("lm_head"), &step.to_string(), inner.hidden_size, inner.vocab_size);
    Ok(FrameDecoder {
        stack: stack(inner, config.num_code_groups).load(&reader.part("model"))?,
        inputs: Table::load(&reader.part("model"), &tables, inner.vocab_size, outer)?,
        projection,
        heads: (0..steps).map(head).collect::<Result<_, _>>()?,
    })
}

fn stack(config: &DecoderConfig, positions: usize) -> StackConfig {
    let norm = NormConfig::rms(config.rms_norm_eps);
    StackConfig {
        layers: config.num_hidden_layers,
        block: BlockConfig {
            attention: AttentionConfig {
                width: config.hidden_size,
                heads: config.num_attention_heads,
                kv_heads: config.num_key_value_heads,
                head_dim: config.head_dim,
                head_norm: Some(norm),
            },
            norm,
            mlp: MlpConfig { hidden: config.intermediate_size, act: Act::Silu, is_gated: true },
            has_layer_scale: false,
        },
        theta: config.rope_theta,
        positions,
        has_final_norm: true,
    }
}

fn kv_shape(config: &DecoderConfig) -> KvShape {
    KvShape { layers: config.num_hidden_layers, heads: config.num_key_value_heads, head_dim: config.head_dim }
}
