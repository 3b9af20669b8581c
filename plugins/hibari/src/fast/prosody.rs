//! The prosody predictor over rows.

use super::conv::FastConv;
use super::convnext::FastConvNext;
use super::rows;
use super::tensor::Rows;
use super::text_encoder::FastTextEncoder;
use crate::nn::Prosody;

/// The predictor of [`crate::nn::prosody`]; its matrices are shared with the module.
pub struct FastProsody {
    text: FastTextEncoder,
    duration: Vec<FastConv>,
    input: FastConv,
    blocks: Vec<FastConvNext>,
    output: FastConv,
}

impl FastProsody {
    /// Prepares a module.
    pub fn new(module: &Prosody) -> Self {
        Self {
            text: FastTextEncoder::new(&module.text),
            duration: module.duration.iter().map(FastConv::new).collect(),
            input: FastConv::new(&module.input),
            blocks: module.blocks.iter().map(FastConvNext::new).collect(),
            output: FastConv::new(&module.output),
        }
    }

    /// Encodes the phonemes and predicts their log durations; see [`Prosody::durations`].
    ///
    /// # Shapes
    /// - result: text `[ids, 192]`, log durations `[ids, 1]`
    pub fn durations(&self, ids: &[u8]) -> (Rows, Rows) {
        let text = self.text.whole(ids);
        let mut hidden = self.duration[0].whole(text.values());
        rows::gelu_all(hidden.values_mut());
        let durations = self.duration[1].whole(hidden.values());
        (text, durations)
    }

    /// Pitch and energy of a text already stretched over time; see [`Prosody::contour`].
    ///
    /// # Shapes
    /// - `text`: `[frames, 192]`; result: `[frames, 4]`
    pub fn contour(&self, text: &[f32]) -> Rows {
        let mut h = self.input.whole(text);
        for block in &self.blocks {
            h = block.whole(h.values());
        }
        self.output.whole(h.values())
    }
}
