//! The second half of the voice: half frames of an utterance to audio, piece by piece.

use realfft::num_complex::Complex32;

use crate::acoustic::{FRAME_WIDTH, TEXT_WIDTH};
use crate::dsp::noise::NoiseKey;
use crate::dsp::overlap_add::{OverlapAdd, Synthesis};
use crate::dsp::spectrum::{Noise, combine};
use crate::dsp::stft::{Analysis, PulseStft};
use crate::dsp::{BINS, HOP};
use crate::fast::decoder::{DecoderState, FastDecoder};
use crate::nn::Decoder;
use crate::nn::decoder::OUTPUT;

/// Half frames worked on at once: enough to keep the matrix products busy, few enough to stay in cache.
const PIECE: usize = 160;

/// The decoder network and its signal processing. Immutable; a [`VocoderState`] belongs to one sequence.
pub struct Vocoder {
    decoder: FastDecoder,
    analysis: Analysis,
    synthesis: Synthesis,
}

/// What one sequence carries from piece to piece.
#[derive(Debug, Clone)]
pub struct VocoderState {
    decoder: DecoderState,
    pulses: PulseStft,
    audio: OverlapAdd,
    noise: Option<NoiseKey>,
    /// Half frames whose spectrum is done.
    done: usize,
    pulse_spectrum: Vec<Complex32>,
    spectrum: Vec<Complex32>,
}

impl Vocoder {
    /// Prepares a decoder; its matrices stay shared with the module.
    pub fn new(decoder: &Decoder) -> Self {
        Self { decoder: FastDecoder::new(decoder), analysis: Analysis::new(), synthesis: Synthesis::new() }
    }

    /// The state before a sequence: unit `unit` of a request with this seed. Both only choose the noise.
    pub fn start(&self, seed: u64, unit: u64) -> VocoderState {
        self.start_with(Some(NoiseKey::new(seed, unit)))
    }

    /// The state before a sequence without noise: for comparisons with a reference.
    pub fn start_without_noise(&self) -> VocoderState {
        self.start_with(None)
    }

    fn start_with(&self, noise: Option<NoiseKey>) -> VocoderState {
        let empty = vec![Complex32::default(); BINS];
        VocoderState {
            decoder: self.decoder.start(),
            pulses: PulseStft::new(),
            audio: OverlapAdd::new(),
            noise,
            done: 0,
            pulse_spectrum: empty.clone(),
            spectrum: empty,
        }
    }

    /// Takes the next half frames of an utterance and appends the samples they complete: about 29 half frames stay behind until the
    /// `last`, which empties the state. Any cut of an utterance gives the same samples.
    ///
    /// # Shapes
    /// - `frames`: `[n, 130]` (see [`crate::acoustic::Utterance`]); a half frame makes 300 samples at 24 kHz
    pub fn decode(&self, state: &mut VocoderState, frames: &[f32], last: bool, out: &mut Vec<f32>) {
        debug_assert!(frames.len().is_multiple_of(FRAME_WIDTH));
        out.reserve(frames.len() / FRAME_WIDTH * HOP);
        let mut pieces = frames.chunks(PIECE * FRAME_WIDTH).peekable();
        while let Some(piece) = pieces.next() {
            self.piece(state, piece, last && pieces.peek().is_none(), out);
        }
        if last && frames.is_empty() {
            self.piece(state, &[], true, out);
        }
    }

    fn piece(&self, state: &mut VocoderState, frames: &[f32], last: bool, out: &mut Vec<f32>) {
        let f0: Vec<f32> = frames.iter().copied().skip(TEXT_WIDTH).step_by(FRAME_WIDTH).collect();
        state.pulses.push(&f0, last);
        let Some(spectra) = self.decoder.push(&mut state.decoder, &conditions(frames), last) else { return };
        let mut rows = spectra.values().chunks_exact(OUTPUT).peekable();
        while let Some(row) = rows.next() {
            self.sound(state, row, last && rows.peek().is_none(), out);
        }
    }

    /// One half frame's spectra to samples.
    fn sound(&self, state: &mut VocoderState, row: &[f32], last: bool, out: &mut Vec<f32>) {
        let noise = state.noise.map_or(Noise::Silent, |key| Noise::Counter(key.frame(state.done as u64, BINS as u64)));
        let pulses = state.pulses.transform(state.done, &self.analysis, &mut state.pulse_spectrum);
        combine(row, pulses, noise, &mut state.spectrum);
        state.audio.push(&mut state.spectrum, &self.synthesis, last, out);
        state.done += 1;
    }
}

/// What the decoder sees of half frames: the text vector, log pitch, energy, both in fifths.
pub fn conditions(frames: &[f32]) -> Vec<f32> {
    let mut conditions = frames.to_vec();
    for row in conditions.chunks_exact_mut(FRAME_WIDTH) {
        row[TEXT_WIDTH] = (1.0 + row[TEXT_WIDTH].max(0.0)).ln() / 5.0;
        row[TEXT_WIDTH + 1] /= 5.0;
    }
    conditions
}
