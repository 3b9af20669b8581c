//! The family of a simulation: a talker that makes a frame a step and a codec that makes audio of frames. Both only say what they would
//! take; what they give is numbered, so that a listener can tell whether all of it came, once and in order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use omni_plugin_api::{
    Abilities, Data, DataKind, Device, FamilyInfo, FinishReason, Model, ModelInfo, PluginError, Prepared, Prompt, SeqId, SpeechRequest,
    Stage, StageEvent, StageInfo, StageLimits, StepPlan, TextRules, Voice,
};
use serde::{Deserialize, Serialize};

/// Samples of a frame: its number, its speaker, and the rest of 80 ms at 100 samples a second.
const FRAME_LEN: usize = 8;
/// Rate of the samples.
const SAMPLE_RATE_HZ: u32 = 100;

/// What a stage takes, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    /// For any step.
    pub step_us: u64,
    /// For each sequence in it.
    pub row_us: u64,
    /// For each unit of a sequence.
    pub unit_us: u64,
    /// For each token of a prompt that is new.
    pub token_us: u64,
}

/// A stage of the model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelledStage {
    /// What it can hold.
    pub limits: StageLimits,
    /// What it takes.
    pub cost: Cost,
}

/// What a request is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Script {
    /// Tells its frames from those of others.
    pub speaker: u32,
    /// Frames of its speech.
    pub frames: u32,
    /// Tokens of its prompt.
    pub prompt_tokens: u64,
    /// The frame at which it fails, alone.
    pub fails_at: Option<u32>,
    /// The frame at which the stage fails, with all that is in it.
    pub breaks_at: Option<u32>,
}

/// What is known of all stages that are open.
#[derive(Debug, Default)]
pub struct Books {
    held: Mutex<BTreeMap<usize, BTreeSet<SeqId>>>,
    admitted: Mutex<Vec<SeqId>>,
    opened: AtomicUsize,
    /// Of the step that was submitted last.
    cost_us: AtomicU64,
}

impl Books {
    fn held(&self) -> MutexGuard<'_, BTreeMap<usize, BTreeSet<SeqId>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Slots that are taken, as the stages see it.
    pub fn slots(&self) -> usize {
        self.held().values().map(BTreeSet::len).sum()
    }

    /// The sequences that the talker took, in order.
    pub fn admitted(&self) -> Vec<SeqId> {
        self.admitted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Microseconds of the step that was submitted last.
    pub fn cost_us(&self) -> u64 {
        self.cost_us.load(Ordering::Acquire)
    }
}

/// The model.
pub struct Modelled {
    /// Talker and codec.
    pub stages: [ModelledStage; 2],
    /// What its stages write down.
    pub books: Arc<Books>,
}

/// The model's description.
pub fn info() -> FamilyInfo {
    let stage = |name: &str, input, output| StageInfo { name: name.to_owned(), input, output };
    FamilyInfo {
        name: "modelled".to_owned(),
        title: String::new(),
        version: "0".to_owned(),
        description: String::new(),
        weights_license: "none".to_owned(),
        checkpoints: Vec::new(),
        request_schema: serde_json::json!({}),
        sample_rate_hz: SAMPLE_RATE_HZ,
        channels: 1,
        stages: vec![stage("talker", DataKind::Prompt, DataKind::Codes), stage("codec", DataKind::Codes, DataKind::Pcm)],
        abilities: Abilities { streams: true, ..Abilities::default() },
        text: TextRules::default(),
        deploy: String::new(),
        settings: Vec::new(),
    }
}

impl Modelled {
    fn open(&self, index: usize) -> Result<Box<dyn Stage>, PluginError> {
        let modelled = self.stages.get(index).ok_or_else(|| PluginError::internal("there are two stages"))?.clone();
        let (books, number) = (Arc::clone(&self.books), self.books.opened.fetch_add(1, Ordering::AcqRel));
        let core = Core { modelled, books, number, sequences: BTreeMap::new(), plan: StepPlan::default() };
        Ok(if index == 0 { Box::new(Talker(core)) } else { Box::new(Codec(core)) })
    }
}

impl Model for Modelled {
    fn info(&self) -> ModelInfo {
        ModelInfo { voices: Vec::new(), sample_rate_hz: SAMPLE_RATE_HZ, max_model_len: None, speaker_embedding_dim: None }
    }

    fn prepare(&self, _: &SpeechRequest, _: &Voice) -> Result<Prepared, PluginError> {
        Err(PluginError::internal("a simulation makes its prompts itself"))
    }

    fn open_stage(&self, index: usize) -> Result<Box<dyn Stage>, PluginError> {
        self.open(index)
    }

    fn open_stage_on(&self, index: usize, _: Device) -> Result<Box<dyn Stage>, PluginError> {
        self.open(index)
    }
}

/// What both stages share.
struct Core {
    modelled: ModelledStage,
    books: Arc<Books>,
    number: usize,
    sequences: BTreeMap<SeqId, Sequence>,
    plan: StepPlan,
}

struct Sequence {
    script: Script,
    made: u32,
    waiting: Vec<i32>,
    is_new: bool,
    has_last: bool,
}

impl Core {
    fn admit(&mut self, seq: SeqId, prompt: &Prompt) -> Result<(), PluginError> {
        if self.sequences.len() >= self.modelled.limits.slots {
            return Err(PluginError::internal("more sequences than slots"));
        }
        let sequence = Sequence { script: prompt.read()?, made: 0, waiting: Vec::new(), is_new: true, has_last: false };
        if self.sequences.insert(seq, sequence).is_some() {
            return Err(PluginError::internal("admitted twice"));
        }
        self.books.held().entry(self.number).or_default().insert(seq);
        Ok(())
    }

