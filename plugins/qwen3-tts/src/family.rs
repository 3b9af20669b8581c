//! What the host must know before anything is loaded.

use std::path::Path;

use omni_plugin_api::{
    Abilities, Blueprint, BlueprintRequest, Checkpoint, CheckpointLayout, DataKind, Family, FamilyInfo, Model, ModelSource, Placement,
    PluginError, Services, StageInfo, TextRules, schema_of,
};

use crate::blueprint;
use crate::model::Qwen3Model;
use crate::request::Qwen3Request;

/// Rate of the codec, in and out.
pub const SAMPLE_RATE_HZ: u32 = 24_000;

/// The family. It holds nothing: what is loaded lives in [`Qwen3Model`].
#[derive(Debug, Default)]
pub struct Qwen3Tts;

impl Family for Qwen3Tts {
    fn describe(&self) -> FamilyInfo {
        FamilyInfo {
            name: "qwen3_tts".into(),
            title: "Qwen3-TTS".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            description: "Qwen3-TTS, 12.5 Hz: built-in voices, voices from a description, voices from a reference.".into(),
            weights_license: "Apache-2.0".into(),
            checkpoints: vec![Checkpoint {
                model_type: "qwen3_tts".into(),
                architectures: vec!["Qwen3TTSForConditionalGeneration".into()],
                files: vec!["speech_tokenizer/config.json".into()],
            }],
            request_schema: schema_of::<Qwen3Request>(),
            sample_rate_hz: SAMPLE_RATE_HZ,
            channels: 1,
            stages: stages(),
            abilities: Abilities {
                streams: true,
                clones: true,
                reference_rate_hz: SAMPLE_RATE_HZ,
                judges_voices: true,
                ..Abilities::default()
            },
            text: TextRules::default(),
            deploy: include_str!("../deploy.yaml").into(),
            settings: vec!["silence_ban_frames".into()],
        }
    }

    fn open(&self, source: &ModelSource, placement: &Placement, services: Services) -> Result<Box<dyn Model>, PluginError> {
        Ok(Box::new(Qwen3Model::open(directory(source)?, placement, &services)?))
    }

    fn layout(&self, source: &ModelSource) -> Result<CheckpointLayout, PluginError> {
        blueprint::layout(directory(source)?)
    }

    fn blueprint(&self, request: &BlueprintRequest) -> Result<Blueprint, PluginError> {
        blueprint::blueprint(request)
    }
}

/// The directory of a checkpoint: the family carries none.
fn directory(source: &ModelSource) -> Result<&Path, PluginError> {
    match source {
        ModelSource::Directory(directory) => Ok(directory),
        ModelSource::BuiltIn => {
            Err(PluginError::checkpoint("qwen3_tts carries no weights: give the directory of a Qwen3-TTS checkpoint with --model DIR"))
        }
    }
}

fn stages() -> Vec<StageInfo> {
    vec![
        StageInfo { name: "talker".into(), input: DataKind::Prompt, output: DataKind::Codes },
        StageInfo { name: "code2wav".into(), input: DataKind::Codes, output: DataKind::Pcm },
    ]
}
