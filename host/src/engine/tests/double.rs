//! A family of two stages whose text says how many frames it has and how it misbehaves: `frames=12 panic-at=3`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use omni_plugin_api::{
    Abilities, Data, DataKind, Family, FamilyInfo, FinishReason, Model, ModelInfo, ModelSource, Placement, PluginError, Prepared, Prompt,
    SeqId, Services, SpeechRequest, Stage, StageEvent, StageInfo, StageLimits, StepPlan, StepStage, Stepwise, TextRules, Voice,
};

/// Samples of one frame.
pub const FRAME: usize = 480;

/// What the stages count, for tests to look at.
#[derive(Debug, Default)]
pub struct Counters {
    pub talker_steps: AtomicUsize,
    pub frames_made: AtomicUsize,
    pub held: AtomicI64,
    pub opened: AtomicUsize,
    pub largest_batch: AtomicUsize,
    /// Steps on another thread than the one that opened the stage.
    pub strayed: AtomicUsize,
    /// Set by a test: stages hang while they open.
    pub hangs_in_open: AtomicBool,
}

pub struct Double(pub Arc<Counters>);

impl Family for Double {
    fn describe(&self) -> FamilyInfo {
        let stage = |name: &str, input, output| StageInfo { name: name.to_owned(), input, output };
        FamilyInfo {
            name: "double".to_owned(),
            title: String::new(),
            version: "0.0.0".to_owned(),
            description: String::new(),
            weights_license: "none".to_owned(),
            checkpoints: Vec::new(),
            request_schema: serde_json::json!({}),
            sample_rate_hz: 24_000,
            channels: 1,
            stages: vec![stage("talker", DataKind::Prompt, DataKind::Codes), stage("codec", DataKind::Codes, DataKind::Pcm)],
            abilities: Abilities { streams: true, ..Abilities::default() },
            text: TextRules::default(),
            deploy: String::new(),
            settings: Vec::new(),
        }
    }

    fn open(&self, _: &ModelSource, _: &Placement, _: Services) -> Result<Box<dyn Model>, PluginError> {
        Ok(Box::new(DoubleModel(Arc::clone(&self.0))))
    }
}

struct DoubleModel(Arc<Counters>);

impl Model for DoubleModel {
    fn info(&self) -> ModelInfo {
        ModelInfo { voices: Vec::new(), sample_rate_hz: 24_000, max_model_len: None, ..ModelInfo::default() }
    }

    fn prepare(&self, request: &SpeechRequest, _: &Voice) -> Result<Prepared, PluginError> {
        match request.input.as_str() {
            "panic in prepare" => panic!("as told"),
            "hang in prepare" => std::thread::sleep(Duration::from_secs(10)),
            "refuse" => return Err(PluginError::invalid("input", "this text is refused")),
            _ => {}
        }
        Ok(Prepared { prompt: Prompt::of(&request.input)?, ..Prepared::default() })
    }

    fn open_stage(&self, index: usize) -> Result<Box<dyn Stage>, PluginError> {
        self.0.opened.fetch_add(1, Ordering::SeqCst);
        if self.0.hangs_in_open.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_secs(10));
        }
        Ok(match index {
            0 => Stepwise::boxed(Talker {
                counters: Arc::clone(&self.0),
                opened_on: std::thread::current().id(),
                sequences: BTreeMap::new(),
            }),
            _ => Stepwise::boxed(Codec { counters: Arc::clone(&self.0), sequences: BTreeMap::new() }),
        })
    }
}

/// A number in the text, such as `frames=12`.
fn number(prompt: &Prompt, name: &str) -> Option<i32> {
    let text = prompt.params.as_str().unwrap_or_default();
    let value = text.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))?;
    value.parse().ok()
}

/// Gives a frame a step, or misbehaves at frame `misdeed.1`.
struct Talker {
    counters: Arc<Counters>,
    opened_on: std::thread::ThreadId,
    sequences: BTreeMap<SeqId, (i32, i32, Prompt)>,
}

impl Talker {
    fn misbehave(&self, seq: SeqId, frame: i32, prompt: &Prompt) -> Option<Vec<StageEvent>> {
        let at = |name: &str| number(prompt, name) == Some(frame);
        let output = |data| vec![StageEvent::Output { seq, data }];
        if at("panic-at") {
            panic!("as told at frame {frame}");
        }
        if at("hang-at") {
            std::thread::sleep(Duration::from_secs(10));
        }
        if at("fail-at") {
            return Some(vec![StageEvent::Failed { seq, error: PluginError::internal("as told") }]);
        }
        if at("lie-at") {
            return Some(vec![StageEvent::NeedsInput { seq: seq + 1_000_000 }]);
        }
        if at("flood-at") {
            return Some(vec![StageEvent::NeedsInput { seq }; 10_000]);
        }
        if at("wrong-kind-at") {
            return Some(output(Data::Tokens(vec![1])));
        }
        if at("malformed-at") {
            return Some(output(Data::Codes { codes: vec![1, 2, 3], codebooks: 2 }));
        }
        at("silent-from").then(Vec::new)
    }
}

