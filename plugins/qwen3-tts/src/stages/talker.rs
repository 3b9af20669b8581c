//! Prompt to frames of codes, for many sequences at once.
//!
//! A step reads at most [`CHUNK`] rows of prompts, so that those who speak never wait long for those who begin; then it makes one frame
//! for each sequence that has read its prompt. Prompts are read alone and in pieces of fixed size, frames are drawn with noise that
//! depends on seed and frame: what a sequence says does not depend on who else is in the batch.

use std::sync::{Arc, Mutex};

use burn::tensor::{Device, Int, Tensor, TensorData};
use omni_blocks::device;
use omni_blocks::kv::{KvRow, PagedKv};
use omni_blocks::sample::{History, Settings};
use omni_plugin_api::{Data, FinishReason, PluginError, Prompt, SeqId, SeqWork, Services, StageEvent, StageLimits, StepPlan, StepStage};

use super::Slots;
use super::memory::{Memory, lock};
use super::recorded::{Drawn, Recorded, RecordedRow, doublings};
use super::speaking::{End, Speaking};
use crate::config::Config;
use crate::layout::{Layout, Script, Speaker};
use crate::load::Weights;
use crate::nn::{PromptRows, Row};
use crate::prompt::{Conditioning, Speech};

/// Rows of prompts that one step reads.
const CHUNK: usize = 128;
/// Longest prompt that a device has met before the first request, with its pieces: as long as most clones need.
const WARMED: usize = 3 * CHUNK;
/// Sequences that begin in one step, of those that a device has met before the first request: that many short prompts fit into a step.
const BEGINNERS: usize = 4;
/// How most requests draw.
const ORDINARY: Settings = Settings { temperature: 0.9, top_k: 50, top_p: 1.0, penalty: 1.05, min_tokens: 2 };
/// Positions of a page.
pub const PAGE: usize = 64;

/// How much a talker holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TalkerRoom {
    /// Sequences at once.
    pub slots: usize,
    /// Positions of all of them together.
    pub positions: usize,
}

impl TalkerRoom {
    /// Pages of the cache.
    fn pages(&self) -> usize {
        self.positions.div_ceil(PAGE)
    }
}

/// How frames are made once a prompt was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frames {
    /// Operation by operation, drawn on the host: exact, a row at a time.
    Plain,
    /// As a recorded graph, drawn on the device; requests whose settings it cannot follow are made plainly.
    Recorded,
}

/// The stage.
pub struct TalkerStage {
    weights: Arc<Weights>,
    config: Arc<Config>,
    slots: Slots<Speaking>,
    memory: Arc<Mutex<Memory>>,
    recorded: Option<Recorded>,
    room: TalkerRoom,
}

impl TalkerStage {
    /// A stage with all slots free.
    pub fn new(weights: Arc<Weights>, config: Arc<Config>, room: TalkerRoom, frames: Frames, services: Services) -> Self {
        let _working = device::work();
        let shape = crate::nn::Talker::kv_shape(&config.talker_config);
        let kv = PagedKv::new(shape, room.pages(), PAGE, &weights.device, weights.dtype);
        let memory =
            Arc::new(Mutex::new(Memory::new(kv, room.slots, weights.talker.codes() + 1, weights.talker.codebooks(), &weights.device)));
        let recorded = Recorded::new(Arc::clone(&weights), Arc::clone(&memory), room.slots, services);
        let recorded = (frames == Frames::Recorded).then_some(recorded);
        Self { weights, config, slots: Slots::new(room.slots), memory, recorded, room }
    }

    /// Gets what a device compiles and tunes out of the way of the first requests.
    pub fn warm(&mut self, services: &Services) -> Result<(), PluginError> {
        let Some(recorded) = &mut self.recorded else { return Ok(()) };
        recorded.warm()?;
        self.warm_prompts(services)?;
        // As a request would: whatever it takes, recording included.
        self.warm_speech()?;
        self.weights.device.sync().map_err(device_failed)
    }

