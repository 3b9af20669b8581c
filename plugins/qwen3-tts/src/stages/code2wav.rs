//! Frames of codes to samples, for many sequences at once.
//!
//! Each sequence has a slot of decoder state, so a chunk is only its new frames and streamed audio is the audio made at once. Where a
//! reference is continued its codes run through the state first and nobody hears them.

use std::collections::BTreeMap;
use std::sync::Arc;

use omni_blocks::codecs::qwen12hz::Decoder;
use omni_blocks::conv::Slots as States;
use omni_plugin_api::{Data, FinishReason, PluginError, Prompt, SeqId, Services, StageEvent, StageLimits, StepPlan, StepStage};

use super::Slots;
use super::recorded::doublings;
use crate::prompt::Conditioning;

/// Frames of a steady step: a third of a second keeps what others wait for short.
const STEP_FRAMES: usize = 4;
/// Frames of a reference that one step runs through.
const PRIMING_FRAMES: usize = 64;
/// Frames into the past that a frame depends on: 8 layers of 71, the convolutions before and after them.
const MEMORY: usize = 580;

/// The stage.
pub struct Code2Wav {
    decoder: Arc<Decoder>,
    states: States,
    slots: Slots<Decoding>,
    count: usize,
}

/// What a sequence needs from one chunk to the next, beside its state.
#[derive(Debug, Default)]
struct Decoding {
    /// Codes of the reference that were not run through yet.
    priming: Vec<i32>,
    /// Codes fed and not yet decoded.
    waiting: Vec<i32>,
    /// Whether nothing follows them.
    last: bool,
    /// Frames decoded.
    decoded: u64,
}

impl Code2Wav {
    /// A stage with `count` free slots.
    pub fn new(decoder: Arc<Decoder>, count: usize) -> Self {
        Self { states: decoder.slots(count), decoder, slots: Slots::new(count), count }
    }

    /// Gets what a device compiles and tunes out of the way of the first requests: decodes of nothing, in slots that admission empties.
    pub fn warm(&mut self, services: &Services) -> Result<(), PluginError> {
        let _working = omni_blocks::device::work();
        let failed = |error: String| PluginError::internal(error);
        for rows in doublings(self.count) {
            services.progress("codec", rows as u64, self.count as u64);
            let places: Vec<usize> = (0..rows).collect();
            for frames in doublings(STEP_FRAMES) {
                let codes = vec![0; rows * frames * self.decoder.codebooks()];
                self.decoder.step(&mut self.states, &places, &codes).map_err(|error| failed(error.to_string()))?;
            }
        }
        (0..self.count).try_for_each(|place| self.states.reset(place)).map_err(|error| failed(error.to_string()))?;
        self.decoder.device().sync().map_err(|error| failed(format!("the device failed: {error}")))
    }

    /// Runs a piece of each reference that waits through its state.
    fn prime(&mut self, plan: &StepPlan) -> Result<Vec<SeqId>, PluginError> {
        let codebooks = self.decoder.codebooks();
        let mut primed = Vec::new();
        for seq in plan.work.iter().map(|work| work.seq) {
            let decoding = self.slots.get_mut(seq)?;
            if decoding.priming.is_empty() {
                continue;
            }
            let rest = decoding.priming.split_off((PRIMING_FRAMES * codebooks).min(decoding.priming.len()));
            let codes = std::mem::replace(&mut decoding.priming, rest);
            self.decode(&[seq], &codes)?;
            primed.push(seq);
        }
        Ok(primed)
    }

    /// Sequences by the number of frames they decode in this step; those still busy with their reference are left out.
    fn groups(&self, plan: &StepPlan, busy: &[SeqId]) -> Result<BTreeMap<usize, Vec<SeqId>>, PluginError> {
        let mut groups: BTreeMap<usize, Vec<SeqId>> = BTreeMap::new();
        for work in plan.work.iter().filter(|work| !busy.contains(&work.seq)) {
            let frames = self.slots.get(work.seq)?.waiting.len() / self.decoder.codebooks();
            groups.entry(piece(frames.min(work.max_units))).or_default().push(work.seq);
        }
        Ok(groups)
    }

