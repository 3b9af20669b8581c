//! Prompt to code frames, one frame after another: the place of an autoregressive language model.

use std::thread;
use std::time::Duration;

use omni_plugin_api::{Data, FinishReason, PluginError, Prompt, SeqId, SeqWork, Services, StageEvent, StageLimits, StepPlan, StepStage};

use super::Slots;
use crate::{CODEBOOKS, FRAME_RATE_HZ, Frame, Utterance, noise};

const SLOTS: usize = 64;
/// How far a word's note may lie from the voice's pitch, in semitones.
const INTERVAL: f32 = 2.0;
/// How far a frame may wander from its note, in semitones.
const WANDER: f32 = 0.1;

/// The stage.
#[derive(Debug)]
pub struct Talker {
    slots: Slots<Speaking>,
    services: Services,
}

/// What a sequence needs from one frame to the next.
#[derive(Debug)]
struct Speaking {
    utterance: Utterance,
    /// Index of the current note, and how many of its frames are made.
    note: usize,
    into_note: u32,
    /// Frames made so far; also the counter of the noise.
    made: u64,
    /// Frames to make in all.
    total: u64,
    /// Semitones that the last frame lay from its note: each frame depends on the one before.
    drift: f32,
}

impl Talker {
    /// A stage with all slots free.
    pub fn new(services: Services) -> Self {
        Self { slots: Slots::new(SLOTS), services }
    }

    fn advance(&mut self, work: SeqWork, events: &mut Vec<StageEvent>) -> Result<Duration, PluginError> {
        let SeqWork { seq, max_units } = work;
        let speaking = self.slots.get_mut(seq)?;
        let frames: Vec<Frame> = std::iter::from_fn(|| speaking.next_frame()).take(max_units).collect();
        let takes = speaking.paced(frames.len());
        let codes = frames.iter().flat_map(|frame| [frame.pitch, frame.loudness]).collect();
        events.push(StageEvent::Output { seq, data: Data::Codes { codes, codebooks: CODEBOOKS } });
        if let Some(reason) = speaking.end() {
            events.push(StageEvent::Finished { seq, reason, generated: speaking.made });
        }
        Ok(takes)
    }
}

impl StepStage for Talker {
    fn limits(&self) -> StageLimits {
        StageLimits { slots: SLOTS, batch: SLOTS, first_units: 1, step_units: 1, ..StageLimits::default() }
    }

    fn admit(&mut self, seq: SeqId, prompt: &Prompt) -> Result<(), PluginError> {
        self.slots.admit(seq, Speaking::new(prompt.read()?))
    }

    fn feed(&mut self, seq: SeqId, _chunk: Option<Data>, _last: bool) -> Result<(), PluginError> {
        Err(PluginError::internal(format!("the talker is a first stage, yet sequence {seq} was fed")))
    }

    fn step(&mut self, plan: &StepPlan) -> Result<Vec<StageEvent>, PluginError> {
        let mut events = Vec::new();
        let mut pause = Duration::ZERO;
        for work in &plan.work {
            match self.advance(*work, &mut events) {
                Ok(takes) => pause = pause.max(takes),
                Err(error) => events.push(StageEvent::Failed { seq: work.seq, error }),
            }
        }
        self.services.observe("sine_talker_batch", plan.work.len() as f64);
        thread::sleep(pause);
        Ok(events)
    }

    fn release(&mut self, seq: SeqId) {
        self.slots.release(seq);
    }
}

impl Speaking {
    fn new(utterance: Utterance) -> Self {
        let total = utterance.score.frames().min(utterance.max_frames);
        Self { utterance, note: 0, into_note: 0, made: 0, total, drift: 0.0 }
    }

    /// The next frame; none when all are made. The last one is silent, so that speech never ends in a click.
    fn next_frame(&mut self) -> Option<Frame> {
        let Utterance { score, pitch_hz, amplitude, melody, seed, .. } = &self.utterance;
        let note = score.notes.get(self.note).filter(|_| self.made < self.total)?;
        let sounds = note.sounds && self.made + 1 < self.total;
        // Notes count down from the largest number and frames up from 0: no draw is used twice.
        let interval = INTERVAL * noise(*seed, !(self.note as u64));
        self.drift = 0.7 * self.drift + WANDER * noise(*seed, self.made);
        let sung = melody.get(self.made as usize % melody.len().max(1)).map_or(0.0, |steps| Frame::semitones(*steps));
        let frequency_hz = pitch_hz * ((interval + self.drift + sung) / 12.0).exp2();
        let frame = Frame::new(frequency_hz, if sounds { *amplitude } else { 0.0 });
        self.move_on();
        Some(frame)
    }

    /// Goes one frame on, past notes that are over.
    fn move_on(&mut self) {
        self.made += 1;
        self.into_note += 1;
        while self.utterance.score.notes.get(self.note).is_some_and(|note| note.frames <= self.into_note) {
            self.note += 1;
            self.into_note = 0;
        }
    }

    /// Why it ended, once it has.
    fn end(&self) -> Option<FinishReason> {
        let cut = self.total < self.utterance.score.frames();
        (self.made >= self.total).then_some(if cut { FinishReason::Length } else { FinishReason::Stop })
    }

    /// How long `frames` should take.
    fn paced(&self, frames: usize) -> Duration {
        self.utterance.pace.map_or(Duration::ZERO, |pace| Duration::from_secs_f32(frames as f32 / FRAME_RATE_HZ / pace))
    }
}