    /// Reads prompts and begins speech with nothing in them.
    fn warm_prompts(&mut self, services: &Services) -> Result<(), PluginError> {
        let _working = device::work();
        for before in (0..WARMED).step_by(CHUNK) {
            services.progress("prompts", before as u64, WARMED as u64);
            for count in doublings(CHUNK) {
                self.warm_prompt(before, count)?;
            }
        }
        doublings(BEGINNERS.min(self.room.slots)).try_for_each(|count| self.warm_draw(count))?;
        doublings(WARMED).try_for_each(|count| self.weights.text.vectors(&vec![0; count]).map(drop)).map_err(device_failed)
    }

    /// Reads rows of nothing as if `before` others had been read, in pages that nobody uses yet.
    fn warm_prompt(&mut self, before: usize, count: usize) -> Result<(), PluginError> {
        let kv = &mut lock(&self.memory)?.kv;
        let Some(mut row) = kv.reserve(before + count) else { return Ok(()) };
        row.advance(before);
        let rows = Tensor::zeros([1, count, self.weights.talker.width()], (&self.weights.device, self.weights.dtype));
        let hidden = self.weights.talker.read(rows, positions(&[&row], count, &self.weights.device), &mut kv.pass(vec![&row]));
        kv.release(row);
        drop(hidden);
        Ok(())
    }

    /// Draws a frame for so many rows of nothing, as for sequences that have just read their prompts.
    fn warm_draw(&self, count: usize) -> Result<(), PluginError> {
        let (talker, dtype) = (&self.weights.talker, self.weights.dtype);
        let hidden = Tensor::zeros([count, 1, talker.width()], (&self.weights.device, dtype));
        let row = Row { first: ORDINARY, rest: ORDINARY, seed: 0, frame: 0, history: History::default(), barred: None };
        talker.draw(hidden, &vec![&row; count], dtype).map(drop).map_err(device_failed)
    }

    /// Speaks a few frames of a text of nothing, all the way that a request goes. A model that cannot is told now.
    fn warm_speech(&mut self) -> Result<(), PluginError> {
        const NOBODY: SeqId = SeqId::MAX;
        let script = Script {
            instruction: Vec::new(),
            role: vec![0; 3],
            text: vec![0; 3],
            reference_text: Vec::new(),
            reference_frames: 0,
            language: None,
            speaker: Speaker::None,
            reads_ahead: false,
        };
        let speech = Speech { script, first: ORDINARY, rest: ORDINARY, seed: 0, max_frames: 4, must_end: false, loud_frames: 0 };
        let prompt = speech.prompt(Conditioning::default(), self.weights.talker.codebooks())?;
        self.admit(NOBODY, &prompt)?;
        let plan = StepPlan { work: vec![SeqWork { seq: NOBODY, max_units: 1 }] };
        let outcome = loop {
            let ends = self.step(&plan)?.into_iter().find_map(|event| match event {
                StageEvent::Finished { .. } => Some(Ok(())),
                StageEvent::Failed { error, .. } => Some(Err(error)),
                StageEvent::Output { .. } | StageEvent::NeedsInput { .. } => None,
            });
            if let Some(outcome) = ends {
                break outcome;
            }
        };
        self.release(NOBODY);
        outcome
    }

    /// Reads pieces of the plan's prompts that are not read yet, [`CHUNK`] rows in all; the hidden states of those that are read now.
    fn read_prompts(&mut self, plan: &StepPlan) -> Result<Vec<(SeqId, Tensor<3>)>, PluginError> {
        let (mut read, mut left) = (Vec::new(), CHUNK);
        for seq in plan.work.iter().map(|work| work.seq) {
            let piece = self.slots.get(seq)?.unread().min(CHUNK);
            if piece == 0 {
                continue;
            }
            // A piece is never made smaller for others: what a sequence says would depend on them.
            if piece > left {
                break;
            }
            left -= piece;
            read.extend(self.read_piece(seq, piece)?.map(|hidden| (seq, hidden)));
        }
        Ok(read)
    }

    /// Reads the next rows of a prompt; the hidden state of its last row, `[1, 1, width]`, once all is read.
    fn read_piece(&mut self, seq: SeqId, count: usize) -> Result<Option<Tensor<3>>, PluginError> {
        let speaking = self.slots.get_mut(seq)?;
        let Some(rows) = speaking.next_rows(count) else { return Ok(None) };
        let positions = positions(&[&speaking.kv], count, &self.weights.device);
        let hidden = self.weights.talker.read(rows, positions, &mut lock(&self.memory)?.kv.pass(vec![&speaking.kv]));
        speaking.kv.advance(count);
        Ok((speaking.unread() == 0).then(|| hidden.narrow(1, count - 1, 1)))
    }

