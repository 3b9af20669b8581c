//! A small engine for tests: one thread, every stage in turn, any batch and any chunk size.

use std::collections::VecDeque;

use crate::{
    Data, Family, FamilyInfo, FinishReason, Model, ModelSource, Placement, PluginError, Prompt, SeqId, SeqWork, Services, SpeechRequest,
    Stage, StageEvent, StepPlan, Voice,
};

/// Steps without any event after which a family is taken to hang.
const IDLE_STEPS: usize = 10_000;

/// A loaded family and how to drive it.
pub struct Rig {
    info: FamilyInfo,
    model: Box<dyn Model>,
    voice: Voice,
}

/// What came out for one request.
#[derive(Debug, Clone, PartialEq)]
pub struct Spoken {
    /// All samples, interleaved.
    pub samples: Vec<f32>,
    /// The length of each chunk in samples, in order.
    pub chunks: Vec<usize>,
    /// Why it ended: [`FinishReason::Length`] when any stage was cut short.
    pub reason: FinishReason,
}

/// One request on its way through the stages.
struct Sequence {
    id: SeqId,
    prompt: Prompt,
    /// What each stage still has to be fed, and whether its sender has ended.
    inboxes: Vec<VecDeque<(Option<Data>, bool)>>,
    states: Vec<State>,
    spoken: Spoken,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Outside,
    Hungry,
    Runnable,
    Done,
}

impl Rig {
    /// Opens a family on the CPU.
    pub fn open(family: &dyn Family, source: &ModelSource) -> Result<Self, PluginError> {
        Self::open_on(family, source, &Placement::default())
    }

    /// Opens a family as a deploy file would place it.
    pub fn open_on(family: &dyn Family, source: &ModelSource, placement: &Placement) -> Result<Self, PluginError> {
        let model = family.open(source, placement, Services::silent())?;
        Ok(Self { info: family.describe(), model, voice: Voice::default() })
    }

    /// The same model, speaking with `voice` from now on.
    #[must_use]
    pub fn with_voice(self, voice: Voice) -> Self {
        Self { voice, ..self }
    }

    /// The model, for calls that need no stage.
    pub fn model(&self) -> &dyn Model {
        &*self.model
    }

    /// Speaks one request in steps of the stages' own liking.
    pub fn speak(&self, request: &SpeechRequest) -> Result<Spoken, PluginError> {
        self.speak_with(std::slice::from_ref(request), None)?.pop().ok_or_else(|| PluginError::internal("nothing was spoken"))
    }

    /// Speaks one request in steps of at most `max_units` units.
    pub fn speak_in_steps(&self, request: &SpeechRequest, max_units: usize) -> Result<Spoken, PluginError> {
        let mut all = self.speak_with(std::slice::from_ref(request), Some(max_units))?;
        all.pop().ok_or_else(|| PluginError::internal("nothing was spoken"))
    }

    /// Speaks several requests in one batch; what was spoken comes in the order of the requests.
    pub fn speak_together(&self, requests: &[SpeechRequest]) -> Result<Vec<Spoken>, PluginError> {
        self.speak_with(requests, None)
    }

    fn speak_with(&self, requests: &[SpeechRequest], max_units: Option<usize>) -> Result<Vec<Spoken>, PluginError> {
        self.speak_on(&mut self.open_stages()?, requests, max_units, 1)
    }

    /// Opens one replica of every stage, for [`Rig::speak_on`].
    pub fn open_stages(&self) -> Result<Vec<Box<dyn Stage>>, PluginError> {
        (0..self.info.stages.len()).map(|index| self.model.open_stage(index)).collect()
    }

    /// Speaks on stages that are already open, numbering sequences from `first_id`: for tests of slots that are used again.
    pub fn speak_on(
        &self,
        stages: &mut [Box<dyn Stage>],
        requests: &[SpeechRequest],
        max_units: Option<usize>,
        first_id: SeqId,
    ) -> Result<Vec<Spoken>, PluginError> {
        let mut sequences = Vec::new();
        for (id, request) in (first_id..).zip(requests) {
            let prepared = self.model.prepare(request, &self.voice)?;
            sequences.push(Sequence::new(id, prepared.prompt, stages.len()));
        }
        let mut idle = 0;
        while sequences.iter().any(|sequence| !sequence.is_done()) {
            let mut events = 0;
            for (index, stage) in stages.iter_mut().enumerate() {
                events += self.turn(index, &mut **stage, &mut sequences, max_units)?;
            }
            idle = if events == 0 { idle + 1 } else { 0 };
            if idle > IDLE_STEPS {
                return Err(PluginError::internal(format!("no stage said anything for {IDLE_STEPS} steps")));
            }
        }
        sequences.sort_by_key(|sequence| sequence.id);
        Ok(sequences.into_iter().map(|sequence| sequence.spoken).collect())
    }

