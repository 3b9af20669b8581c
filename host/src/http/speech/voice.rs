//! Which voice a name stands for.

use omni_plugin_api::{Voice, VoiceInfo};

use crate::engine::Served;
use crate::http::error::{ApiError, shortened};

/// The name that means "no voice in particular".
pub const DEFAULT: &str = "default";

/// OpenAI's voices. A client that knows only these gets the model's default voice, unless the model has a voice of that very name or the
/// operator chose one for it; `GET /v1/audio/voices` shows which stands for which.
pub const OPENAI: [&str; 13] =
    ["alloy", "ash", "ballad", "coral", "echo", "fable", "onyx", "nova", "sage", "shimmer", "verse", "marin", "cedar"];

/// Bytes of the list of voices in an error.
const MAX_LISTED_BYTES: usize = 1500;

/// The voice of a name. An empty name is none.
pub fn resolve(model: &Served, name: Option<&str>) -> Result<Voice, ApiError> {
    let Some(name) = name.map(str::trim).filter(|name| !name.is_empty()) else { return Ok(Voice::default()) };
    match named(model, name) {
        Some(voice) => Ok(Voice::named(&voice.name)),
        None if is_one_of(name, &[DEFAULT]) || is_one_of(name, &OPENAI) => Ok(Voice::default()),
        None => Err(unknown(model, name)),
    }
}

/// The voice of the model that one of OpenAI's names gives.
pub fn stands_for<'a>(model: &'a Served, name: &str) -> Option<&'a str> {
    let voice = named(model, name).or(model.model.voices.first());
    voice.map(|voice| voice.name.as_str())
}

/// The voice of this very name, or the one that the operator's name for it means.
fn named<'a>(model: &'a Served, name: &str) -> Option<&'a VoiceInfo> {
    let meant = || model.aliases.voice(name).and_then(|voice| model.voice(voice));
    model.voice(name).or_else(meant)
}

fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|other| other.eq_ignore_ascii_case(name))
}

fn unknown(model: &Served, name: &str) -> ApiError {
    let mut names: Vec<&str> = model.model.voices.iter().map(|voice| voice.name.as_str()).chain([DEFAULT]).collect();
    names.sort_unstable();
    names.dedup();
    let listed = shortened(names.join(", "), MAX_LISTED_BYTES);
    ApiError::invalid("voice", format!("Invalid voice '{}'. Supported: {listed}", shortened(name.to_owned(), 200)))
}
