//! The pronunciation lexicon and its part-of-speech tagger, with what they may safely be asked.

use misaki_rs::lexicon::TokenContext;
use misaki_rs::{Language, Lexicon};

use crate::tagger::Tagger;
use crate::token::Token;

const PRIMARY: char = 'ˈ';
const SECONDARY: char = 'ˌ';
const VOWELS: &str = "AIOQWYaiuæɑɒɔəɛɜɪʊʌᵻ";
const CONSONANTS: &str = "bdfhjklmnpstvwzðŋɡɹɾʃʒʤʧθ";
const PAUSES: &str = ";:,.!?—…";
/// Endings the tagger learnt as words of their own.
const ENDINGS: [&str; 7] = ["n't", "'ll", "'ve", "'re", "'m", "'d", "'s"];

/// What comes after a word, as far as its reading depends on it.
pub(crate) type Context = TokenContext;

/// Both dictionaries of misaki, without its own pipeline: that one keeps 50 MB of taggers and takes 10 ms a sentence.
pub(crate) struct Dictionary {
    lexicon: Lexicon,
    tagger: Tagger,
}

impl Dictionary {
    pub(crate) fn new() -> Self {
        Self { lexicon: Lexicon::new(Language::EnglishUS), tagger: Tagger::new() }
    }

    /// The reading of an ASCII word with its part of speech, in context.
    pub(crate) fn word(&self, word: &str, tag: &str, context: &Context) -> Option<String> {
        if !word.is_ascii() {
            return None;
        }
        let capital = word.bytes().any(|b| b.is_ascii_uppercase());
        let all_capitals = !word.bytes().any(|b| b.is_ascii_lowercase());
        let stress = capital.then_some(if all_capitals { self.lexicon.cap_stresses.1 } else { self.lexicon.cap_stresses.0 });
        self.lexicon.get_word(word, tag, stress, Some(context)).map(|(phonemes, _)| phonemes).filter(|p| !p.is_empty())
    }

    /// Whether the word stands in one of the dictionaries as it is.
    pub(crate) fn has(&self, word: &str) -> bool {
        self.in_gold(word) || self.lexicon.silvers.contains_key(word)
    }

    /// Whether the word stands in the hand-checked dictionary.
    pub(crate) fn in_gold(&self, word: &str) -> bool {
        self.lexicon.in_gold(word)
    }

    /// Letters by name, the stress on the last. None when one has no name.
    pub(crate) fn letters(&self, letters: &str) -> Option<String> {
        let names: Option<String> = letters.chars().map(|c| self.letter(c)).collect();
        let names = self.lexicon.apply_stress(&names?, Some(0.0));
        Some(match names.rfind(SECONDARY) {
            Some(at) => format!("{}{PRIMARY}{}", &names[..at], &names[at + SECONDARY.len_utf8()..]),
            None => names,
        })
    }

    fn letter(&self, c: char) -> Option<&str> {
        match self.lexicon.golds.get(c.to_ascii_uppercase().encode_utf8(&mut [0; 4]) as &str)? {
            misaki_rs::lexicon::PhonemeEntry::Simple(name) => Some(name),
            misaki_rs::lexicon::PhonemeEntry::Tagged(_) => None,
        }
    }

    /// The possessive or plural ending on a reading.
    pub(crate) fn with_s(&self, phonemes: &str) -> String {
        self.lexicon.append_s(phonemes)
    }

    /// Parts of one written word, joined as one spoken word: all but the heavier half lose their main stress.
    pub(crate) fn joined(&self, parts: &mut [(usize, String)]) -> String {
        let mut ranks: Vec<_> = parts.iter().enumerate().map(|(i, (_, p))| (p.contains(PRIMARY), weight(p), i)).collect();
        let stressed = ranks.iter().filter(|(primary, _, _)| *primary).count();
        let weakened: Vec<usize> = if let ([_, _], 1) = (&ranks[..], parts[0].0) {
            vec![1]
        } else if ranks.len() < 2 || stressed <= ranks.len().div_ceil(2) {
            Vec::new()
        } else {
            ranks.sort_unstable();
            ranks.iter().take(ranks.len() / 2).map(|(_, _, i)| *i).collect()
        };
        for i in weakened {
            parts[i].1 = self.lexicon.apply_stress(&parts[i].1, Some(-0.5));
        }
        parts.iter().map(|(_, phonemes)| phonemes.as_str()).collect()
    }

