//! The objects of the boundary: a root module, and one trait object each for family, model, stage and host.

use abi_stable::library::RootModule;
use abi_stable::package_version_strings;
use abi_stable::sabi_types::VersionStrings;
use abi_stable::std_types::{RBox, RResult, RStr, RString, RVec};
use abi_stable::{StableAbi, declare_root_module_statics, sabi_trait};

use super::values::{DataAbi, ErrorAbi, EventAbi, PromptAbi, TensorAbi, WorkAbi};
use crate::INTERFACE_VERSION;

pub type FamilyBox = FamilyAbi_TO<'static, RBox<()>>;
pub type ModelBox = ModelAbi_TO<'static, RBox<()>>;
pub type StageBox = StageAbi_TO<'static, RBox<()>>;
pub type HostBox = HostAbi_TO<'static, RBox<()>>;

/// What a library exports.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = PluginRootRef)))]
pub struct PluginRoot {
    #[sabi(last_prefix_field)]
    pub family: extern "C" fn() -> RResult<FamilyBox, ErrorAbi>,
}

impl RootModule for PluginRootRef {
    declare_root_module_statics! {PluginRootRef}
    const BASE_NAME: &'static str = "omni_plugin";
    const NAME: &'static str = "omni_plugin";
    const VERSION_STRINGS: VersionStrings = VersionStrings { version: RStr::from_str(INTERFACE_VERSION), ..package_version_strings!() };
}

/// [`crate::HostServices`] on the boundary.
#[sabi_trait]
pub trait HostAbi: Send + Sync {
    fn log(&self, level: u32, message: RStr<'_>, fields: RStr<'_>);
    fn metric(&self, metric: u32, name: RStr<'_>, value: f64);
    fn progress(&self, phase: RStr<'_>, done: u64, total: u64);
    /// Sequence 0 asks about the load.
    fn is_cancelled(&self, seq: u64) -> bool;
    #[sabi(last_prefix_field)]
    fn device_budget(&self, device: RStr<'_>) -> u64;
}

/// [`crate::Family`] on the boundary.
#[sabi_trait]
pub trait FamilyAbi: Send + Sync {
    fn describe(&self) -> RResult<RString, ErrorAbi>;
    #[sabi(last_prefix_field)]
    fn open(&self, source: RStr<'_>, placement: RStr<'_>, host: HostBox) -> RResult<ModelBox, ErrorAbi>;
    fn layout(&self, source: RStr<'_>) -> RResult<RString, ErrorAbi>;
    fn blueprint(&self, request: RStr<'_>) -> RResult<RString, ErrorAbi>;
}

/// What `prepare` gives on the boundary.
#[repr(C)]
#[derive(StableAbi)]
pub struct PreparedAbi {
    pub prompt: PromptAbi,
    pub usage: RString,
    pub warnings: RVec<RString>,
}

/// A voice on the boundary; an absent name or transcript is empty.
#[repr(C)]
#[derive(StableAbi)]
pub struct VoiceAbi {
    pub name: RString,
    pub transcript: RString,
    pub tensors: RVec<TensorAbi>,
}

/// [`crate::Model`] on the boundary.
#[sabi_trait]
pub trait ModelAbi: Send + Sync {
    fn info(&self) -> RResult<RString, ErrorAbi>;
    fn prepare(&self, request: RStr<'_>, voice: VoiceAbi) -> RResult<PreparedAbi, ErrorAbi>;
    fn encode_reference(&self, samples: RVec<f32>, sample_rate_hz: u32, transcript: RStr<'_>) -> RResult<RVec<TensorAbi>, ErrorAbi>;
    #[sabi(last_prefix_field)]
    fn open_stage(&self, index: u64) -> RResult<StageBox, ErrorAbi>;
    fn open_stage_on(&self, index: u64, device: RStr<'_>) -> RResult<StageBox, ErrorAbi>;
}

/// [`crate::Stage`] on the boundary.
#[sabi_trait]
pub trait StageAbi: Send {
    fn limits(&self) -> RResult<RString, ErrorAbi>;
    fn admit(&mut self, seq: u64, prompt: PromptAbi) -> RResult<(), ErrorAbi>;
    fn feed(&mut self, seq: u64, chunk: DataAbi, last: bool) -> RResult<(), ErrorAbi>;
    fn submit(&mut self, work: RVec<WorkAbi>) -> RResult<(), ErrorAbi>;
    fn collect(&mut self) -> RResult<RVec<EventAbi>, ErrorAbi>;
    #[sabi(last_prefix_field)]
    fn release(&mut self, seq: u64) -> RResult<(), ErrorAbi>;
}
