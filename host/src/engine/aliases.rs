//! Other names of voices, which an operator chooses.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::str::FromStr;

/// Names that stand for voices. A name is the same in any case; a voice of that very name wins over it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VoiceAliases(BTreeMap<String, String>);

/// One name and the voice that it stands for, written `NAME=VOICE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VoiceAlias {
    /// The name.
    pub name: String,
    /// The voice.
    pub voice: String,
}

/// Why names cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum AliasError {
    /// Not of the form `NAME=VOICE`.
    #[error("{0:?} is not NAME=VOICE")]
    Shape(String),
    /// The file cannot be read.
    #[error("'{path}' cannot be read: {reason}")]
    Unreadable {
        /// The file.
        path: String,
        /// The system's answer.
        reason: std::io::Error,
    },
    /// The file holds something else.
    #[error("'{path}' is not a mapping of names to voices: {reason}")]
    NoMapping {
        /// The file.
        path: String,
        /// The parser's answer.
        reason: String,
    },
}

impl FromStr for VoiceAlias {
    type Err = AliasError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, voice) = text.split_once('=').map(|(name, voice)| (name.trim(), voice.trim())).unwrap_or_default();
        if name.is_empty() || voice.is_empty() {
            return Err(AliasError::Shape(text.to_owned()));
        }
        Ok(Self { name: name.to_owned(), voice: voice.to_owned() })
    }
}

impl VoiceAliases {
    /// Reads a YAML or JSON file that maps names to voices.
    pub fn read(path: &Path) -> Result<Self, AliasError> {
        let shown = path.display().to_string();
        let text = fs::read_to_string(path).map_err(|reason| AliasError::Unreadable { path: shown.clone(), reason })?;
        let mapping: BTreeMap<String, String> =
            serde_saphyr::from_str(&text).map_err(|error| AliasError::NoMapping { path: shown, reason: error.to_string() })?;
        Ok(Self::default().with(mapping.into_iter().map(|(name, voice)| VoiceAlias { name, voice })))
    }

    /// The same with more names, which replace those that are there.
    pub fn with(mut self, aliases: impl IntoIterator<Item = VoiceAlias>) -> Self {
        self.0.extend(aliases.into_iter().map(|alias| (alias.name.trim().to_lowercase(), alias.voice)));
        self
    }

    /// The voice that a name stands for.
    pub fn voice(&self, name: &str) -> Option<&str> {
        self.0.get(&name.trim().to_lowercase()).map(String::as_str)
    }

    /// The names, in lower case.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_from_a_file_and_later_ones_win() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("aliases.yaml");
        fs::write(&path, "Alloy: vivian\nnova: serena\n").expect("a file");
        let aliases = VoiceAliases::read(&path).expect("a mapping").with(["nova = Ryan".parse().expect("an alias")]);
        assert_eq!((aliases.voice("ALLOY"), aliases.voice(" nova "), aliases.voice("echo")), (Some("vivian"), Some("Ryan"), None));
        assert_eq!(aliases.names().collect::<Vec<_>>(), ["alloy", "nova"]);
        fs::write(&path, "{\"fable\": \"x\"}").expect("a file");
        assert_eq!(VoiceAliases::read(&path).expect("JSON is YAML").voice("fable"), Some("x"));
    }

    #[test]
    fn what_is_no_mapping_is_told_with_its_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("aliases.yaml");
        let reason = |path: &Path| VoiceAliases::read(path).expect_err("it is refused").to_string();
        assert!(reason(&path).contains("aliases.yaml' cannot be read"));
        for text in ["- a\n- b\n", "a: [b]\n", "a: b\na: c\n", "just text"] {
            fs::write(&path, text).expect("a file");
            assert!(reason(&path).contains("aliases.yaml' is not a mapping"), "{text}");
        }
        for text in ["alloy", "=x", "x=", " = "] {
            assert!(text.parse::<VoiceAlias>().is_err(), "{text}");
        }
    }
}
