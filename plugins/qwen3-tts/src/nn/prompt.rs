//! Rows of a prompt: text vectors plus codec vectors.

use std::sync::Arc;

use burn::tensor::activation::silu;
use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use omni_blocks::load::{Checkpoint, LoadError, Reader};
use omni_blocks::nn::Proj;

use super::Talker;
use crate::config::TalkerConfig;
use crate::layout::{Code, Layout};
use crate::prompt::Conditioning;

/// Name of the text's embedding.
pub const TEXT_EMBEDDING: &str = "talker.model.text_embedding.weight";

/// Text tokens to vectors of the talker's width. The embedding stays in the mapped file: it is the largest tensor of a checkpoint, and
/// a prompt needs a few dozen of its rows.
pub struct TextTable {
    checkpoint: Arc<Checkpoint>,
    vocabulary: usize,
    fc1: Proj,
    fc2: Proj,
    device: Device,
    dtype: DType,
}

/// What the talker reads of a prompt.
pub struct PromptRows {
    /// Read before the first frame, `[1, T, width]`.
    pub rows: Tensor<3>,
    /// Text that is added to each frame's row, `[n, width]`, n at least 1; its last row is added from there on.
    pub trailing: Tensor<2>,
}

impl TextTable {
    /// Reads the projection; the embedding is only checked.
    pub fn load(reader: &Reader, checkpoint: &Arc<Checkpoint>, config: &TalkerConfig) -> Result<Self, LoadError> {
        let width = config.text_hidden_size;
        reader.check(TEXT_EMBEDDING, &[config.text_vocab_size, width])?;
        let projection = reader.part("talker.text_projection");
        Ok(Self {
            checkpoint: Arc::clone(checkpoint),
            vocabulary: config.text_vocab_size,
            fc1: Proj::load(&projection, "linear_fc1", width, width)?,
            fc2: Proj::load(&projection, "linear_fc2", width, config.decoder.hidden_size)?,
            device: reader.device().clone(),
            dtype: reader.dtype(),
        })
    }

    /// Tokens that it knows.
    pub fn vocabulary(&self) -> usize {
        self.vocabulary
    }

    /// Vectors of tokens: `[n]` to `[n, width]`.
    pub fn vectors(&self, ids: &[u32]) -> Result<Tensor<2>, LoadError> {
        let rows: Vec<usize> = ids.iter().map(|id| *id as usize).collect();
        let values = self.checkpoint.rows(TEXT_EMBEDDING, &rows)?;
        let width = values.len() / ids.len().max(1);
        let data = TensorData::new(values, [1, ids.len(), width]);
        let x = Tensor::<3>::from_data(data, (&self.device, DType::F32)).cast(self.dtype);
        Ok(self.fc2.forward(silu(self.fc1.forward(x))).squeeze_dim(0))
    }
}

impl PromptRows {
    /// The rows of a layout.
    pub fn new(layout: &Layout, conditioning: &Conditioning, text: &TextTable, talker: &Talker, pad: u32) -> Result<Self, LoadError> {
        let read: Vec<u32> = layout.rows.iter().map(|(id, _)| *id).collect();
        let codec = codec_rows(layout, conditioning, talker, &text.device, text.dtype);
        let rows = (text.vectors(&read)? + codec).unsqueeze();
        let trailing: Vec<u32> = layout.trailing.iter().copied().chain([pad]).collect();
        Ok(Self { rows, trailing: text.vectors(&trailing)? })
    }
}

/// The codec half of every row, `[T, width]`.
fn codec_rows(layout: &Layout, conditioning: &Conditioning, talker: &Talker, device: &Device, dtype: DType) -> Tensor<2> {
    let kind = |code: &Code| std::mem::discriminant(code);
    let runs = layout.rows.chunk_by(|(_, left), (_, right)| kind(left) == kind(right));
    let parts = runs.map(|run| match run[0].1 {
        Code::None => Tensor::zeros([run.len(), talker.width()], (device, dtype)),
        Code::Id(_) => talker.tags(&run.iter().filter_map(|(_, code)| id_of(*code)).collect::<Vec<_>>(), device),
        Code::Speaker => speaker_row(conditioning, talker, device, dtype),
        Code::Frame(first) => reference_rows(conditioning, talker, device, first, run.len()),
    });
    Tensor::cat(parts.collect(), 0)
}

fn id_of(code: Code) -> Option<u32> {
    match code {
        Code::Id(id) => Some(id),
        Code::None | Code::Speaker | Code::Frame(_) => None,
    }
}

/// A layout has at most one speaker's row.
fn speaker_row(conditioning: &Conditioning, talker: &Talker, device: &Device, dtype: DType) -> Tensor<2> {
    let vector = conditioning.embedding.clone().unwrap_or_default();
    let data = TensorData::new(vector, [1, talker.width()]);
    Tensor::<2>::from_data(data, (device, DType::F32)).cast(dtype)
}

fn reference_rows(conditioning: &Conditioning, talker: &Talker, device: &Device, first: usize, count: usize) -> Tensor<2> {
    let codebooks = talker.codebooks();
    let codes = conditioning.codes.as_deref().unwrap_or_default();
    let codes = codes.iter().skip(first * codebooks).take(count * codebooks).map(|code| i64::from(*code)).collect::<Vec<_>>();
    let codes: Tensor<2, Int> = Tensor::from_data(TensorData::new(codes, [count, codebooks]), device);
    talker.frames(codes)
}
