//! The acoustic model: phonemes to what the decoder needs of an utterance.

use std::sync::Arc;

use burn::tensor::Device;

use crate::fast::prosody::FastProsody;
use crate::fast::tensor::Rows;
use crate::fast::text_encoder::FastTextEncoder;
use crate::nn::layers::Loader;
use crate::nn::text_encoder::TextEncoderConfig;
use crate::nn::{Decoder, Prosody};
use crate::vocab::{SYMBOLS, Vocab};
use crate::vocoder::Vocoder;
use crate::weights::LoadError;

/// Channels of a half frame's text vector.
pub const TEXT_WIDTH: usize = 128;
/// Values a half frame carries: the text vector, pitch in Hz, energy.
pub const FRAME_WIDTH: usize = TEXT_WIDTH + 2;
/// Longest a phoneme may last, in frames of 25 ms at speed 1: ten seconds, far beyond anything a text asks for.
const LONGEST_PHONEME: f32 = 400.0;

/// Why phonemes cannot be encoded.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EncodeError {
    /// There are none.
    #[error("there are no phonemes to speak")]
    Empty,
    /// An id is not in the alphabet.
    #[error("phoneme id {0} is out of range, expected less than {SYMBOLS}")]
    UnknownId(u8),
    /// A speed nothing can be spoken at.
    #[error("speed {0} is out of range, expected 0.25 to 4")]
    Speed(f32),
}

/// An utterance as the decoder takes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Utterance {
    /// `[half frames, 130]`: 128 values of text, pitch in Hz (below 40 for no voice), energy; 80 half frames a second.
    pub frames: Vec<f32>,
    /// How many frames of 25 ms each phoneme lasts.
    pub durations: Vec<usize>,
}

impl Utterance {
    /// Number of half frames.
    pub fn len(&self) -> usize {
        self.frames.len() / FRAME_WIDTH
    }

    /// Whether there is nothing to decode.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }
}

/// The loaded voice. Immutable; one copy serves all threads.
pub struct Acoustic {
    text: FastTextEncoder,
    prosody: FastProsody,
    vocoder: Arc<Vocoder>,
    vocab: Vocab,
}

impl Acoustic {
    /// Loads the embedded weights.
    pub fn embedded() -> Result<Self, LoadError> {
        Self::read(include_bytes!("../weights/hibari.safetensors"))
    }

    fn read(bytes: &[u8]) -> Result<Self, LoadError> {
        let loader = Loader::read(bytes, &Device::flex())?;
        let text = TextEncoderConfig { symbols: SYMBOLS, width: TEXT_WIDTH, passes: 4 }.load(&loader, "text")?;
        let text = FastTextEncoder::new(&text);
        let prosody = FastProsody::new(&Prosody::load(&loader, SYMBOLS)?);
        let vocoder = Arc::new(Vocoder::new(&Decoder::load(&loader)?));
        loader.finish()?;
        Ok(Self { text, prosody, vocoder, vocab: Vocab::embedded()? })
    }

    /// The phoneme alphabet.
    pub fn vocab(&self) -> &Vocab {
        &self.vocab
    }

    /// The part that makes audio, to share with another thread.
    pub fn vocoder(&self) -> &Arc<Vocoder> {
        &self.vocoder
    }

    /// Encodes one sentence, edges included (see [`Vocab::ids`]).
    pub fn encode(&self, ids: &[u8], speed: f32) -> Result<Utterance, EncodeError> {
        check(ids, speed)?;
        let text = self.text.whole(ids);
        let (prosody, log_durations) = self.prosody.durations(ids);
        let durations: Vec<usize> = log_durations.values().iter().map(|log| frames(*log, speed)).collect();
        let contour = self.prosody.contour(&stretch(&prosody, &durations));
        Ok(Utterance { frames: lay_out(text.values(), &durations, contour.values()), durations })
    }
}

/// Repeats each phoneme's vector for its frames: `[ids, width]` to `[frames, width]`.
fn stretch(text: &Rows, durations: &[usize]) -> Vec<f32> {
    let width = text.values().len() / durations.len().max(1);
    let rows = text.values().chunks_exact(width).zip(durations).flat_map(|(row, frames)| std::iter::repeat_n(row, *frames));
    rows.flatten().copied().collect()
}

fn check(ids: &[u8], speed: f32) -> Result<(), EncodeError> {
    if ids.is_empty() {
        return Err(EncodeError::Empty);
    }
    if let Some(id) = ids.iter().find(|id| usize::from(**id) >= SYMBOLS) {
        return Err(EncodeError::UnknownId(*id));
    }
    if !(0.25..=4.0).contains(&speed) {
        return Err(EncodeError::Speed(speed));
    }
    Ok(())
}

/// Frames a phoneme of this log duration lasts: at least one, halves rounded to even.
fn frames(log_duration: f32, speed: f32) -> usize {
    ((log_duration.exp() - 1.0).min(LONGEST_PHONEME) / speed).round_ties_even().max(1.0) as usize
}

/// Half frames of text, pitch and energy: `text` `[ids, 128]`, `contour` `[frames, 4]`.
fn lay_out(text: &[f32], durations: &[usize], contour: &[f32]) -> Vec<f32> {
    let mut out = Vec::with_capacity(contour.len() / 2 * FRAME_WIDTH);
    let rows = text.chunks_exact(TEXT_WIDTH).zip(durations).flat_map(|(row, frames)| std::iter::repeat_n(row, *frames));
    for (row, [f0, f0_later, energy, energy_later]) in rows.zip(contour.as_chunks::<4>().0) {
        for (f0, energy) in [(f0, energy), (f0_later, energy_later)] {
            out.extend_from_slice(row);
            out.extend([f0 * 100.0, energy * 5.0]);
        }
    }
    out
}