    /// Reads the newest frame of each sequence: their hidden states, `[R, 1, width]`.
    fn read_frames(&mut self, seqs: &[SeqId]) -> Result<Tensor<3>, PluginError> {
        let device = &self.weights.device;
        let speaking = seqs.iter().map(|seq| self.slots.get(*seq)).collect::<Result<Vec<_>, _>>()?;
        let codes: Vec<i64> = speaking.iter().flat_map(|speaking| speaking.newest.iter().flatten()).map(|code| i64::from(*code)).collect();
        let codebooks = self.weights.talker.codebooks();
        let codes: Tensor<2, Int> = Tensor::from_data(TensorData::new(codes, [seqs.len(), codebooks]), device);
        let text = Tensor::cat(speaking.iter().map(|speaking| speaking.text()).collect(), 0);
        let rows = (self.weights.talker.frames(codes) + text).unsqueeze_dim(1);
        let kv: Vec<&KvRow> = speaking.iter().map(|speaking| &speaking.kv).collect();
        let positions = positions(&kv, 1, device);
        let hidden = self.weights.talker.read(rows, positions, &mut lock(&self.memory)?.kv.pass(kv));
        seqs.iter().try_for_each(|seq| {
            self.slots.get_mut(*seq)?.kv.advance(1);
            Ok::<_, PluginError>(())
        })?;
        Ok(hidden)
    }

    /// Draws a frame for each sequence from its hidden state.
    fn draw(&mut self, seqs: &[SeqId], hidden: Tensor<3>) -> Result<Vec<StageEvent>, PluginError> {
        let rows = seqs.iter().map(|seq| self.slots.get(*seq).map(|speaking| &speaking.row)).collect::<Result<Vec<&Row>, _>>()?;
        let drawn = self.weights.talker.draw(hidden, &rows, self.weights.dtype);
        let drawn = drawn.map_err(|error| PluginError::internal(error.to_string()))?;
        let mut events = Vec::new();
        for (seq, frame) in seqs.iter().zip(drawn) {
            events.extend(self.settle(*seq, frame)?);
        }
        Ok(events)
    }

    /// Makes a frame for each sequence by a recorded step.
    fn run_recorded(&mut self, seqs: &[SeqId]) -> Result<Vec<StageEvent>, PluginError> {
        let Some(recorded) = &mut self.recorded else { return Ok(Vec::new()) };
        let row = |seq: &SeqId| Ok(RecordedRow { seq: *seq, slot: self.slots.place(*seq)?, speaking: self.slots.get(*seq)? });
        let rows = seqs.iter().map(row).collect::<Result<Vec<_>, PluginError>>()?;
        let drawn = recorded.run(&rows)?;
        let mut events = Vec::new();
        for (seq, frame) in seqs.iter().zip(drawn) {
            self.slots.get_mut(*seq)?.kv.advance(1);
            events.extend(self.settle(*seq, frame)?);
        }
        Ok(events)
    }

    /// What became of one sequence.
    fn settle(&mut self, seq: SeqId, frame: Drawn) -> Result<Vec<StageEvent>, PluginError> {
        let speaking = self.slots.get_mut(seq)?;
        let frame = match frame {
            Err(error) => return Ok(vec![StageEvent::Failed { seq, error: PluginError::internal(error.to_string()) }]),
            // The end is a token of its own.
            Ok(None) => {
                let generated = speaking.frames() as u64 + 1;
                return Ok(vec![StageEvent::Finished { seq, reason: FinishReason::Stop, generated }]);
            }
            Ok(Some(frame)) => frame,
        };
        let codes: Vec<i32> = frame.iter().map(|code| *code as i32).collect();
        let codebooks = codes.len();
        let mut events = vec![StageEvent::Output { seq, data: Data::Codes { codes, codebooks } }];
        match speaking.take(frame) {
            None => {}
            Some(End::Reason(reason)) => events.push(StageEvent::Finished { seq, reason, generated: speaking.frames() as u64 }),
            Some(End::Incomplete) => events.push(StageEvent::Failed { seq, error: incomplete(speaking) }),
        }
        Ok(events)
    }
}

