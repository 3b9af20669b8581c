//! Names of voices: what may be one, what it is looked up by, and which names look alike.

use unicode_normalization::UnicodeNormalization;

/// Longest name in characters.
pub const MAX_CHARS: usize = 255;

/// A name that a voice may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VoiceName {
    shown: String,
    key: String,
}

/// Why a name cannot be one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// It is empty or means a place.
    #[error("must be non-empty, no path separators or NUL")]
    NoName,
    /// It is too long.
    #[error("must not be longer than {MAX_CHARS} characters")]
    TooLong,
    /// It has characters that no eye sees.
    #[error("must not hold control characters or invisible marks")]
    Invisible,
}

impl VoiceName {
    /// Reads a name as a client sent it.
    pub fn read(raw: &str) -> Result<Self, NameError> {
        let name = raw.trim();
        if matches!(name, "" | "." | "..") || name.contains(['/', '\\', '\0']) {
            return Err(NameError::NoName);
        }
        if name.chars().count() > MAX_CHARS {
            return Err(NameError::TooLong);
        }
        if name.chars().any(is_invisible) {
            return Err(NameError::Invisible);
        }
        Ok(Self { shown: name.to_owned(), key: key_of(name) })
    }

    /// The name as it was given.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// What it is looked up by.
    pub fn key(&self) -> &str {
        &self.key
    }
}

/// What a name is looked up by: without regard to case, to spaces around it, and to how its accents are encoded.
pub fn key_of(name: &str) -> String {
    name.trim().to_lowercase().nfc().collect()
}

/// Whether two names could be taken for each other by someone who reads them.
pub fn look_alike(one: &str, other: &str) -> bool {
    skeleton(one) == skeleton(other)
}

/// Controls, and marks that change how other text is shown. The joiner and the selectors that emoji are made with are not among them.
fn is_invisible(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{AD}' | '\u{61C}' | '\u{180E}' | '\u{200B}' | '\u{200C}' | '\u{200E}' | '\u{200F}' | '\u{FEFF}')
        || matches!(letter, '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}')
}

/// A name with every letter replaced by the plain one it looks like, after the skeleton of Unicode's UTS #39. The letters are those of the
/// scripts whose small or capital letters look like Latin ones.
fn skeleton(name: &str) -> String {
    let plain = name.trim().nfkc().filter(|letter| !matches!(letter, '\u{200D}' | '\u{FE00}'..='\u{FE0F}'));
    let lower: String = plain.flat_map(char::to_lowercase).collect();
    lower.nfkc().map(|letter| LOOKS.iter().find(|(letters, _)| letters.contains(letter)).map_or(letter, |(_, plain)| *plain)).collect()
}

/// Letters, and the plain one that each of them looks like, small or as a capital.
const LOOKS: [(&str, char); 26] = [
    ("аαɑ", 'a'),
    ("вβьƅ", 'b'),
    ("сϲց", 'c'),
    ("ԁժ", 'd'),
    ("еєεҽ", 'e'),
    ("ғ", 'f'),
    ("ɡԍ", 'g'),
    ("нһհη", 'h'),
    ("іιıӏ", 'i'),
    ("јϳ", 'j'),
    ("кκ", 'k'),
    ("1|ǀ", 'l'),
    ("мμ", 'm'),
    ("пոռ", 'n'),
    ("0оοօ", 'o'),
    ("рρ", 'p'),
    ("ԛգ", 'q'),
    ("г", 'r'),
    ("ѕ", 's'),
    ("тτ", 't'),
    ("υսʋ", 'u'),
    ("ѵν", 'v'),
    ("ԝωա", 'w'),
    ("хχ", 'x'),
    ("уγү", 'y'),
    ("ζ", 'z'),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_look_and_is_found_in_any_case_and_encoding() {
        let name = VoiceName::read("  Anne-Zoë 👩‍🚀 ").expect("a name");
        assert_eq!(name.shown(), "Anne-Zoë 👩‍🚀");
        assert_eq!(name.key(), key_of("ANNE-ZOE\u{308} 👩‍🚀"));
        assert!(VoiceName::read(&"ü".repeat(MAX_CHARS)).is_ok());
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for (raw, error) in [
            ("", NameError::NoName),
            (" \t", NameError::NoName),
            (".", NameError::NoName),
            ("..", NameError::NoName),
            ("../x", NameError::NoName),
            ("a\\b", NameError::NoName),
            ("a\0b", NameError::NoName),
            ("a\nb", NameError::Invisible),
            ("a\u{1b}[31m", NameError::Invisible),
            ("evil\u{202E}txt", NameError::Invisible),
            ("a\u{200B}b", NameError::Invisible),
        ] {
            assert_eq!(VoiceName::read(raw), Err(error), "{raw:?}");
        }
        assert_eq!(VoiceName::read(&"x".repeat(10_240)), Err(NameError::TooLong));
    }

    #[test]
    fn names_that_read_the_same_look_alike() {
        for name in ["vivian", "VIVIAN", "vіvіan", "ｖｉｖｉａｎ", "VΙVΙΑΝ".replace('Ν', "N").as_str(), "𝓿𝓲𝓿𝓲𝓪𝓷", " vivian\u{FE0F}"]
        {
            assert!(look_alike(name, "vivian"), "{name}");
        }
        for name in ["vivien", "vivia", "viviane", "vivián"] {
            assert!(!look_alike(name, "vivian"), "{name}");
        }
    }
}
