//! The host's side: the objects of a loaded library as the safe traits again.

use abi_stable::sabi_trait::TD_Opaque;
use abi_stable::std_types::{RResult, RStr};

use super::objects::*;
use super::values::*;
use crate::error::contain;
use crate::{
    Blueprint, BlueprintRequest, CheckpointLayout, Data, Device, Family, FamilyInfo, HostServices, Level, Metric, Model, ModelInfo,
    ModelSource, NamedTensor, Placement, PluginError, Prepared, Prompt, ReferenceAudio, SeqId, Services, SpeechRequest, Stage, StageEvent,
    StageLimits, StepPlan, Voice,
};

/// A family of a loaded library. Its description is read once, at load, so that `describe` cannot fail later.
pub struct RemoteFamily {
    family: FamilyBox,
    info: FamilyInfo,
}

impl RemoteFamily {
    pub fn new(family: FamilyBox) -> Result<Self, PluginError> {
        let text = local(family.describe())?;
        Ok(Self { info: read_json("the family's description", &text)?, family })
    }
}

/// A result of the boundary as ours.
fn local<T>(result: RResult<T, ErrorAbi>) -> Result<T, PluginError> {
    result.into_result().map_err(PluginError::from)
}

impl Family for RemoteFamily {
    fn describe(&self) -> FamilyInfo {
        self.info.clone()
    }

    fn open(&self, source: &ModelSource, placement: &Placement, services: Services) -> Result<Box<dyn Model>, PluginError> {
        let source = write_json("the model source", source)?;
        let placement = write_json("the placement", placement)?;
        let host = HostAbi_TO::from_value(LocalHost(services), TD_Opaque);
        let model = local(self.family.open(source.as_rstr(), placement.as_rstr(), host))?;
        let info = read_json("the model's description", &local(model.info())?)?;
        Ok(Box::new(RemoteModel { model, info }))
    }

    fn layout(&self, source: &ModelSource) -> Result<CheckpointLayout, PluginError> {
        let source = write_json("the model source", source)?;
        read_json("the layout", &local(self.family.layout(source.as_rstr()))?)
    }

    fn blueprint(&self, request: &BlueprintRequest) -> Result<Blueprint, PluginError> {
        let request = write_json("the request", request)?;
        read_json("the blueprint", &local(self.family.blueprint(request.as_rstr()))?)
    }
}

struct RemoteModel {
    model: ModelBox,
    info: ModelInfo,
}

impl Model for RemoteModel {
    fn info(&self) -> ModelInfo {
        self.info.clone()
    }

    fn prepare(&self, request: &SpeechRequest, voice: &Voice) -> Result<Prepared, PluginError> {
        let request = write_json("the request", request)?;
        let voice = VoiceAbi {
            name: voice.name.clone().unwrap_or_default().into(),
            transcript: voice.transcript.clone().unwrap_or_default().into(),
            tensors: tensors_out(voice.tensors.clone()),
        };
        let prepared = local(self.model.prepare(request.as_rstr(), voice))?;
        let Counts { usage, extent } = read_json("the counts", &prepared.usage)?;
        let warnings = prepared.warnings.into_iter().map(Into::into).collect();
        Ok(Prepared { prompt: prepared.prompt.try_into()?, usage, warnings, extent })
    }

    fn encode_reference(&self, reference: &ReferenceAudio) -> Result<Vec<NamedTensor>, PluginError> {
        let transcript = reference.transcript.as_deref().unwrap_or_default();
        let tensors = self.model.encode_reference(reference.samples.clone().into(), reference.sample_rate_hz, transcript.into());
        tensors_in(local(tensors)?)
    }

    fn open_stage(&self, index: usize) -> Result<Box<dyn Stage>, PluginError> {
        RemoteStage::boxed(local(self.model.open_stage(index as u64))?)
    }

    fn open_stage_on(&self, index: usize, device: Device) -> Result<Box<dyn Stage>, PluginError> {
        let device = write_json("the device", &device)?;
        RemoteStage::boxed(local(self.model.open_stage_on(index as u64, device.as_rstr()))?)
    }
}

struct RemoteStage {
    stage: StageBox,
    limits: StageLimits,
}

impl RemoteStage {
    /// A stage with its limits, read once.
    fn boxed(stage: StageBox) -> Result<Box<dyn Stage>, PluginError> {
        let limits = read_json("the stage's limits", &local(stage.limits())?)?;
        Ok(Box::new(Self { stage, limits }))
    }
}

impl Stage for RemoteStage {
    fn limits(&self) -> StageLimits {
        self.limits.clone()
    }

    fn admit(&mut self, seq: SeqId, prompt: &Prompt) -> Result<(), PluginError> {
        local(self.stage.admit(seq, prompt.clone().into()))
    }

    fn feed(&mut self, seq: SeqId, chunk: Option<Data>, last: bool) -> Result<(), PluginError> {
        local(self.stage.feed(seq, optional_data(chunk), last))
    }

    fn submit(&mut self, plan: &StepPlan) -> Result<(), PluginError> {
        local(self.stage.submit(plan.work.iter().copied().map(Into::into).collect()))
    }

    fn collect(&mut self) -> Result<Vec<StageEvent>, PluginError> {
        local(self.stage.collect())?.into_iter().map(StageEvent::try_from).collect()
    }

    fn release(&mut self, seq: SeqId) {
        // A release that panics inside the plugin leaves the sequence to the plugin; the next step tells whether the stage still works.
        let _ = local(self.stage.release(seq));
    }
}

/// The host's services behind the boundary. They are contained as well: the plugin's thread must not unwind into us.
struct LocalHost(Services);

impl LocalHost {
    fn contained<T: Default>(&self, call: impl FnOnce(&dyn HostServices) -> T) -> T {
        contain("a host service", || Ok(call(self.0.inner()))).unwrap_or_default()
    }
}

impl HostAbi for LocalHost {
    fn log(&self, level: u32, message: RStr<'_>, fields: RStr<'_>) {
        let level = [Level::Error, Level::Warn, Level::Info].get(level as usize).copied().unwrap_or(Level::Debug);
        let fields = serde_json::from_str(&fields).unwrap_or(serde_json::Value::Null);
        self.contained(|host| host.log(level, &message, &fields));
    }

    fn metric(&self, metric: u32, name: RStr<'_>, value: f64) {
        let Some(metric) = [Metric::Count, Metric::Observe, Metric::Gauge].get(metric as usize).copied() else { return };
        self.contained(|host| host.metric(metric, &name, value));
    }

    fn progress(&self, phase: RStr<'_>, done: u64, total: u64) {
        self.contained(|host| host.progress(&phase, done, total));
    }

    fn is_cancelled(&self, seq: u64) -> bool {
        self.contained(|host| host.is_cancelled(Some(seq).filter(|seq| *seq != 0)))
    }

    fn device_budget(&self, device: RStr<'_>) -> u64 {
        let index = device.strip_prefix("cuda:").and_then(|index| index.parse().ok());
        self.contained(|host| host.device_budget(index.map_or(Device::Cpu, Device::Cuda)))
    }
}