    fn release(&mut self, seq: SeqId) {
        self.sequences.remove(&seq);
        self.books.held().entry(self.number).or_default().remove(&seq);
    }

    /// Keeps the plan and writes down what it takes.
    fn submit(&mut self, plan: &StepPlan) -> Result<(), PluginError> {
        if plan.work.len() > self.modelled.limits.batch {
            return Err(PluginError::internal("a step of more sequences than a batch holds"));
        }
        self.plan.clone_from(plan);
        let Cost { step_us, row_us, unit_us, token_us } = self.modelled.cost;
        let mut cost_us = step_us;
        for work in &plan.work {
            let sequence = self.sequences.get_mut(&work.seq).ok_or_else(|| PluginError::internal("a step of a stranger"))?;
            let units = if sequence.waiting.is_empty() { work.max_units } else { work.max_units.min(sequence.waiting.len() / 2) };
            cost_us += row_us + unit_us * units as u64;
            if std::mem::take(&mut sequence.is_new) {
                cost_us += token_us * sequence.script.prompt_tokens;
            }
        }
        self.books.cost_us.store(cost_us, Ordering::Release);
        Ok(())
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        self.books.held().remove(&self.number);
    }
}

struct Talker(Core);

impl Stage for Talker {
    fn limits(&self) -> StageLimits {
        self.0.modelled.limits.clone()
    }

    fn admit(&mut self, seq: SeqId, prompt: &Prompt) -> Result<(), PluginError> {
        self.0.admit(seq, prompt)?;
        self.0.books.admitted.lock().unwrap_or_else(PoisonError::into_inner).push(seq);
        Ok(())
    }

    fn feed(&mut self, _: SeqId, _: Option<Data>, _: bool) -> Result<(), PluginError> {
        Err(PluginError::internal("a first stage is not fed"))
    }

    fn submit(&mut self, plan: &StepPlan) -> Result<(), PluginError> {
        self.0.submit(plan)
    }

    fn collect(&mut self) -> Result<Vec<StageEvent>, PluginError> {
        let mut events = Vec::new();
        for work in std::mem::take(&mut self.0.plan).work {
            let (seq, sequence) = (work.seq, self.0.sequences.get_mut(&work.seq));
            let sequence = sequence.ok_or_else(|| PluginError::internal("a step of a stranger"))?;
            let Script { speaker, frames, fails_at, breaks_at, .. } = sequence.script;
            if breaks_at == Some(sequence.made) {
                return Err(PluginError::internal("broken, as told"));
            }
            if fails_at == Some(sequence.made) {
                events.push(StageEvent::Failed { seq, error: PluginError::internal("failed, as told") });
                continue;
            }
            let codes = vec![sequence.made as i32, speaker as i32];
            sequence.made += 1;
            events.push(StageEvent::Output { seq, data: Data::Codes { codes, codebooks: 2 } });
            if sequence.made >= frames {
                events.push(StageEvent::Finished { seq, reason: FinishReason::Stop, generated: u64::from(frames) });
            }
        }
        Ok(events)
    }

    fn release(&mut self, seq: SeqId) {
        self.0.release(seq);
    }
}

struct Codec(Core);

impl Stage for Codec {
    fn limits(&self) -> StageLimits {
        self.0.modelled.limits.clone()
    }

    fn admit(&mut self, seq: SeqId, prompt: &Prompt) -> Result<(), PluginError> {
        self.0.admit(seq, prompt)
    }

    fn feed(&mut self, seq: SeqId, chunk: Option<Data>, last: bool) -> Result<(), PluginError> {
        let sequence = self.0.sequences.get_mut(&seq).ok_or_else(|| PluginError::internal("a stranger is fed"))?;
        if let Some(Data::Codes { codes, .. }) = chunk {
            sequence.waiting.extend(codes);
        }
        sequence.has_last |= last;
        Ok(())
    }

    fn submit(&mut self, plan: &StepPlan) -> Result<(), PluginError> {
        self.0.submit(plan)
    }

    fn collect(&mut self) -> Result<Vec<StageEvent>, PluginError> {
        let mut events = Vec::new();
        for work in std::mem::take(&mut self.0.plan).work {
            let (seq, sequence) = (work.seq, self.0.sequences.get_mut(&work.seq));
            let sequence = sequence.ok_or_else(|| PluginError::internal("a step of a stranger"))?;
            let count = work.max_units.min(sequence.waiting.len() / 2) * 2;
            let codes: Vec<i32> = sequence.waiting.drain(..count).collect();
            let samples: Vec<f32> = codes.chunks_exact(2).flat_map(frame).collect();
            if !samples.is_empty() {
                events.push(StageEvent::Output { seq, data: Data::Pcm { samples, channels: 1 } });
            }
            match (sequence.waiting.is_empty(), sequence.has_last) {
                (true, true) => events.push(StageEvent::Finished { seq, reason: FinishReason::Stop, generated: 0 }),
                (true, false) => events.push(StageEvent::NeedsInput { seq }),
                (false, _) => {}
            }
        }
        Ok(events)
    }

    fn release(&mut self, seq: SeqId) {
        self.0.release(seq);
    }
}

fn frame(codes: &[i32]) -> [f32; FRAME_LEN] {
    let mut samples = [0.0; FRAME_LEN];
    for (sample, code) in samples.iter_mut().zip(codes) {
        *sample = *code as f32;
    }
    samples
}

/// The frames that samples carry: number and speaker of each.
pub fn frames(samples: &[f32]) -> Vec<(u32, u32)> {
    samples.chunks(FRAME_LEN).map(|frame| (frame[0] as u32, frame.get(1).map_or(u32::MAX, |speaker| *speaker as u32))).collect()
}