    /// Admits, feeds and steps one stage; returns the number of events.
    fn turn(
        &self,
        index: usize,
        stage: &mut dyn Stage,
        sequences: &mut [Sequence],
        max_units: Option<usize>,
    ) -> Result<usize, PluginError> {
        let limits = stage.limits();
        let mut free = limits.slots - sequences.iter().filter(|sequence| sequence.holds_slot(index)).count();
        for sequence in sequences.iter_mut() {
            sequence.enter(index, stage, &mut free)?;
        }
        let runnable = sequences.iter().filter(|sequence| sequence.states[index] == State::Runnable);
        let units = max_units.unwrap_or(limits.step_units);
        let work: Vec<SeqWork> = runnable.take(limits.batch).map(|sequence| SeqWork { seq: sequence.id, max_units: units }).collect();
        if work.is_empty() {
            return Ok(0);
        }
        stage.submit(&StepPlan { work })?;
        let events = stage.collect()?;
        let count = events.len();
        for event in events {
            self.check_kind(index, &event)?;
            let sequence = sequences.iter_mut().find(|sequence| sequence.id == event.seq());
            let sequence = sequence.ok_or_else(|| PluginError::internal("an event names a sequence that is not there"))?;
            sequence.take(index, stage, event)?;
        }
        sequences.rotate_left(usize::from(!sequences.is_empty()));
        sequences.sort_by_key(|sequence| sequence.states[index] == State::Done);
        Ok(count)
    }

    /// An output must be of the kind that its stage declares.
    fn check_kind(&self, index: usize, event: &StageEvent) -> Result<(), PluginError> {
        let declared = &self.info.stages[index];
        match event {
            StageEvent::Output { data, .. } if data.kind() != declared.output => {
                let (name, expected, found) = (&declared.name, declared.output, data.kind());
                Err(PluginError::internal(format!("stage '{name}' declares {expected:?} and gave {found:?}")))
            }
            _ => Ok(()),
        }
    }
}

impl Sequence {
    fn new(id: SeqId, prompt: Prompt, stages: usize) -> Self {
        let spoken = Spoken { samples: Vec::new(), chunks: Vec::new(), reason: FinishReason::Stop };
        Self { id, prompt, inboxes: vec![VecDeque::new(); stages], states: vec![State::Outside; stages], spoken }
    }

    fn is_done(&self) -> bool {
        self.states.last() == Some(&State::Done)
    }

    fn holds_slot(&self, index: usize) -> bool {
        matches!(self.states[index], State::Hungry | State::Runnable)
    }

    /// Takes a slot if there is a reason to and one is free, then feeds what waits.
    fn enter(&mut self, index: usize, stage: &mut dyn Stage, free: &mut usize) -> Result<(), PluginError> {
        let has_reason = index == 0 || !self.inboxes[index].is_empty();
        if self.states[index] == State::Outside && has_reason && *free > 0 {
            *free -= 1;
            stage.admit(self.id, &self.prompt)?;
            self.states[index] = if index == 0 { State::Runnable } else { State::Hungry };
        }
        if self.states[index] == State::Hungry
            && let Some((chunk, last)) = self.inboxes[index].pop_front()
        {
            stage.feed(self.id, chunk, last)?;
            self.states[index] = State::Runnable;
        }
        Ok(())
    }

    fn take(&mut self, index: usize, stage: &mut dyn Stage, event: StageEvent) -> Result<(), PluginError> {
        match event {
            StageEvent::Output { data, .. } => self.pass_on(index, data)?,
            StageEvent::NeedsInput { .. } => self.states[index] = State::Hungry,
            StageEvent::Finished { reason, .. } => {
                if reason == FinishReason::Length {
                    self.spoken.reason = reason;
                }
                self.states[index] = State::Done;
                stage.release(self.id);
                if let Some(inbox) = self.inboxes.get_mut(index + 1) {
                    inbox.push_back((None, true));
                }
            }
            StageEvent::Failed { error, .. } => return Err(error),
        }
        Ok(())
    }

    fn pass_on(&mut self, index: usize, data: Data) -> Result<(), PluginError> {
        if !data.is_well_formed() {
            return Err(PluginError::internal(format!("stage {index} gave a chunk that does not fill its shape")));
        }
        if let Some(inbox) = self.inboxes.get_mut(index + 1) {
            inbox.push_back((Some(data), false));
            return Ok(());
        }
        let Data::Pcm { samples, .. } = data else {
            return Err(PluginError::internal(format!("the last stage gave {:?} instead of audio", data.kind())));
        };
        self.spoken.chunks.push(samples.len());
        self.spoken.samples.extend(samples);
        Ok(())
    }
}
