//! What a request asks of a checkpoint: the rules between task, voice, language and reference, in the order and the words of the
//! reference server.

use omni_plugin_api::{PluginError, Voice};

use crate::config::{Config, TalkerConfig};
use crate::layout::Speaker;
use crate::prompt::Conditioning;
use crate::request::Qwen3Request;
use crate::task::Task;

/// Longest instruction in characters, unless the operator chose.
pub const LONGEST_INSTRUCTION: usize = 500;
/// Most frames a request may ask for.
pub const MOST_FRAMES: u64 = 4096;
/// The language that the model finds out itself.
const AUTO: &str = "Auto";

/// A request that the checkpoint can speak.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// Whose voice.
    pub speaker: Speaker,
    /// The language's tag.
    pub language: Option<u32>,
    /// How to speak.
    pub instruction: Option<String>,
    /// What the reference says, where its codes are continued.
    pub reference_text: Option<String>,
    /// Vector and codes that go with the prompt.
    pub conditioning: Conditioning,
}

/// Checks a request against a checkpoint, its instruction against `instruction_chars`. The first fault wins.
pub fn ask(fields: &Qwen3Request, voice: &Voice, config: &Config, instruction_chars: usize) -> Result<Asked, PluginError> {
    let talker = &config.talker_config;
    let task = task(fields, voice, config.task()?)?;
    let language = language(fields.language.as_deref(), talker)?;
    let name = voice.name.as_deref().map(str::to_lowercase);
    let known = if task == Task::CustomVoice { Some(speaker(name.as_deref(), talker)?) } else { None };
    let conditioning = conditioning(fields, voice, task, talker)?;
    let reference_text = match task {
        Task::Base => reference(fields, voice, &conditioning)?,
        Task::CustomVoice | Task::VoiceDesign => no_reference(fields).map(|()| None)?,
    };
    let instruction = instruction(fields, task, instruction_chars)?;
    if fields.max_new_tokens.is_some_and(|frames| frames > MOST_FRAMES) {
        return Err(PluginError::invalid("max_new_tokens", format!("max_new_tokens cannot exceed {MOST_FRAMES}")));
    }
    let dialect = known.as_ref().and_then(|known| dialect(known, language, talker));
    Ok(Asked {
        speaker: match (&known, conditioning.embedding.is_some()) {
            (Some(known), _) => Speaker::Known(talker.spk_id.get(known).map_or(0, |id| id.0)),
            (None, true) => Speaker::Vector,
            (None, false) => Speaker::None,
        },
        language: dialect.or(language),
        instruction: instruction.filter(|_| config.tts_model_size != "0b6" || task != Task::CustomVoice),
        conditioning: Conditioning { codes: conditioning.codes.filter(|_| reference_text.is_some()), ..conditioning },
        reference_text,
    })
}

/// The task: asked for, or told by what comes with the request. A stored voice can only be cloned.
fn task(fields: &Qwen3Request, voice: &Voice, trained: Task) -> Result<Task, PluginError> {
    let has_reference = fields.ref_audio.is_some() || fields.ref_text.is_some() || fields.speaker_embedding.is_some();
    let task = match fields.task_type {
        _ if !voice.tensors.is_empty() => Task::Base,
        Some(task) => task,
        None if has_reference => Task::Base,
        None => Task::CustomVoice,
    };
    if task == trained {
        return Ok(task);
    }
    let (trained, task) = (trained.name(), task.name());
    let message = format!(
        "Qwen3-TTS {trained} checkpoint does not support task_type='{task}'. \
         Use task_type='{trained}' or load the matching {task} checkpoint."
    );
    Err(PluginError::invalid("task_type", message))
}

/// The tag of a language; none for `Auto`.
fn language(asked: Option<&str>, talker: &TalkerConfig) -> Result<Option<u32>, PluginError> {
    let Some(asked) = asked.filter(|asked| !asked.is_empty()) else { return Ok(None) };
    let wanted = title(asked);
    if wanted == AUTO {
        return Ok(None);
    }
    let found = talker.codec_language_id.0.iter().find(|(name, _)| title(name) == wanted);
    found.map(|(_, id)| Some(id.0)).ok_or_else(|| {
        let mut names: Vec<String> = talker.codec_language_id.names().map(title).chain([AUTO.to_owned()]).collect();
        names.sort_unstable();
        PluginError::invalid("language", format!("Invalid language '{wanted}'. Supported: {}", names.join(", ")))
    })
}

/// Each run of letters with a capital first and small letters after it.
fn title(name: &str) -> String {
    let mut after_letter = false;
    let mut out = String::with_capacity(name.len());
    for letter in name.chars() {
        if after_letter {
            out.extend(letter.to_lowercase());
        } else {
            out.extend(letter.to_uppercase());
        }
        after_letter = letter.is_alphabetic();
    }
    out
}

