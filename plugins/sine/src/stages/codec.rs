//! Code frames to audio: the place of a codec's decoder.
//!
//! Each sequence keeps where its wave is. A chunk therefore continues the one before without a click, and audio made in small steps is
//! sample for sample the audio made in one.

use std::collections::VecDeque;

use omni_plugin_api::{Data, FinishReason, PluginError, Prompt, SeqId, SeqWork, StageEvent, StageLimits, StepPlan, StepStage};

use super::Slots;
use crate::{CODEBOOKS, FRAME_LEN, Frame, SAMPLE_RATE_HZ};

const SLOTS: usize = 64;
/// Code frames of a steady step: two seconds.
const STEP_FRAMES: usize = 25;

/// The stage.
#[derive(Debug)]
pub struct Codec {
    slots: Slots<Decoding>,
}

/// What a sequence needs from one frame to the next.
#[derive(Debug, Default)]
struct Decoding {
    /// Frames fed and not yet decoded.
    waiting: VecDeque<Frame>,
    /// Whether nothing follows them.
    last: bool,
    /// Frames decoded.
    decoded: u64,
    wave: Wave,
}

/// Where the wave is: its phase in turns, and the frame it comes from.
#[derive(Debug, Default)]
struct Wave {
    phase: f64,
    from: Option<Frame>,
}

impl Default for Codec {
    fn default() -> Self {
        Self { slots: Slots::new(SLOTS) }
    }
}

impl Codec {
    fn advance(&mut self, work: SeqWork, events: &mut Vec<StageEvent>) -> Result<(), PluginError> {
        let SeqWork { seq, max_units } = work;
        let decoding = self.slots.get_mut(seq)?;
        let frames = max_units.min(decoding.waiting.len());
        if frames > 0 {
            events.push(StageEvent::Output { seq, data: Data::Pcm { samples: decoding.decode(frames), channels: 1 } });
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

impl StepStage for Codec {
    fn limits(&self) -> StageLimits {
        StageLimits { slots: SLOTS, batch: SLOTS, first_units: 1, step_units: STEP_FRAMES, ..StageLimits::default() }
    }

    fn admit(&mut self, seq: SeqId, _prompt: &Prompt) -> Result<(), PluginError> {
        self.slots.admit(seq, Decoding::default())
    }

    fn feed(&mut self, seq: SeqId, chunk: Option<Data>, last: bool) -> Result<(), PluginError> {
        let decoding = self.slots.get_mut(seq)?;
        match chunk {
            None => {}
            Some(Data::Codes { codes, codebooks: CODEBOOKS }) => decoding.waiting.extend(codes.chunks_exact(CODEBOOKS).map(frame)),
            Some(other) => return Err(PluginError::internal(format!("expected codes of {CODEBOOKS} codebooks, found {:?}", other.kind()))),
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

fn frame(codes: &[i32]) -> Frame {
    Frame { pitch: codes[0], loudness: codes[1] }
}

impl Decoding {
    /// Decodes the next `frames` frames.
    fn decode(&mut self, frames: usize) -> Vec<f32> {
        let mut samples = Vec::with_capacity(frames * FRAME_LEN);
        for frame in self.waiting.drain(..frames) {
            self.wave.glide_to(frame, &mut samples);
        }
        self.decoded += frames as u64;
        samples
    }
}

impl Wave {
    /// Writes one frame of samples, from the frequency and amplitude of the frame before to those of this one.
    fn glide_to(&mut self, to: Frame, samples: &mut Vec<f32>) {
        let from = self.from.replace(to).unwrap_or(Frame { loudness: 0, ..to });
        for index in 0..FRAME_LEN {
            let share = index as f32 / FRAME_LEN as f32;
            let between = |from: f32, to: f32| from + (to - from) * share;
            let frequency_hz = between(from.frequency_hz(), to.frequency_hz());
            let amplitude = between(from.amplitude(), to.amplitude());
            samples.push(amplitude * (std::f64::consts::TAU * self.phase).sin() as f32);
            self.phase = (self.phase + f64::from(frequency_hz) / f64::from(SAMPLE_RATE_HZ)).fract();
        }
    }
}
