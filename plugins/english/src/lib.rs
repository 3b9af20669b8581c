//! English text to phonemes for the embedded voice.
//!
//! [`English::read`] takes any text and gives back units in speaking order: sentences in the model's phoneme alphabet
//! and the silences the text asks for. Numbers, dates, money, abbreviations, addresses and symbols are worded first;
//! then every word is looked up, taken apart, spelled by the caller's network, or named letter by letter. A word is
//! never dropped without a warning.

mod abbreviations;
mod extra;
mod lexicon;
mod markup;
mod number;
mod pronounce;
mod rules;
mod scrub;
mod sentence;
mod tagger;
mod token;
mod utterance;
mod vocab;

use std::time::Duration;

use markup::Segment;
use pronounce::Pronouncer;
use rules::Rules;
use token::Token;

/// The longest phoneme string a [`Unit::Speech`] holds, in characters.
pub const MAX_PHONEMES: usize = 400;

/// Spells a word outside the lexicon: its phonemes in misaki's US alphabet, or None when it has no letter the network
/// knows.
///
/// It is given at most 24 characters: letters in the case they were written in, accents composed, perhaps inner
/// apostrophes (to be skipped). Drawn-out words and shouted ones longer than five letters come in lower case. No stress
/// is added to what it returns.
pub type Speller = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The front end. One serves every request; building it loads the lexicon.
pub struct English {
    rules: Rules,
    pronouncer: Pronouncer,
}

/// A text as things to speak.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// In speaking order.
    pub units: Vec<Unit>,
    /// What was not spoken and why, one short ASCII sentence each.
    pub warnings: Vec<String>,
}

/// One thing to speak.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unit {
    /// One sentence, or a part of a long one.
    Speech {
        /// In the model's alphabet, at most [`MAX_PHONEMES`] characters.
        phonemes: String,
        /// The words spoken, everything written out.
        text: String,
    },
    /// A silence the text asks for, at most ten seconds.
    Pause(Duration),
}

/// Why a text cannot be spoken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// No letter and no digit in it.
    #[error("the text has nothing to speak: no letter and no digit")]
    NothingToSpeak,
    /// Only letters of scripts this voice cannot read.
    #[error("the text is in {} script only and this voice speaks English", scripts.join(" and "))]
    OnlyForeign {
        /// English names of the scripts.
        scripts: Vec<String>,
    },
}

impl English {
    /// Loads the lexicon and compiles the rules. `speller` reads the words outside the lexicon.
    pub fn new(speller: Speller) -> Self {
        Self { rules: Rules::new(), pronouncer: Pronouncer::new(speller) }
    }

    /// Reads a text.
    ///
    /// # Errors
    /// When nothing in it can be spoken.
    pub fn read(&self, text: &str) -> Result<Reading, ReadError> {
        let mut units = Vec::new();
        let mut unspoken = Vec::new();
        let lost = self.sentences(text, |part| match part {
            Part::Sentence(tokens) => {
                let phonemes = self.pronouncer.speak(&tokens);
                let silent =
                    tokens.iter().zip(&phonemes).filter(|(token, phonemes)| matches!(token, Token::Word(_)) && phonemes.is_empty());
                unspoken.extend(silent.map(|(token, _)| token.shown()));
                units.extend(utterance::units(&tokens, phonemes));
            }
            Part::Pause(length) => units.push(Unit::Pause(length)),
        });
        if !units.iter().any(|unit| matches!(unit, Unit::Speech { .. })) {
            let scripts = lost.scripts();
            return Err(if scripts.is_empty() { ReadError::NothingToSpeak } else { ReadError::OnlyForeign { scripts } });
        }
        Ok(Reading { units, warnings: lost.warnings().chain(unspoken_warning(unspoken.len())).collect() })
    }

    /// The sentences as worded text, before pronunciation: what [`English::read`] will say.
    pub fn normalize(&self, text: &str) -> Vec<String> {
        let mut out = Vec::new();
        self.sentences(text, |part| {
            if let Part::Sentence(tokens) = part {
                out.push(shown(&tokens));
            }
        });
        out
    }

    fn sentences(&self, text: &str, mut each: impl FnMut(Part)) -> scrub::Losses {
        let mut lost = scrub::Losses::default();
        for segment in markup::segments(text) {
            let text = match segment {
                Segment::Text(text) => text,
                Segment::Pause(length) => {
                    each(Part::Pause(length));
                    continue;
                }
            };
            let scrubbed = scrub::scrub(&text);
            lost.merge(scrubbed.lost);
            for sentence in sentence::split(&scrubbed.text) {
                let tokens = token::tokens(&self.rules.expand(&sentence));
                if tokens.iter().any(|token| matches!(token, Token::Word(_))) {
                    each(Part::Sentence(tokens));
                }
            }
        }
        lost
    }
}

enum Part {
    Sentence(Vec<Token>),
    Pause(Duration),
}

fn shown(tokens: &[Token]) -> String {
    let mut out = String::new();
    for (i, token) in tokens.iter().enumerate() {
        out.push_str(&token.shown());
        if lexicon::spaced(tokens, i) {
            out.push(' ');
        }
    }
    out
}

fn unspoken_warning(count: usize) -> Option<String> {
    match count {
        0 => None,
        1 => Some("1 word has no reading and was not spoken".to_owned()),
        _ => Some(format!("{count} words have no reading and were not spoken")),
    }
}