/// A built-in speaker's lower-case name.
fn speaker(name: Option<&str>, talker: &TalkerConfig) -> Result<String, PluginError> {
    let mut names: Vec<&str> = talker.spk_id.names().collect();
    let Some(default) = names.first().copied() else {
        let message = "This model does not support CustomVoice task (no speakers configured). Use task_type='Base' with \
                       ref_audio/ref_text for voice cloning, or use a CustomVoice model.";
        return Err(PluginError::invalid("task_type", message));
    };
    let wanted = name.unwrap_or(default);
    if names.contains(&wanted) {
        return Ok(wanted.to_owned());
    }
    names.sort_unstable();
    Err(PluginError::invalid("voice", format!("Invalid voice '{wanted}'. Supported: {}", names.join(", "))))
}

/// The tag of a speaker's dialect, where the language is Chinese or open.
fn dialect(speaker: &str, language: Option<u32>, talker: &TalkerConfig) -> Option<u32> {
    let chinese = talker.codec_language_id.get("chinese").map(|id| id.0);
    let is_open = language.is_none() || language == chinese;
    let tag = talker.codec_language_id.get(&talker.dialect(speaker)?.to_lowercase())?;
    is_open.then_some(tag.0)
}

/// The vector and codes of the voice, or the vector of the request.
fn conditioning(fields: &Qwen3Request, voice: &Voice, task: Task, talker: &TalkerConfig) -> Result<Conditioning, PluginError> {
    let wrong = |message: &str| Err(PluginError::invalid("speaker_embedding", message));
    let mut conditioning = Conditioning::of(&voice.tensors, talker.num_code_groups)?;
    check_codes(conditioning.codes.as_deref().unwrap_or_default(), talker)?;
    match &fields.speaker_embedding {
        Some(_) if task != Task::Base => return wrong("'speaker_embedding' is only valid for Base task"),
        Some(vector) if vector.is_empty() => return wrong("'speaker_embedding' must be a non-empty list of floats"),
        Some(vector) => conditioning = Conditioning { embedding: Some(vector.clone()), codes: None },
        None => {}
    }
    let width = talker.decoder.hidden_size;
    match &conditioning.embedding {
        Some(vector) if vector.len() != width => {
            let found = vector.len();
            wrong(&format!("speaker_embedding has {found} dimensions; expected {width} for the loaded Qwen3-TTS model"))
        }
        Some(vector) if vector.iter().any(|value| !value.is_finite()) => wrong("'speaker_embedding' values must be finite (no NaN or Inf)"),
        _ => Ok(conditioning),
    }
}

/// Every code of a stored voice is one of its codebook's.
fn check_codes(codes: &[i32], talker: &TalkerConfig) -> Result<(), PluginError> {
    let codes_each = talker.code_predictor_config.vocab_size;
    match codes.iter().find(|code| usize::try_from(**code).map_or(true, |code| code >= codes_each)) {
        Some(code) => Err(PluginError::invalid("voice", format!("the voice's code {code} is not one of {codes_each}"))),
        None => Ok(()),
    }
}

/// The transcript, where the reference's codes are continued.
fn reference(fields: &Qwen3Request, voice: &Voice, conditioning: &Conditioning) -> Result<Option<String>, PluginError> {
    if conditioning.embedding.is_none() {
        return Err(match voice.name.as_deref().map(str::to_lowercase) {
            Some(name) => {
                PluginError::invalid("voice", format!("Base task with built-in speaker '{name}' requires 'ref_audio' for voice cloning"))
            }
            None => PluginError::invalid("ref_audio", "Base task requires 'ref_audio' or 'speaker_embedding' for voice cloning"),
        });
    }
    if conditioning.codes.is_none() || fields.x_vector_only_mode == Some(true) {
        return Ok(None);
    }
    let text = fields.ref_text.as_ref().or(voice.transcript.as_ref()).map(|text| text.trim()).filter(|text| !text.is_empty());
    text.map(|text| Some(text.to_owned())).ok_or_else(|| {
        let message = "Base task requires non-empty 'ref_text' (transcript of the reference audio) unless 'x_vector_only_mode' is enabled";
        PluginError::invalid("ref_text", message)
    })
}

fn no_reference(fields: &Qwen3Request) -> Result<(), PluginError> {
    if fields.ref_text.is_some() {
        return Err(PluginError::invalid("ref_text", "'ref_text' is only valid for Base task"));
    }
    if fields.x_vector_only_mode.is_some() {
        return Err(PluginError::invalid("x_vector_only_mode", "'x_vector_only_mode' is only valid for Base task"));
    }
    Ok(())
}

fn instruction(fields: &Qwen3Request, task: Task, most: usize) -> Result<Option<String>, PluginError> {
    let text = fields.instructions.as_deref().filter(|text| !text.trim().is_empty());
    if task == Task::VoiceDesign && text.is_none() {
        return Err(PluginError::invalid("instructions", "VoiceDesign task requires 'instructions' to describe the voice"));
    }
    if text.is_some_and(|text| text.chars().count() > most) {
        return Err(PluginError::invalid("instructions", format!("Instructions too long (max {most} characters)")));
    }
    Ok(text.map(str::to_owned))
}
