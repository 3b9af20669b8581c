//! A loaded model: its voices, its prompt, its stages.

use omni_plugin_api::{
    Model, ModelInfo, NamedTensor, PluginError, Prepared, Prompt, ReferenceAudio, Services, SpeechRequest, Stage, Stepwise, Usage, Voice,
    VoiceInfo,
};
use serde::{Deserialize, Serialize};

use crate::stages::{Codec, Talker};
use crate::{SAMPLE_RATE_HZ, SPEAKER_DIM, Score, SineRequest, Speaker, speaker};

/// Voices and the pitch each speaks around; the first is the default.
const VOICES: [(&str, f32, &str); 3] =
    [("middle", 220.0, "Speaks around 220 Hz."), ("low", 110.0, "Speaks around 110 Hz."), ("high", 440.0, "Speaks around 440 Hz.")];
/// Amplitude of a built-in voice.
const AMPLITUDE: f32 = 0.5;
/// Longest speech in code frames when a request sets no limit of its own: one hour.
const LONGEST_FRAMES: u64 = 45_000;

/// The model. It is shared by all threads and never changes after it was loaded; what changes belongs to a stage.
#[derive(Debug)]
pub struct SineModel {
    services: Services,
}

/// The prompt: what every stage receives when a sequence is admitted. It crosses between the host's threads as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Utterance {
    /// The notes to speak.
    pub score: Score,
    /// Pitch to speak around, in Hz.
    pub pitch_hz: f32,
    /// Amplitude of a note, 0 to 1.
    pub amplitude: f32,
    /// Melody of a reference, in steps of the pitch code a frame; it is sung again and again. Empty for none.
    pub melody: Vec<i32>,
    /// Seed of every random choice.
    pub seed: u64,
    /// Most code frames to make.
    pub max_frames: u64,
    /// Frames are made no faster than this many times real time.
    pub pace: Option<f32>,
}

impl SineModel {
    /// A model that reports through `services`.
    pub fn new(services: Services) -> Self {
        Self { services }
    }
}

impl Model for SineModel {
    fn info(&self) -> ModelInfo {
        let voice = |(name, _, description): &(&str, f32, &str)| VoiceInfo {
            name: (*name).into(),
            languages: Vec::new(),
            description: (*description).into(),
        };
        ModelInfo {
            voices: VOICES.iter().map(voice).collect(),
            sample_rate_hz: SAMPLE_RATE_HZ,
            max_model_len: Some(LONGEST_FRAMES),
            speaker_embedding_dim: Some(SPEAKER_DIM as u32),
        }
    }

    fn prepare(&self, request: &SpeechRequest, voice: &Voice) -> Result<Prepared, PluginError> {
        let fields = SineRequest::of(request)?;
        let score = Score::read(&request.input, request.speed)?;
        self.services.count("characters", score.characters as f64);
        let usage = Usage { text_tokens: score.characters, audio_tokens: speaker::reference_frames(voice) };
        let speaker = Speaker::of(voice)?.map_or_else(|| built_in(voice), Ok)?;
        let utterance = Utterance {
            score,
            pitch_hz: fields.pitch_hz.unwrap_or(speaker.pitch_hz),
            amplitude: fields.loudness.unwrap_or(speaker.amplitude),
            melody: speaker.melody,
            seed: request.seed,
            max_frames: fields.max_new_tokens.map(u64::from).or_else(|| default_frames(request)).unwrap_or(LONGEST_FRAMES),
            pace: fields.pace,
        };
        Ok(Prepared { prompt: Prompt::of(&utterance)?, usage, ..Prepared::default() })
    }

    fn encode_reference(&self, reference: &ReferenceAudio) -> Result<Vec<NamedTensor>, PluginError> {
        speaker::learn(reference)
    }

    fn open_stage(&self, index: usize) -> Result<Box<dyn Stage>, PluginError> {
        match index {
            0 => Ok(Stepwise::boxed(Talker::new(self.services.clone()))),
            1 => Ok(Stepwise::boxed(Codec::default())),
            _ => Err(PluginError::internal(format!("sine has 2 stages, asked for number {index}"))),
        }
    }
}

/// Most code frames of a request that does not say, where the operator does.
fn default_frames(request: &SpeechRequest) -> Option<u64> {
    request.defaults.get("max_tokens")?.as_u64()
}

/// A built-in voice; an unknown one is the client's mistake.
fn built_in(voice: &Voice) -> Result<Speaker, PluginError> {
    let wanted = voice.name.as_deref().unwrap_or(VOICES[0].0);
    let found = VOICES.iter().find(|(name, ..)| name.eq_ignore_ascii_case(wanted));
    let names = VOICES.map(|(name, ..)| name).join(", ");
    found
        .map(|(_, pitch_hz, _)| Speaker { pitch_hz: *pitch_hz, amplitude: AMPLITUDE, melody: Vec::new() })
        .ok_or_else(|| PluginError::invalid("voice", format!("unknown voice '{wanted}', expected one of {names}")))
}
