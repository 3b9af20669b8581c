//! A loaded model: its voice, its prompt, its stages.

use std::sync::Arc;
use std::time::Duration;

use omni_english::{English, Unit};
use omni_plugin_api::{Model, ModelInfo, PluginError, Prepared, Prompt, Services, SpeechRequest, Stage, Stepwise, Usage, Voice, VoiceInfo};
use serde::{Deserialize, Serialize};

use crate::dsp::{HOP, SAMPLE_RATE};
use crate::stages::{AcousticStage, VocoderStage};
use crate::{Acoustic, LoadError, Oov};

/// The one voice.
const VOICE: &str = "heart";

/// The model. It is shared by all threads and never changes after it was loaded; what changes belongs to a stage.
pub struct HibariModel {
    english: English,
    acoustic: Arc<Acoustic>,
}

/// The prompt: what every stage receives when a sequence is admitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Script {
    /// What to speak, in order.
    pub parts: Vec<Part>,
    /// Speaking rate; pauses keep their length.
    pub speed: f32,
    /// Seed of the noise.
    pub seed: u64,
}

/// One thing to speak.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// A sentence in the voice's alphabet.
    Speech(String),
    /// Silence, in half frames of 12.5 ms.
    Pause(usize),
}

impl HibariModel {
    /// Loads the embedded weights and the lexicon.
    pub fn open(services: &Services) -> Result<Self, PluginError> {
        const PHASES: u64 = 3;
        let failed = |error: LoadError| PluginError::checkpoint(format!("the embedded weights cannot be used: {error}"));
        services.progress("voice", 0, PHASES);
        let acoustic = Arc::new(Acoustic::embedded().map_err(failed)?);
        services.progress("spelling", 1, PHASES);
        let oov = Oov::embedded().map_err(failed)?;
        services.progress("lexicon", 2, PHASES);
        let english = English::new(Box::new(move |word| oov.spell(word)));
        services.progress("lexicon", PHASES, PHASES);
        Ok(Self { english, acoustic })
    }
}

impl Model for HibariModel {
    fn info(&self) -> ModelInfo {
        let heart = VoiceInfo {
            name: VOICE.into(),
            languages: vec!["en-US".into()],
            description: "A US English woman's voice, distilled from Kokoro's af_heart.".into(),
        };
        ModelInfo { voices: vec![heart], sample_rate_hz: SAMPLE_RATE as u32, max_model_len: None, ..ModelInfo::default() }
    }

    fn prepare(&self, request: &SpeechRequest, voice: &Voice) -> Result<Prepared, PluginError> {
        check_voice(voice)?;
        let reading = self.english.read(&request.input).map_err(|error| PluginError::invalid("input", error.to_string()))?;
        let parts: Vec<Part> = reading.units.into_iter().map(part).collect();
        let phonemes = |part: &Part| match part {
            Part::Speech(phonemes) => phonemes.chars().count() as u64,
            Part::Pause(_) => 0,
        };
        let usage = Usage { text_tokens: parts.iter().map(phonemes).sum(), audio_tokens: 0 };
        let script = Script { parts, speed: request.speed, seed: request.seed };
        Ok(Prepared { prompt: Prompt::of(&script)?, usage, warnings: reading.warnings, ..Prepared::default() })
    }

    fn open_stage(&self, index: usize) -> Result<Box<dyn Stage>, PluginError> {
        match index {
            0 => Ok(Stepwise::boxed(AcousticStage::new(Arc::clone(&self.acoustic)))),
            1 => Ok(Stepwise::boxed(VocoderStage::new(Arc::clone(self.acoustic.vocoder())))),
            _ => Err(PluginError::internal(format!("hibari has 2 stages, asked for number {index}"))),
        }
    }
}

fn part(unit: Unit) -> Part {
    match unit {
        Unit::Speech { phonemes, .. } => Part::Speech(phonemes),
        Unit::Pause(length) => Part::Pause(half_frames(length)),
    }
}

/// The nearest whole number of half frames.
fn half_frames(length: Duration) -> usize {
    (length.as_secs_f64() * SAMPLE_RATE as f64 / HOP as f64).round() as usize
}

fn check_voice(voice: &Voice) -> Result<(), PluginError> {
    if !voice.tensors.is_empty() {
        return Err(PluginError::unsupported("the embedded voice cannot speak with a reference voice"));
    }
    match voice.name.as_deref() {
        Some(name) if !name.eq_ignore_ascii_case(VOICE) => {
            Err(PluginError::invalid("voice", format!("unknown voice '{name}', expected {VOICE}")))
        }
        _ => Ok(()),
    }
}
