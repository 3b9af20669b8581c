//! The family, and what goes wrong while it loads.

use omni_plugin_api::{
    Abilities, DataKind, Family, FamilyInfo, Model, ModelSource, Placement, PluginError, Services, StageInfo, TextRules,
};
use serde_json::json;

use crate::mischief::{LoadMischief, hang, load_word};
use crate::model::HostileModel;
use crate::stage::SAMPLE_RATE_HZ;

/// The family `hostile`.
#[derive(Debug)]
pub struct HostileFamily {
    mischief: Option<LoadMischief>,
}

impl Default for HostileFamily {
    fn default() -> Self {
        let mischief = LoadMischief::asked();
        assert!(mischief != Some(LoadMischief::PanicOnLoad), "told to panic while it is made");
        Self { mischief }
    }
}

impl HostileFamily {
    /// `hostile`, with what goes wrong in it when the file says so: several can then live in one host.
    fn name(&self) -> String {
        match load_word() {
            _ if self.is_told(LoadMischief::DuplicateName) => "sine".into(),
            Some(word) => format!("hostile-{word}"),
            None => "hostile".into(),
        }
    }

    fn is_told(&self, mischief: LoadMischief) -> bool {
        self.mischief == Some(mischief)
    }
}

impl Family for HostileFamily {
    fn describe(&self) -> FamilyInfo {
        assert!(!self.is_told(LoadMischief::PanicOnDescribe), "told to panic in describe");
        if self.is_told(LoadMischief::HangOnDescribe) {
            hang();
        }
        FamilyInfo {
            name: self.name(),
            title: String::new(),
            version: env!("CARGO_PKG_VERSION").into(),
            description: "Misbehaves on demand.".into(),
            weights_license: "Apache-2.0".into(),
            checkpoints: Vec::new(),
            request_schema: json!({"type": "object", "properties": {}}),
            sample_rate_hz: if self.is_told(LoadMischief::RateZero) { 0 } else { SAMPLE_RATE_HZ },
            channels: 1,
            stages: vec![StageInfo { name: "voice".into(), input: DataKind::Prompt, output: DataKind::Pcm }],
            abilities: Abilities { streams: true, ..Abilities::default() },
            text: TextRules::default(),
            deploy: String::new(),
            settings: Vec::new(),
        }
    }

    fn open(&self, _source: &ModelSource, _placement: &Placement, services: Services) -> Result<Box<dyn Model>, PluginError> {
        assert!(!self.is_told(LoadMischief::PanicOnOpen), "told to panic in open");
        if self.is_told(LoadMischief::HangOnLoad) {
            hang();
        }
        if self.is_told(LoadMischief::FailOnLoad) {
            return Err(PluginError::checkpoint("told to fail in open"));
        }
        Ok(Box::new(HostileModel { services, mischief: self.mischief }))
    }
}
