//! The plugin's side: an author's objects behind the boundary, every entry contained against panics.

use std::mem::ManuallyDrop;

use abi_stable::prefix_type::PrefixTypeTrait;
use abi_stable::sabi_trait::TD_Opaque;
use abi_stable::std_types::{RResult, RStr, RString, RVec};
use serde_json::Value;

use super::objects::*;
pub use super::values::ErrorAbi;
use super::values::*;
use crate::error::contain;
use crate::{
    Device, Family, HostServices, Level, Metric, Model, PluginError, ReferenceAudio, SeqId, Services, SpeechRequest, Stage, StepPlan, Voice,
};

/// Runs an entry contained and converts its result for the boundary.
fn entry<T>(name: &str, call: impl FnOnce() -> Result<T, PluginError>) -> RResult<T, ErrorAbi> {
    contain(name, call).map_err(ErrorAbi::from).into()
}

/// Makes the family object; called by the function that [`crate::export_family`] writes.
pub fn family_object(make: impl FnOnce() -> Box<dyn Family>) -> RResult<FamilyBox, ErrorAbi> {
    entry("construction", || Ok(FamilyAbi_TO::from_value(Contained::new(make()), TD_Opaque)))
}

/// Makes the root module around the exported function.
pub fn root(family: extern "C" fn() -> RResult<FamilyBox, ErrorAbi>) -> PluginRootRef {
    PluginRoot { family }.leak_into_prefix()
}

pub use abi_stable::library::{__call_root_module_loader as call_root, CheckTypeLayout, RootModuleResult};

/// The return type of the exported constructor.
pub type FamilyResult = RResult<FamilyBox, ErrorAbi>;

/// An author's object whose destructor is contained too.
struct Contained<T>(ManuallyDrop<T>);

impl<T> Contained<T> {
    fn new(value: T) -> Self {
        Self(ManuallyDrop::new(value))
    }
}

impl<T> Drop for Contained<T> {
    fn drop(&mut self) {
        // SAFETY: taken once, here, in the destructor; nothing reads it afterwards.
        let value = unsafe { ManuallyDrop::take(&mut self.0) };
        // A destructor that panics has nobody to tell: what it held is lost, the host lives.
        let _ = contain("a destructor", || {
            drop(value);
            Ok(())
        });
    }
}

impl FamilyAbi for Contained<Box<dyn Family>> {
    fn describe(&self) -> RResult<RString, ErrorAbi> {
        entry("describe", || write_json("the description", &self.0.describe()))
    }

    fn open(&self, source: RStr<'_>, placement: RStr<'_>, host: HostBox) -> RResult<ModelBox, ErrorAbi> {
        entry("open", || {
            let source = read_json("the model source", &source)?;
            let placement = read_json("the placement", &placement)?;
            let model = self.0.open(&source, &placement, Services::new(RemoteHost(host)))?;
            Ok(ModelAbi_TO::from_value(Contained::new(model), TD_Opaque))
        })
    }

    fn layout(&self, source: RStr<'_>) -> RResult<RString, ErrorAbi> {
        entry("layout", || write_json("the layout", &self.0.layout(&read_json("the model source", &source)?)?))
    }

    fn blueprint(&self, request: RStr<'_>) -> RResult<RString, ErrorAbi> {
        entry("blueprint", || write_json("the blueprint", &self.0.blueprint(&read_json("the request", &request)?)?))
    }
}

impl ModelAbi for Contained<Box<dyn Model>> {
    fn info(&self) -> RResult<RString, ErrorAbi> {
        entry("info", || write_json("the model's description", &self.0.info()))
    }

    fn prepare(&self, request: RStr<'_>, voice: VoiceAbi) -> RResult<PreparedAbi, ErrorAbi> {
        entry("prepare", || {
            let request: SpeechRequest = read_json("the request", &request)?;
            let prepared = self.0.prepare(&request, &voice_in(voice)?)?;
            Ok(PreparedAbi {
                prompt: prepared.prompt.into(),
                usage: write_json("the counts", &Counts { usage: prepared.usage, extent: prepared.extent })?,
                warnings: prepared.warnings.into_iter().map(RString::from).collect(),
            })
        })
    }

