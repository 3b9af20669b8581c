//! Tokens into phonemes: lexicon first, then parts of the word, then the speller, then its letters.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use crate::lexicon::{Context, Dictionary, Tags, before};
use crate::rules::SPELL;
use crate::token::Token;
use crate::{Speller, extra, vocab};

/// The speller reads this many characters at once and no more.
const LONGEST_SPELLED: usize = 24;
/// Capitals up to this length are initials when no dictionary knows them, longer ones are shouted words.
const LONGEST_INITIALS: usize = 5;

pub(crate) struct Pronouncer {
    dictionary: Dictionary,
    speller: Speller,
}

impl Pronouncer {
    pub(crate) fn new(speller: Speller) -> Self {
        Self { dictionary: Dictionary::new(), speller }
    }

    /// Phonemes of each token in the model's alphabet. Empty for a word that cannot be spoken at all.
    pub(crate) fn speak(&self, tokens: &[Token]) -> Vec<String> {
        let tags = self.dictionary.tags(tokens);
        let mut context = Context::default();
        let mut out = vec![String::new(); tokens.len()];
        // Backwards, because "the" and "to" depend on the sound after them.
        for (i, token) in tokens.iter().enumerate().rev() {
            let (phonemes, word) = match token {
                Token::Word(word) => (self.token(word, &tags[i], &context), word.as_str()),
                Token::Mark(mark) => (mark.to_string(), ""),
            };
            context = before(&context, &phonemes, word);
            out[i] = if word.is_empty() { phonemes } else { vocab::adapt(&phonemes) };
        }
        out
    }

    fn token(&self, word: &str, tags: &Tags, context: &Context) -> String {
        if let Some(letters) = word.strip_prefix(SPELL) {
            let (letters, possessive) = letters.strip_suffix("'s").map_or((letters, false), |stem| (stem, true));
            let names = self.dictionary.letters(letters).unwrap_or_default();
            return if possessive { self.dictionary.with_s(&names) } else { names };
        }
        let parts: Vec<&str> = word.split('-').collect();
        if parts.len() < 2 || parts.len() != tags.parts.len() {
            return self.word(word, tags.head, context);
        }
        match self.dictionary.word(word, tags.head, context) {
            Some(phonemes) => phonemes,
            None => self.run_together(parts.into_iter().zip(tags.parts.iter().copied()).collect(), context),
        }
    }

    fn word(&self, word: &str, tag: &str, context: &Context) -> String {
        let word = &*undrawn(word, &self.dictionary);
        let attempts: [&dyn Fn() -> Option<String>; 5] = [
            &|| extra::reading(&ascii(word)).map(str::to_owned),
            &|| self.known(word, tag, context),
            &|| self.compound(word, tag, context),
            &|| self.possessive(word, tag, context),
            &|| self.spelled(word),
        ];
        let found = attempts.iter().filter_map(|attempt| attempt()).find(|phonemes| vocab::sounds(phonemes));
        found.unwrap_or_else(|| self.by_letters(word))
    }

    fn known(&self, word: &str, tag: &str, context: &Context) -> Option<String> {
        let plain = ascii(word);
        if word.chars().count() == 1 && !matches!(&*plain, "a" | "A" | "I") {
            return self.dictionary.letters(&plain);
        }
        let lower = plain.to_lowercase();
        let shouted = plain.len() > LONGEST_INITIALS && plain.bytes().all(|b| b.is_ascii_uppercase());
        if shouted && !self.dictionary.has(&plain) && self.dictionary.word(&lower, tag, context).is_none() && has_vowel(&lower) {
            return None;
        }
        self.dictionary.word(&plain, tag, context)
    }

    /// `OpenAI`, `iPhone`: the parts at inner capitals.
    fn compound(&self, word: &str, tag: &str, context: &Context) -> Option<String> {
        let parts = camel(word);
        (parts.len() > 1).then(|| self.run_together(parts.into_iter().map(|part| (part, tag)).collect(), context))
    }

    /// Known parts become one spoken word; next to a part nobody knows they stay words of their own.
    fn run_together(&self, parts: Vec<(&str, &str)>, context: &Context) -> String {
        let mut context = context.clone();
        let mut spoken = Vec::with_capacity(parts.len());
        let mut all_known = true;
        for (part, tag) in parts.into_iter().rev().filter(|(part, _)| !part.is_empty()) {
            all_known &= extra::reading(part).is_some() || self.known(part, tag, &context).is_some();
            let phonemes = self.word(part, tag, &context);
            context = before(&context, &phonemes, part);
            spoken.push((part.chars().count(), phonemes));
        }
        spoken.reverse();
        if all_known {
            return self.dictionary.joined(&mut spoken);
        }
        spoken.into_iter().map(|(_, phonemes)| phonemes).filter(|p| !p.is_empty()).collect::<Vec<_>>().join(" ")
    }

    fn possessive(&self, word: &str, tag: &str, context: &Context) -> Option<String> {
        let stem = word.strip_suffix("'s").or_else(|| word.strip_suffix("'S")).filter(|stem| !stem.is_empty())?;
        Some(self.dictionary.with_s(&self.word(stem, tag, context)))
    }