    /// Penn Treebank tags of each token.
    pub(crate) fn tags(&self, tokens: &[Token]) -> Vec<Tags> {
        let mut pieces: Vec<&str> = Vec::with_capacity(tokens.len());
        let mut places = Vec::with_capacity(tokens.len());
        let marks: Vec<String> = tokens.iter().map(Token::shown).collect();
        for (token, shown) in tokens.iter().zip(&marks) {
            places.push(match token {
                Token::Word(word) => push_parts(word.trim_start_matches(crate::rules::SPELL), &mut pieces),
                Token::Mark(_) => {
                    pieces.push(shown);
                    vec![pieces.len() - 1]
                }
            });
        }
        let tags = self.tagger.tag(&pieces);
        let tag_of = |at: usize| tags.get(at).copied().unwrap_or("NN");
        // A capital weighs double; of two equal parts the first leads.
        let weight = |at: &usize| pieces[*at].chars().map(|c| if c.is_uppercase() { 2 } else { 1 }).sum::<usize>();
        places
            .into_iter()
            .map(|parts| {
                let head = parts.iter().copied().rev().max_by_key(weight).map_or("NN", tag_of);
                Tags { head, parts: parts.into_iter().map(tag_of).collect() }
            })
            .collect()
    }
}

/// The tag of a token as a whole and of its parts between hyphens.
pub(crate) struct Tags {
    pub(crate) head: &'static str,
    pub(crate) parts: Vec<&'static str>,
}

/// Whether a space follows the token.
pub(crate) fn spaced(tokens: &[Token], i: usize) -> bool {
    let opening = matches!(tokens[i], Token::Mark('(' | '“'));
    let closing = matches!(tokens.get(i + 1), None | Some(Token::Mark(',' | ';' | ':' | '.' | '!' | '?' | '…' | ')' | '”')));
    !opening && !closing
}

/// Hyphens and contractions come apart, as in the text the tagger learnt from. Returns where each hyphened part is.
fn push_parts<'w>(word: &'w str, pieces: &mut Vec<&'w str>) -> Vec<usize> {
    let mut places = Vec::new();
    for (i, part) in word.split('-').enumerate() {
        if i > 0 {
            pieces.push("-");
        }
        let ending = ENDINGS.iter().filter(|_| part.is_ascii()).find_map(|ending| {
            let stem = part.len().checked_sub(ending.len()).filter(|stem| *stem > 0)?;
            part[stem..].eq_ignore_ascii_case(ending).then_some(stem)
        });
        let (stem, ending) = part.split_at(ending.unwrap_or(part.len()));
        places.push(pieces.len());
        pieces.extend([stem, ending].into_iter().filter(|piece| !piece.is_empty()));
    }
    places
}

/// Diphthongs and affricates weigh double.
fn weight(phonemes: &str) -> usize {
    phonemes.chars().map(|c| if "AIOQWYʤʧ".contains(c) { 2 } else { 1 }).sum()
}

/// The context a word before this one sees.
pub(crate) fn before(context: &Context, phonemes: &str, word: &str) -> Context {
    let heard = phonemes.chars().find(|c| VOWELS.contains(*c) || CONSONANTS.contains(*c) || PAUSES.contains(*c));
    let future_vowel = match heard {
        None => context.future_vowel,
        Some(c) if PAUSES.contains(c) => None,
        Some(c) => Some(VOWELS.contains(c)),
    };
    Context { future_vowel, future_to: word.eq_ignore_ascii_case("to") }
}