    fn encode_reference(&self, samples: RVec<f32>, sample_rate_hz: u32, transcript: RStr<'_>) -> RResult<RVec<TensorAbi>, ErrorAbi> {
        entry("encode_reference", || {
            let transcript = Some(transcript.to_string()).filter(|text| !text.is_empty());
            let reference = ReferenceAudio { samples: samples.into_vec(), sample_rate_hz, transcript };
            self.0.encode_reference(&reference).map(tensors_out)
        })
    }

    fn open_stage(&self, index: u64) -> RResult<StageBox, ErrorAbi> {
        entry("open_stage", || {
            let index = usize::try_from(index).map_err(|_| PluginError::internal("the stage index does not fit this machine"))?;
            Ok(StageAbi_TO::from_value(Contained::new(self.0.open_stage(index)?), TD_Opaque))
        })
    }

    fn open_stage_on(&self, index: u64, device: RStr<'_>) -> RResult<StageBox, ErrorAbi> {
        entry("open_stage", || {
            let index = usize::try_from(index).map_err(|_| PluginError::internal("the stage index does not fit this machine"))?;
            let device = read_json("the device", &device)?;
            Ok(StageAbi_TO::from_value(Contained::new(self.0.open_stage_on(index, device)?), TD_Opaque))
        })
    }
}

impl StageAbi for Contained<Box<dyn Stage>> {
    fn limits(&self) -> RResult<RString, ErrorAbi> {
        entry("limits", || write_json("the limits", &self.0.limits()))
    }

    fn admit(&mut self, seq: u64, prompt: PromptAbi) -> RResult<(), ErrorAbi> {
        entry("admit", || self.0.admit(seq, &prompt.try_into()?))
    }

    fn feed(&mut self, seq: u64, chunk: DataAbi, last: bool) -> RResult<(), ErrorAbi> {
        entry("feed", || self.0.feed(seq, read_optional_data(chunk)?, last))
    }

    fn submit(&mut self, work: RVec<WorkAbi>) -> RResult<(), ErrorAbi> {
        entry("submit", || self.0.submit(&StepPlan { work: work.iter().map(Into::into).collect() }))
    }

    fn collect(&mut self) -> RResult<RVec<EventAbi>, ErrorAbi> {
        entry("step", || Ok(self.0.collect()?.into_iter().map(EventAbi::from).collect()))
    }

    fn release(&mut self, seq: u64) -> RResult<(), ErrorAbi> {
        entry("release", || {
            self.0.release(seq);
            Ok(())
        })
    }
}

fn voice_in(voice: VoiceAbi) -> Result<Voice, PluginError> {
    let present = |text: RString| Some(text.into_string()).filter(|text| !text.is_empty());
    Ok(Voice { name: present(voice.name), transcript: present(voice.transcript), tensors: tensors_in(voice.tensors)? })
}

/// The host as a plugin sees it.
struct RemoteHost(HostBox);

impl HostServices for RemoteHost {
    fn log(&self, level: Level, message: &str, fields: &Value) {
        self.0.log(level as u32, message.into(), fields.to_string().as_str().into());
    }

    fn metric(&self, metric: Metric, name: &str, value: f64) {
        self.0.metric(metric as u32, name.into(), value);
    }

    fn progress(&self, phase: &str, done: u64, total: u64) {
        self.0.progress(phase.into(), done, total);
    }

    fn is_cancelled(&self, seq: Option<SeqId>) -> bool {
        self.0.is_cancelled(seq.unwrap_or(0))
    }

    fn device_budget(&self, device: Device) -> u64 {
        let device = match device {
            Device::Cpu => "cpu".to_owned(),
            Device::Cuda(index) => format!("cuda:{index}"),
        };
        self.0.device_budget(device.as_str().into())
    }
}
