//! A front end with a predictable speller, shared by every test of one binary.

use std::sync::LazyLock;

use omni_english::{English, Unit};

/// Spells every letter it knows as itself, so that a word it was asked for is easy to find.
pub fn english() -> &'static English {
    static ENGLISH: LazyLock<English> = LazyLock::new(|| English::new(Box::new(spell)));
    &ENGLISH
}

fn spell(word: &str) -> Option<String> {
    let letters: String = word.chars().filter(char::is_ascii_alphabetic).map(|c| c.to_ascii_lowercase()).collect();
    (!letters.is_empty()).then(|| format!("ˈ{letters}"))
}

/// The phonemes of every unit, pauses in brackets.
#[allow(dead_code, reason = "each test binary compiles this module for itself")]
pub fn phonemes(text: &str) -> Vec<String> {
    let reading = english().read(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
    let show = |unit: &Unit| match unit {
        Unit::Speech { phonemes, .. } => phonemes.clone(),
        Unit::Pause(length) => format!("[{}]", length.as_millis()),
    };
    reading.units.iter().map(show).collect()
}