    /// What the network makes of it, in pieces it can take.
    fn spelled(&self, word: &str) -> Option<String> {
        let shouted = word.chars().count() > LONGEST_INITIALS && word.chars().all(char::is_uppercase);
        let word = if shouted { word.to_lowercase() } else { word.to_owned() };
        let letters: Vec<char> = word.chars().collect();
        let count = letters.len().div_ceil(LONGEST_SPELLED);
        let size = letters.len().div_ceil(count.max(1)).max(1);
        let pieces: Vec<String> = letters.chunks(size).filter_map(|piece| (self.speller)(&String::from_iter(piece))).collect();
        (pieces.len() == count).then(|| pieces.iter().map(|piece| spoken(piece)).collect::<Vec<_>>().join(" "))
    }

    fn by_letters(&self, word: &str) -> String {
        let plain: String = ascii(word).chars().filter(char::is_ascii_alphabetic).collect();
        self.dictionary.letters(&plain).unwrap_or_default()
    }
}

/// What a speller says without remarks in brackets, such as the name of another language.
fn spoken(phonemes: &str) -> String {
    let outside =
        phonemes.split('(').enumerate().map(|(i, part)| if i == 0 { part } else { part.split_once(')').map_or(part, |(_, rest)| rest) });
    outside.collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Letters without their accents. What has no plain form stays.
fn ascii(word: &str) -> String {
    word.nfkd().filter(|c| !is_combining_mark(*c)).fold(String::with_capacity(word.len()), |mut out, c| {
        match plain_letters(c) {
            Some(letters) => out.push_str(letters),
            None => out.push(c),
        }
        out
    })
}

fn plain_letters(c: char) -> Option<&'static str> {
    Some(match c {
        'ß' => "ss",
        'æ' => "ae",
        'Æ' => "Ae",
        'œ' => "oe",
        'Œ' => "Oe",
        'ø' => "o",
        'Ø' => "O",
        'ł' => "l",
        'Ł' => "L",
        'đ' | 'ð' => "d",
        'Đ' | 'Ð' => "D",
        'þ' => "th",
        'Þ' => "Th",
        'ı' => "i",
        'ħ' => "h",
        'ŋ' => "ng",
        'ə' => "e",
        _ => return None,
    })
}

/// A drawn-out word with its runs cut back: `heyyy` to "hey", `cooool` to "cool".
fn undrawn<'w>(word: &'w str, dictionary: &Dictionary) -> std::borrow::Cow<'w, str> {
    let lower = word.to_lowercase();
    let (single, double) = (squeezed(&lower, 1), squeezed(&lower, 2));
    if double == lower || single.chars().count() < 2 {
        return word.into();
    }
    let candidates = [(&double, true), (&single, true), (&double, false), (&single, false)];
    let known = candidates.iter().find(|(form, gold)| if *gold { dictionary.in_gold(form) } else { dictionary.has(form) });
    known.map_or(single.clone(), |(form, _)| (*form).clone()).into()
}

/// Runs of three or more cut to the given length.
fn squeezed(word: &str, length: usize) -> String {
    let letters: Vec<char> = word.chars().collect();
    letters.chunk_by(|a, b| a == b).flat_map(|run| &run[..if run.len() > 2 { length } else { run.len() }]).collect()
}

/// Splits at a capital inside the word; `McHale` stays whole.
fn camel(word: &str) -> Vec<&str> {
    let letters: Vec<(usize, char)> = word.char_indices().collect();
    let mut out = Vec::new();
    let mut start = 0;
    for i in 1..letters.len() {
        let (before, (at, c)) = (letters[i - 1].1, letters[i]);
        let after = letters.get(i + 1).map(|(_, c)| *c);
        let rises = before.is_lowercase() && c.is_uppercase();
        let falls = before.is_uppercase() && c.is_uppercase() && after.is_some_and(char::is_lowercase);
        let plural = falls && after == Some('s') && i + 2 == letters.len();
        let named = ["Mc", "Mac", "O'", "De", "Di", "La", "Le", "Van"].contains(&&word[start..at]);
        if (rises || falls) && !named && !plural {
            out.push(&word[start..at]);
            start = at;
        }
    }
    out.push(&word[start..]);
    out
}

fn has_vowel(word: &str) -> bool {
    word.contains(['a', 'e', 'i', 'o', 'u', 'y'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_apart_at_inner_capitals() {
        let rows = [
            ("OpenAI", "Open AI"),
            ("getElementById", "get Element By Id"),
            ("HTTPServer", "HTTP Server"),
            ("iPhone", "i Phone"),
            ("McHale", "McHale"),
            ("PDFs", "PDFs"),
            ("plain", "plain"),
            ("LOUD", "LOUD"),
        ];
        for (word, parts) in rows {
            assert_eq!(camel(word).join(" "), parts);
        }
    }

    #[test]
    fn accents_come_off() {
        let rows = [("Zoë", "Zoe"), ("Łódź", "Lodz"), ("Straße", "Strasse"), ("Ærø", "Aero"), ("naïve", "naive")];
        for (word, plain) in rows {
            assert_eq!(ascii(word), plain);
        }
    }

    #[test]
    fn remarks_of_a_speller_are_not_spoken() {
        assert_eq!(spoken("(fr)kˈaf(en-us) "), "kˈaf");
        assert_eq!(spoken("a(b"), "ab");
    }
}
