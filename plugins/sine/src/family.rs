//! What the host must know before anything is loaded.

use omni_plugin_api::{
    Abilities, DataKind, Family, FamilyInfo, Model, ModelSource, Placement, PluginError, Services, StageInfo, TextRules, schema_of,
};

use crate::{SAMPLE_RATE_HZ, SineModel, SineRequest};

/// The family. It holds nothing: what is loaded lives in [`SineModel`].
#[derive(Debug, Default)]
pub struct SineFamily;

impl Family for SineFamily {
    fn describe(&self) -> FamilyInfo {
        FamilyInfo {
            name: "sine".into(),
            title: String::new(),
            version: env!("CARGO_PKG_VERSION").into(),
            description: "Speaks a tone that follows the text; it has no weights.".into(),
            weights_license: "Apache-2.0".into(),
            checkpoints: Vec::new(),
            request_schema: schema_of::<SineRequest>(),
            sample_rate_hz: SAMPLE_RATE_HZ,
            channels: 1,
            stages: stages(),
            abilities: Abilities {
                streams: true,
                native_speed: true,
                clones: true,
                reference_rate_hz: SAMPLE_RATE_HZ,
                judges_voices: false,
            },
            text: TextRules::default(),
            deploy: include_str!("../deploy.yaml").into(),
            settings: Vec::new(),
        }
    }

    fn open(&self, source: &ModelSource, _placement: &Placement, services: Services) -> Result<Box<dyn Model>, PluginError> {
        if let ModelSource::Directory(directory) = source {
            let found = directory.display();
            return Err(PluginError::checkpoint(format!("sine has no weights: expected no model directory, found '{found}'")));
        }
        services.progress("tuning", 1, 1);
        Ok(Box::new(SineModel::new(services)))
    }
}

fn stages() -> Vec<StageInfo> {
    vec![
        StageInfo { name: "talker".into(), input: DataKind::Prompt, output: DataKind::Codes },
        StageInfo { name: "codec".into(), input: DataKind::Codes, output: DataKind::Pcm },
    ]
}
