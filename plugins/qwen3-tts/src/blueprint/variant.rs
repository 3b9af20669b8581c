//! The published variants.

use std::str::FromStr;

use omni_plugin_api::PluginError;

use crate::task::Task;

/// A published checkpoint, without trained numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variant {
    /// How large its talker is.
    pub size: Size,
    /// What it does.
    pub task: Task,
}

/// How large a talker is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// 28 layers 1024 wide.
    Small,
    /// 28 layers 2048 wide.
    Large,
}

impl Variant {
    /// All of them; there is no small VoiceDesign.
    pub const ALL: [Self; 5] = [
        Self { size: Size::Small, task: Task::Base },
        Self { size: Size::Small, task: Task::CustomVoice },
        Self { size: Size::Large, task: Task::Base },
        Self { size: Size::Large, task: Task::CustomVoice },
        Self { size: Size::Large, task: Task::VoiceDesign },
    ];

    /// Its name, the end of its repository's: `1.7B-CustomVoice`.
    pub fn name(self) -> String {
        format!("{}-{}", self.size.name(), self.task.name())
    }
}

impl Size {
    fn name(self) -> &'static str {
        match self {
            Self::Small => "0.6B",
            Self::Large => "1.7B",
        }
    }

    /// `tts_model_size` of its config.
    pub fn code(self) -> &'static str {
        match self {
            Self::Small => "0b6",
            Self::Large => "1b7",
        }
    }
}

impl FromStr for Variant {
    type Err = PluginError;

    fn from_str(text: &str) -> Result<Self, PluginError> {
        Self::ALL.into_iter().find(|variant| variant.name().eq_ignore_ascii_case(text)).ok_or_else(|| {
            let known: Vec<String> = Self::ALL.into_iter().map(Self::name).collect();
            PluginError::invalid("variant", format!("expected one of the variants {}, found '{text}'", known.join(", ")))
        })
    }
}
