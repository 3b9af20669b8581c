//! The voice's phoneme alphabet: characters of the [misaki](https://github.com/hexgrad/misaki) notation to ids.

use std::collections::HashMap;

use crate::weights::LoadError;

/// Ids of the embedding tables.
pub const SYMBOLS: usize = 178;
/// The id before and after every sequence.
const EDGE: u8 = 0;

/// Phonemes to ids.
#[derive(Debug, Clone)]
pub struct Vocab(HashMap<char, u8>);

impl Vocab {
    /// The embedded alphabet.
    pub fn embedded() -> Result<Self, LoadError> {
        let table = |reason: String| LoadError::Table { name: "vocab.json", reason };
        let ids: HashMap<char, u8> =
            serde_json::from_str(include_str!("../weights/vocab.json")).map_err(|error| table(error.to_string()))?;
        match ids.iter().find(|(_, id)| usize::from(**id) >= SYMBOLS) {
            Some((phoneme, id)) => Err(table(format!("'{phoneme}' has id {id}, expected less than {SYMBOLS}"))),
            None => Ok(Self(ids)),
        }
    }

    /// Whether the alphabet has this phoneme.
    pub fn contains(&self, phoneme: char) -> bool {
        self.0.contains_key(&phoneme)
    }

    /// The ids of a phoneme string, edges included. Characters outside the alphabet are left out; see [`Vocab::contains`].
    pub fn ids(&self, phonemes: &str) -> Vec<u8> {
        let inner = phonemes.chars().filter_map(|phoneme| self.0.get(&phoneme).copied());
        std::iter::once(EDGE).chain(inner).chain([EDGE]).collect()
    }
}