/// The positions `[R, T]` of `time` new rows of each sequence.
fn positions(rows: &[&KvRow], time: usize, device: &Device) -> Tensor<2, Int> {
    let positions: Vec<i64> = rows.iter().flat_map(|row| (row.len()..row.len() + time).map(|position| position as i64)).collect();
    Tensor::from_data(TensorData::new(positions, [rows.len(), time]), device)
}

pub(super) fn device_failed(error: impl std::fmt::Display) -> PluginError {
    PluginError::internal(format!("the device failed: {error}"))
}

fn incomplete(speaking: &Speaking) -> PluginError {
    let (made, most) = (speaking.frames(), speaking.max_frames());
    PluginError::incomplete(format!(
        "Qwen3-TTS Base did not emit codec EOS before its token budget ({made}/{most} codec tokens); the generated audio is incomplete."
    ))
}

impl StepStage for TalkerStage {
    fn limits(&self) -> StageLimits {
        let shape = crate::nn::Talker::kv_shape(&self.config.talker_config);
        StageLimits {
            slots: self.room.slots,
            batch: self.room.slots,
            kv_tokens: (self.room.pages() * PAGE) as u64,
            kv_token_bytes: shape.bytes_per_position(self.weights.dtype),
            bytes_per_sequence: shape.bytes_per_position(self.weights.dtype) * (self.room.positions / self.room.slots) as u64,
            first_units: 1,
            step_units: 1,
            ..StageLimits::default()
        }
    }

    fn admit(&mut self, seq: SeqId, prompt: &Prompt) -> Result<(), PluginError> {
        self.slots.check_room()?;
        let _working = device::work();
        let speech: Speech = prompt.read()?;
        let talker = &self.weights.talker;
        let conditioning = Conditioning::of(&prompt.tensors, talker.codebooks())?;
        let layout = Layout::new(&speech.script, &self.config);
        let positions = layout.rows.len() + speech.max_frames;
        let kv = lock(&self.memory)?.kv.reserve(positions);
        let kv = kv.ok_or_else(|| PluginError::exhausted(format!("{positions} positions are not free in the talker's cache")))?;
        let rows = PromptRows::new(&layout, &conditioning, &self.weights.text, talker, self.config.tts_pad_token_id);
        match rows {
            Ok(rows) => self.slots.admit(seq, Speaking::new(&speech, rows, kv, &self.weights.silence)).map(|_| ()),
            Err(error) => {
                lock(&self.memory)?.kv.release(kv);
                Err(PluginError::internal(error.to_string()))
            }
        }
    }

    fn feed(&mut self, seq: SeqId, _chunk: Option<Data>, _last: bool) -> Result<(), PluginError> {
        Err(PluginError::internal(format!("the talker is the first stage, yet sequence {seq} was fed")))
    }

    fn step(&mut self, plan: &StepPlan) -> Result<Vec<StageEvent>, PluginError> {
        let speaks = |seq: &SeqId| self.slots.get(*seq).is_ok_and(|speaking| speaking.unread() == 0);
        let speaking = plan.work.iter().map(|work| work.seq).filter(speaks);
        let is_recorded = |seq: &SeqId| self.recorded.is_some() && self.slots.get(*seq).is_ok_and(Recorded::fits);
        let (recorded, mut seqs): (Vec<SeqId>, Vec<SeqId>) = speaking.partition(is_recorded);
        let mut events = if recorded.is_empty() { Vec::new() } else { self.run_recorded(&recorded)? };
        let _working = device::work();
        let read = self.read_prompts(plan)?;
        let mut hidden = if seqs.is_empty() { Vec::new() } else { vec![self.read_frames(&seqs)?] };
        for (seq, first) in read {
            seqs.push(seq);
            hidden.push(first);
        }
        if !seqs.is_empty() {
            events.extend(self.draw(&seqs, Tensor::cat(hidden, 0))?);
        }
        Ok(events)
    }

    fn release(&mut self, seq: SeqId) {
        if let (Some(speaking), Ok(mut memory)) = (self.slots.release(seq), lock(&self.memory)) {
            memory.kv.release(speaking.kv);
        }
    }
}
