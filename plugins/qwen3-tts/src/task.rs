//! What a checkpoint was trained for, which is also what a request asks for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of the three tasks of the family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Task {
    /// Speaks with a built-in voice.
    CustomVoice,
    /// Speaks with a voice that `instructions` describe.
    VoiceDesign,
    /// Speaks with the voice of a reference.
    Base,
}

impl Task {
    /// The task that `tts_model_type` names; marks and case do not count.
    pub fn of_checkpoint(model_type: &str) -> Option<Self> {
        let letters: String = model_type.chars().filter(char::is_ascii_alphabetic).collect();
        match letters.to_ascii_lowercase().as_str() {
            "customvoice" => Some(Task::CustomVoice),
            "voicedesign" => Some(Task::VoiceDesign),
            "base" => Some(Task::Base),
            _ => None,
        }
    }

    /// Its name in requests.
    pub fn name(self) -> &'static str {
        match self {
            Task::CustomVoice => "CustomVoice",
            Task::VoiceDesign => "VoiceDesign",
            Task::Base => "Base",
        }
    }
}
