//! Drawing the codes of a batch on the host.

use std::sync::Arc;

use burn::tensor::{DType, Int, Tensor, TensorData};
use omni_blocks::kv::FrameKv;
use omni_blocks::sample::{Chain, DrawError, History, NoiseKey, Settings};

use super::talker::ids_tensor;
use super::{Frame, Talker};
use crate::generation::{first_chain, rest_chain};

/// What a row's draws depend on.
#[derive(Debug, Clone)]
pub struct Row {
    /// Settings of the first code.
    pub first: Settings,
    /// Settings of the others.
    pub rest: Settings,
    /// Seed.
    pub seed: u64,
    /// Frames drawn before.
    pub frame: u32,
    /// First codes drawn before.
    pub history: History,
    /// First codes that may not be drawn yet.
    pub barred: Option<Barred>,
}

/// First codes that may not be drawn in the first frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Barred {
    /// Which.
    pub codes: Arc<[u32]>,
    /// In how many frames.
    pub frames: u32,
}

/// Why a row, or the whole batch, has no frame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// The model's numbers allow no draw.
    #[error(transparent)]
    Draw(#[from] DrawError),
    /// The device failed.
    #[error("the device failed: {0}")]
    Device(String),
}

impl Row {
    fn key(&self, codebook: usize) -> NoiseKey {
        NoiseKey { seed: self.seed, frame: self.frame, codebook: codebook as u32 }
    }

    /// What may not be drawn in the frame that is next.
    pub fn barred_now(&self) -> Option<&Barred> {
        self.barred.as_ref().filter(|barred| self.frame < barred.frames)
    }

    fn draw(&self, chain: &Chain, settings: &Settings, codebook: usize, logits: &mut [f32]) -> Result<u32, DrawError> {
        let key = self.key(codebook);
        let none = History::default();
        let history = if codebook == 0 { &self.history } else { &none };
        if let Some(barred) = self.barred_now().filter(|_| codebook == 0) {
            for code in barred.codes.iter() {
                // A code past the logits cannot be drawn anyway.
                logits.get_mut(*code as usize).into_iter().for_each(|logit| *logit = f32::NEG_INFINITY);
            }
        }
        chain.draw(logits, settings, history, |id| key.exponential(id))
    }
}

impl Talker {
    /// Draws a frame for each row from its hidden state `[R, 1, width]`; no frame where the speech ends. A row that fails leaves the
    /// others alone; the outer error is the device's.
    pub fn draw(&self, hidden: Tensor<3>, rows: &[&Row], dtype: DType) -> Result<Vec<Result<Option<Frame>, DrawError>>, RowError> {
        let chain = first_chain(self.codes() as u32);
        let mut logits = host(self.logits(hidden.clone()))?;
        let each = self.codes() + 1;
        let first = rows.iter().zip(logits.chunks_exact_mut(each)).map(|(row, logits)| row.draw(&chain, &row.first, 0, logits));
        let mut drawn: Vec<Result<Option<Frame>, DrawError>> =
            first.map(|first| first.map(|code| ((code as usize) < self.codes()).then(|| vec![code]))).collect();
        let going: Vec<usize> = (0..rows.len()).filter(|row| matches!(drawn[*row], Ok(Some(_)))).collect();
        if going.is_empty() {
            return Ok(drawn);
        }
        let device = hidden.device();
        let chosen: Vec<i64> = going.iter().map(|row| *row as i64).collect();
        let chosen: Tensor<1, Int> = Tensor::from_data(TensorData::new(chosen, [going.len()]), &device);
        let mut kv = self.frame_kv(going.len(), &device, dtype);
        self.draw_rest(hidden.select(0, chosen), &going, rows, &mut drawn, &mut kv)?;
        Ok(drawn)
    }

    /// Draws the other codes of the rows `going`, whose hidden states are `[going, 1, width]`.
    fn draw_rest(
        &self,
        hidden: Tensor<3>,
        going: &[usize],
        rows: &[&Row],
        drawn: &mut [Result<Option<Frame>, DrawError>],
        kv: &mut FrameKv,
    ) -> Result<(), RowError> {
        let chain = rest_chain();
        let device = hidden.device();
        let first: Vec<u32> = going.iter().map(|row| last_code(&drawn[*row])).collect();
        let first = ids_tensor(&first, &device);
        self.rest(hidden, first, kv, &mut |step, logits| {
            let each = logits.dims()[1];
            let mut logits = host(logits)?;
            let mut codes = Vec::with_capacity(going.len());
            for (row, logits) in going.iter().zip(logits.chunks_exact_mut(each)) {
                let outcome = rows[*row].draw(&chain, &rows[*row].rest, step + 1, logits);
                push(&mut drawn[*row], outcome);
                codes.push(last_code(&drawn[*row]));
            }
            Ok::<_, RowError>(ids_tensor(&codes, &device))
        })?;
        Ok(())
    }
}

/// Adds a code to a frame; a failed draw takes the frame's place.
fn push(frame: &mut Result<Option<Frame>, DrawError>, code: Result<u32, DrawError>) {
    match (frame, code) {
        (Ok(Some(frame)), Ok(code)) => frame.push(code),
        (frame @ Ok(_), Err(error)) => *frame = Err(error),
        (Ok(None) | Err(_), _) => {}
    }
}

/// The newest code of a frame. A row that failed goes on with code 0, which nobody hears: rows of a batch run in step.
fn last_code(frame: &Result<Option<Frame>, DrawError>) -> u32 {
    match frame {
        Ok(Some(frame)) => frame.last().copied().unwrap_or(0),
        Ok(None) | Err(_) => 0,
    }
}

/// Values of a tensor, read back.
fn host(tensor: Tensor<2>) -> Result<Vec<f32>, RowError> {
    tensor.try_into_vec_as::<f32>().map_err(|error| RowError::Device(error.to_string()))
}
