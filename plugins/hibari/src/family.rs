//! What the host must know before anything is loaded.

use omni_plugin_api::{
    Abilities, DataKind, Device, Family, FamilyInfo, Model, ModelSource, Placement, PluginError, Services, StageInfo, TextRules, schema_of,
};
use schemars::JsonSchema;

use crate::HibariModel;
use crate::dsp::SAMPLE_RATE;

/// The family. It holds nothing: what is loaded lives in [`HibariModel`].
#[derive(Debug, Default)]
pub struct Hibari;

/// Request fields that only this family knows: none.
#[derive(JsonSchema)]
struct HibariRequest {}

impl Family for Hibari {
    fn describe(&self) -> FamilyInfo {
        FamilyInfo {
            name: "hibari".into(),
            title: "Hibari".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            description: "US English in one voice, small enough for any CPU; its weights are inside.".into(),
            weights_license: "Apache-2.0".into(),
            checkpoints: Vec::new(),
            request_schema: schema_of::<HibariRequest>(),
            sample_rate_hz: SAMPLE_RATE as u32,
            channels: 1,
            stages: vec![
                StageInfo { name: "acoustic".into(), input: DataKind::Prompt, output: DataKind::Latents },
                StageInfo { name: "vocoder".into(), input: DataKind::Latents, output: DataKind::Pcm },
            ],
            abilities: Abilities { streams: true, native_speed: true, ..Abilities::default() },
            text: TextRules { clean_up: true, ..TextRules::default() },
            deploy: include_str!("../deploy.yaml").into(),
            settings: Vec::new(),
        }
    }

    /// The voice runs on the CPU wherever it is placed: it is faster there than a start of a GPU's kernels would be.
    fn open(&self, source: &ModelSource, placement: &Placement, services: Services) -> Result<Box<dyn Model>, PluginError> {
        if let ModelSource::Directory(directory) = source {
            let found = directory.display();
            return Err(PluginError::checkpoint(format!("hibari carries its weights: expected no model directory, found '{found}'")));
        }
        if placement.devices.iter().any(|device| *device != Device::Cpu) {
            services.warn("the embedded voice runs on the CPU, whatever device it is placed on");
        }
        Ok(Box::new(HibariModel::open(&services)?))
    }
}
