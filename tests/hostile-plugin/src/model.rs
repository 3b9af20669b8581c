//! The model: it passes on what the text asks for.

use omni_plugin_api::{Model, ModelInfo, PluginError, Prepared, Prompt, Services, SpeechRequest, Stage, Stepwise, Usage, Voice, VoiceInfo};

use crate::mischief::{LoadMischief, Mischief, hang};
use crate::stage::{HostileStage, SAMPLE_RATE_HZ};

/// The model of the family `hostile`.
#[derive(Debug)]
pub struct HostileModel {
    /// The host's services.
    pub services: Services,
    /// What went wrong, or did not, while it loaded.
    pub mischief: Option<LoadMischief>,
}

impl Model for HostileModel {
    fn info(&self) -> ModelInfo {
        let rate = if self.mischief == Some(LoadMischief::RateZero) { 0 } else { SAMPLE_RATE_HZ };
        let voice = VoiceInfo { name: "villain".into(), languages: Vec::new(), description: "A quiet tone.".into() };
        ModelInfo { voices: vec![voice], sample_rate_hz: rate, max_model_len: None, ..ModelInfo::default() }
    }

    fn prepare(&self, request: &SpeechRequest, _voice: &Voice) -> Result<Prepared, PluginError> {
        let mischief = Mischief::asked(&request.input);
        if mischief == Some(Mischief::PanicInPrepare) {
            misbehave("panic in prepare");
        }
        if mischief == Some(Mischief::HangInPrepare) {
            hang();
        }
        let usage = Usage { text_tokens: request.input.chars().count() as u64, audio_tokens: 0 };
        Ok(Prepared { prompt: Prompt::of(&mischief)?, usage, ..Prepared::default() })
    }

    fn open_stage(&self, _index: usize) -> Result<Box<dyn Stage>, PluginError> {
        if self.mischief == Some(LoadMischief::PanicOnOpenStage) {
            misbehave("panic in open_stage");
        }
        Ok(Stepwise::boxed(HostileStage::new(self.services.clone())))
    }
}

/// Panics, as told.
fn misbehave(how: &str) -> ! {
    panic!("told to {how}")
}
