//! Latents to audio.
//!
//! A unit is a row of latents: a half frame, 12.5 ms. The decoder looks 27 half frames ahead and the transforms two, so a step early in a
//! sentence gives 29 hops less than it took, and the step that meets a sentence's end gives them back.

use std::collections::VecDeque;
use std::sync::Arc;

use omni_plugin_api::{Data, FinishReason, PluginError, Prompt, SeqId, SeqWork, StageEvent, StageLimits, StepPlan, StepStage};

use super::latents::{Mark, WIDTH};
use super::seam::{soften_end, soften_start};
use super::slots::{SLOTS, Slots};
use crate::acoustic::FRAME_WIDTH;
use crate::dsp::HOP;
use crate::model::Script;
use crate::{Vocoder, VocoderState};

/// Half frames of a first step: 29 to look ahead, 11 to give 137 ms of audio.
const FIRST_UNITS: usize = 40;
/// Half frames of a steady step: two seconds, about 20 ms of work.
const STEP_UNITS: usize = 160;
/// What a sequence's decoder and transforms hold, roughly.
const STATE_BYTES: u64 = 200_000;

/// The stage.
pub struct VocoderStage {
    vocoder: Arc<Vocoder>,
    slots: Slots<Decoding>,
}

/// What a sequence needs from one half frame to the next.
struct Decoding {
    seed: u64,
    /// Rows fed and not yet decoded, `[n, 131]`.
    waiting: VecDeque<f32>,
    /// Whether nothing follows them.
    last: bool,
    /// Half frames decoded.
    decoded: u64,
    /// Sentences begun.
    sentences: u64,
    /// The sentence that is being decoded.
    sentence: Option<Sentence>,
}

struct Sentence {
    state: VocoderState,
    /// Whether a sample of it was given out.
    sounded: bool,
}

impl VocoderStage {
    /// A stage with all slots free.
    pub fn new(vocoder: Arc<Vocoder>) -> Self {
        Self { vocoder, slots: Slots::new() }
    }

    fn advance(&mut self, work: SeqWork, events: &mut Vec<StageEvent>) -> Result<(), PluginError> {
        let SeqWork { seq, max_units } = work;
        let decoding = self.slots.get_mut(seq)?;
        let samples = decoding.decode(&self.vocoder, max_units);
        if !samples.is_empty() {
            events.push(StageEvent::Output { seq, data: Data::Pcm { samples, channels: 1 } });
        }
        if decoding.waiting.is_empty() {
            events.push(match decoding.last {
                true => StageEvent::Finished { seq, reason: FinishReason::Stop, generated: decoding.decoded },
                false => StageEvent::NeedsInput { seq },
            });
        }
        Ok(())
    }
}

impl Decoding {
    fn new(seed: u64) -> Self {
        Self { seed, waiting: VecDeque::new(), last: false, decoded: 0, sentences: 0, sentence: None }
    }

    /// Works through at most `max_units` rows.
    fn decode(&mut self, vocoder: &Vocoder, max_units: usize) -> Vec<f32> {
        let count = max_units.min(self.waiting.len() / WIDTH);
        let rows: Vec<f32> = self.waiting.drain(..count * WIDTH).collect();
        self.decoded += count as u64;
        let mut samples = Vec::with_capacity(count * HOP);
        let is_pause = |row: &[f32]| Mark::of(row) == Mark::Pause;
        let same_run = |left: &[f32], right: &[f32]| Mark::of(left) != Mark::End && is_pause(left) == is_pause(right);
        let rows: Vec<&[f32]> = rows.chunks_exact(WIDTH).collect();
        for run in rows.chunk_by(|left, right| same_run(left, right)) {
            match run.first().map(|row| Mark::of(row)) {
                Some(Mark::Pause) => samples.resize(samples.len() + run.len() * HOP, 0.0),
                _ => self.speak(vocoder, run, &mut samples),
            }
        }
        samples
    }

    /// Decodes rows of one sentence.
    fn speak(&mut self, vocoder: &Vocoder, run: &[&[f32]], samples: &mut Vec<f32>) {
        let mut sentence = self.sentence.take().unwrap_or_else(|| {
            self.sentences += 1;
            Sentence { state: vocoder.start(self.seed, self.sentences), sounded: false }
        });
        let ends = run.last().is_some_and(|row| Mark::of(row) == Mark::End);
        let frames: Vec<f32> = run.iter().flat_map(|row| &row[..FRAME_WIDTH]).copied().collect();
        let from = samples.len();
        vocoder.decode(&mut sentence.state, &frames, ends, samples);
        let new = &mut samples[from..];
        if !sentence.sounded {
            soften_start(new);
            sentence.sounded = !new.is_empty();
        }
        if ends {
            soften_end(new);
        } else {
            self.sentence = Some(sentence);
        }
    }
}

impl StepStage for VocoderStage {
    /// One sequence a step: the products of one already fill the processor, and the engine can put the neediest first.
    fn limits(&self) -> StageLimits {
        let (first_units, step_units) = (FIRST_UNITS, STEP_UNITS);
        StageLimits { slots: SLOTS, batch: 1, bytes_per_sequence: STATE_BYTES, first_units, step_units, ..StageLimits::default() }
    }

    fn admit(&mut self, seq: SeqId, prompt: &Prompt) -> Result<(), PluginError> {
        let script: Script = prompt.read()?;
        self.slots.admit(seq, Decoding::new(script.seed))
    }

    fn feed(&mut self, seq: SeqId, chunk: Option<Data>, last: bool) -> Result<(), PluginError> {
        let decoding = self.slots.get_mut(seq)?;
        match chunk {
            None => {}
            Some(Data::Latents { values, width: WIDTH, .. }) => decoding.waiting.extend(values),
            Some(other) => return Err(PluginError::internal(format!("expected latents of width {WIDTH}, found {:?}", other.kind()))),
        }
        decoding.last |= last;
        Ok(())
    }

    fn step(&mut self, plan: &StepPlan) -> Result<Vec<StageEvent>, PluginError> {
        let mut events = Vec::new();
        for work in &plan.work {
            if let Err(error) = self.advance(*work, &mut events) {
                events.push(StageEvent::Failed { seq: work.seq, error });
            }
        }
        Ok(events)
    }

    fn release(&mut self, seq: SeqId) {
        self.slots.release(seq);
    }
}