    /// Samples of the same number of frames of each sequence, one after the other.
    fn decode(&mut self, seqs: &[SeqId], codes: &[i32]) -> Result<Vec<f32>, PluginError> {
        let places = seqs.iter().map(|seq| self.slots.place(*seq)).collect::<Result<Vec<_>, _>>()?;
        let samples = self.decoder.step(&mut self.states, &places, codes).map_err(|error| PluginError::internal(error.to_string()))?;
        samples.try_into_vec_as::<f32>().map_err(|error| PluginError::internal(format!("the device failed: {error}")))
    }

    fn decode_group(&mut self, frames: usize, seqs: &[SeqId], events: &mut Vec<StageEvent>) -> Result<(), PluginError> {
        let codebooks = self.decoder.codebooks();
        let mut codes = Vec::with_capacity(seqs.len() * frames * codebooks);
        for seq in seqs {
            codes.extend(self.slots.get_mut(*seq)?.waiting.drain(..frames * codebooks));
        }
        let samples = self.decode(seqs, &codes)?;
        let each = frames * self.decoder.samples();
        for (seq, samples) in seqs.iter().zip(samples.chunks_exact(each)) {
            self.slots.get_mut(*seq)?.decoded += frames as u64;
            events.push(StageEvent::Output { seq: *seq, data: Data::Pcm { samples: samples.to_vec(), channels: 1 } });
        }
        Ok(())
    }

    /// What a sequence that has nothing left to decode says.
    fn close(&self, seq: SeqId, events: &mut Vec<StageEvent>) -> Result<(), PluginError> {
        let decoding = self.slots.get(seq)?;
        if decoding.waiting.is_empty() {
            events.push(match decoding.last {
                true => StageEvent::Finished { seq, reason: FinishReason::Stop, generated: decoding.decoded },
                false => StageEvent::NeedsInput { seq },
            });
        }
        Ok(())
    }
}

/// Frames of one decode, at most [`STEP_FRAMES`] and a power of two, so that sequences share decodes and a device meets few shapes.
fn piece(frames: usize) -> usize {
    frames.min(STEP_FRAMES).checked_ilog2().map_or(0, |log| 1 << log)
}

impl StepStage for Code2Wav {
    fn limits(&self) -> StageLimits {
        StageLimits {
            slots: self.count,
            batch: self.count,
            bytes_per_sequence: (self.decoder.carried() * size_of::<f32>()) as u64,
            first_units: 1,
            step_units: STEP_FRAMES,
            ..StageLimits::default()
        }
    }

    fn admit(&mut self, seq: SeqId, prompt: &Prompt) -> Result<(), PluginError> {
        let codebooks = self.decoder.codebooks();
        let mut priming = Conditioning::of(&prompt.tensors, codebooks)?.codes.unwrap_or_default();
        priming.drain(..priming.len().saturating_sub(MEMORY * codebooks));
        let place = self.slots.admit(seq, Decoding { priming, ..Decoding::default() })?;
        self.states.reset(place).map_err(|error| PluginError::internal(error.to_string()))
    }

    fn feed(&mut self, seq: SeqId, chunk: Option<Data>, last: bool) -> Result<(), PluginError> {
        let wanted = self.decoder.codebooks();
        let decoding = self.slots.get_mut(seq)?;
        match chunk {
            None => {}
            Some(Data::Codes { codes, codebooks }) if codebooks == wanted && codes.len().is_multiple_of(wanted) => {
                decoding.waiting.extend(codes);
            }
            Some(other) => return Err(PluginError::internal(format!("expected frames of {wanted} codes, found {:?}", other.kind()))),
        }
        decoding.last |= last;
        Ok(())
    }

    fn step(&mut self, plan: &StepPlan) -> Result<Vec<StageEvent>, PluginError> {
        let _working = omni_blocks::device::work();
        let mut events = Vec::new();
        let busy = self.prime(plan)?;
        for (frames, seqs) in self.groups(plan, &busy)? {
            if frames > 0
                && let Err(error) = self.decode_group(frames, &seqs, &mut events)
            {
                events.extend(seqs.into_iter().map(|seq| StageEvent::Failed { seq, error: error.clone() }));
                continue;
            }
            seqs.into_iter().try_for_each(|seq| self.close(seq, &mut events))?;
        }
        Ok(events)
    }

    fn release(&mut self, seq: SeqId) {
        self.slots.release(seq);
    }
}