impl StepStage for Talker {
    fn limits(&self) -> StageLimits {
        StageLimits { slots: 8, batch: 8, ..StageLimits::default() }
    }

    fn admit(&mut self, seq: SeqId, prompt: &Prompt) -> Result<(), PluginError> {
        if number(prompt, "refuse-slot").is_some() {
            return Err(PluginError::exhausted("no slot, as told"));
        }
        self.counters.held.fetch_add(1, Ordering::SeqCst);
        let frames = number(prompt, "frames").unwrap_or(0);
        self.sequences.insert(seq, (0, frames, prompt.clone()));
        Ok(())
    }

    fn feed(&mut self, _: SeqId, _: Option<Data>, _: bool) -> Result<(), PluginError> {
        Err(PluginError::internal("a first stage is not fed"))
    }

    fn step(&mut self, plan: &StepPlan) -> Result<Vec<StageEvent>, PluginError> {
        self.counters.talker_steps.fetch_add(1, Ordering::SeqCst);
        self.counters.strayed.fetch_add(usize::from(std::thread::current().id() != self.opened_on), Ordering::SeqCst);
        self.counters.largest_batch.fetch_max(plan.work.len(), Ordering::SeqCst);
        let mut events = Vec::new();
        for work in &plan.work {
            let Some((frame, frames, prompt)) = self.sequences.get(&work.seq).cloned() else { continue };
            if let Some(misdeed) = self.misbehave(work.seq, frame, &prompt) {
                events.extend(misdeed);
                continue;
            }
            if frame < frames {
                self.counters.frames_made.fetch_add(1, Ordering::SeqCst);
                events.push(StageEvent::Output { seq: work.seq, data: Data::Codes { codes: vec![frame], codebooks: 1 } });
                self.sequences.insert(work.seq, (frame + 1, frames, prompt));
            }
            if frame + 1 >= frames {
                events.push(StageEvent::Finished { seq: work.seq, reason: FinishReason::Stop, generated: frames as u64 });
            }
        }
        Ok(events)
    }

    fn release(&mut self, seq: SeqId) {
        if let Some((_, _, prompt)) = self.sequences.remove(&seq) {
            self.counters.held.fetch_sub(1, Ordering::SeqCst);
            if number(&prompt, "hang-in-release").is_some() {
                std::thread::sleep(Duration::from_secs(10));
            }
        }
    }
}

/// Turns each code into a frame of that value; adds a little that depends on how many frames came before, so that state shows.
struct Codec {
    counters: Arc<Counters>,
    sequences: BTreeMap<SeqId, (Vec<i32>, usize, bool, Prompt)>,
}

/// The value of every sample of frame `index` that carries `code`.
pub fn sample(index: usize, code: i32) -> f32 {
    code as f32 / 1_000.0 + index as f32 / 1_000_000.0
}

impl StepStage for Codec {
    fn limits(&self) -> StageLimits {
        StageLimits { slots: 3, batch: 2, step_units: 4, ..StageLimits::default() }
    }

    fn admit(&mut self, seq: SeqId, prompt: &Prompt) -> Result<(), PluginError> {
        self.counters.held.fetch_add(1, Ordering::SeqCst);
        self.sequences.insert(seq, (Vec::new(), 0, false, prompt.clone()));
        Ok(())
    }

    fn feed(&mut self, seq: SeqId, chunk: Option<Data>, last: bool) -> Result<(), PluginError> {
        let Some(sequence) = self.sequences.get_mut(&seq) else { return Err(PluginError::internal("not admitted")) };
        if let Some(Data::Codes { codes, .. }) = chunk {
            sequence.0.extend(codes);
        }
        sequence.2 |= last;
        Ok(())
    }

    fn step(&mut self, plan: &StepPlan) -> Result<Vec<StageEvent>, PluginError> {
        let mut events = Vec::new();
        for work in &plan.work {
            let Some((codes, index, last, prompt)) = self.sequences.get_mut(&work.seq) else { continue };
            let seq = work.seq;
            let take = work.max_units.min(codes.len());
            if number(prompt, "nan-at").is_some_and(|at| (*index..*index + take).contains(&(at as usize))) {
                events.push(StageEvent::Output { seq, data: Data::Pcm { samples: vec![f32::NAN; FRAME], channels: 1 } });
            }
            for code in codes.drain(..take) {
                events.push(StageEvent::Output { seq, data: Data::Pcm { samples: vec![sample(*index, code); FRAME], channels: 1 } });
                *index += 1;
            }
            match (codes.is_empty(), *last) {
                (true, true) => events.push(StageEvent::Finished { seq, reason: FinishReason::Stop, generated: 0 }),
                (true, false) => events.push(StageEvent::NeedsInput { seq }),
                (false, _) => {}
            }
        }
        Ok(events)
    }

    fn release(&mut self, seq: SeqId) {
        if self.sequences.remove(&seq).is_some() {
            self.counters.held.fetch_sub(1, Ordering::SeqCst);
        }
    }
}
