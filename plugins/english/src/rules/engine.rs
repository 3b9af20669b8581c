//! One rule: a pattern and a function that words what it found, or declines.

use regex::{Captures, Regex};

use super::SPELL;

/// A numeral as people write it: thousands commas, a decimal point, or a bare fraction.
pub(super) const NUMERAL: &str = r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?|\.[0-9]+)";

/// What a pattern found, with the text around it.
pub(super) struct Found<'t> {
    captures: Captures<'t>,
    text: &'t str,
}

impl<'t> Found<'t> {
    /// The text of a group, empty when it took no part.
    pub(super) fn get(&self, group: usize) -> &'t str {
        self.captures.get(group).map_or("", |found| found.as_str())
    }

    /// The value of a group of digits, when it is one and fits.
    pub(super) fn value(&self, group: usize) -> Option<u64> {
        self.get(group).parse().ok()
    }

    pub(super) fn before(&self) -> &'t str {
        &self.text[..self.captures.get_match().start()]
    }

    pub(super) fn after(&self) -> &'t str {
        &self.text[self.captures.get_match().end()..]
    }

    pub(super) fn previous(&self) -> Option<char> {
        self.before().chars().next_back()
    }

    pub(super) fn next(&self) -> Option<char> {
        self.after().chars().next()
    }

    /// Nothing before it belongs to the same word or number.
    pub(super) fn starts_free(&self) -> bool {
        let mut back = self.before().chars().rev();
        match back.next() {
            Some(c) if is_wordy(c) => false,
            Some('.' | ',' | '/' | ':' | '-') => !back.next().is_some_and(|c| c.is_ascii_digit()),
            _ => true,
        }
    }

    /// Nothing after it belongs to the same word or number.
    pub(super) fn ends_free(&self) -> bool {
        let mut ahead = self.after().chars();
        match ahead.next() {
            Some(c) if is_wordy(c) => false,
            Some('.' | ',' | '/' | ':' | '-') => !ahead.next().is_some_and(|c| c.is_ascii_digit()),
            _ => true,
        }
    }

    pub(super) fn is_free(&self) -> bool {
        self.starts_free() && self.ends_free()
    }

    /// The word before it, without the space between.
    pub(super) fn previous_word(&self) -> &'t str {
        let before = self.before().trim_end();
        let start = before.rfind(|c: char| !is_wordy(c)).map_or(0, |at| at + char_len(before, at));
        &before[start..]
    }
}

fn char_len(text: &str, at: usize) -> usize {
    text[at..].chars().next().map_or(1, char::len_utf8)
}

fn is_wordy(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == SPELL
}

type Rewrite = fn(&Found<'_>) -> Option<String>;

/// A pattern and the function that words its matches.
pub(super) struct Rule {
    pattern: Regex,
    rewrite: Rewrite,
}

impl Rule {
    pub(super) fn new(pattern: &str, rewrite: Rewrite) -> Self {
        let pattern = Regex::new(pattern).expect("every rule's pattern is a constant that the tests compile");
        Self { pattern, rewrite }
    }

    fn apply(&self, text: String) -> String {
        if !self.pattern.is_match(&text) {
            return text;
        }
        let mut out = String::with_capacity(text.len() + 32);
        let mut done = 0;
        for captures in self.pattern.captures_iter(&text) {
            let whole = captures.get_match();
            let (start, end) = (whole.start(), whole.end());
            let Some(words) = (self.rewrite)(&Found { captures, text: &text }) else { continue };
            push_apart(&mut out, &text[done..start]);
            push_apart(&mut out, &words);
            done = end;
        }
        push_apart(&mut out, &text[done..]);
        out
    }
}

/// Appends with a space where two words would run together.
fn push_apart(out: &mut String, piece: &str) {
    let touches = out.chars().next_back().is_some_and(is_wordy) && piece.chars().next().is_some_and(is_wordy);
    if touches {
        out.push(' ');
    }
    out.push_str(piece);
}

/// Runs the rules in order.
pub(super) fn apply(rules: &[Rule], text: String) -> String {
    rules.iter().fold(text, |text, rule| rule.apply(text))
}

/// A pattern that matches any of the words, longest first.
pub(super) fn any_of<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let mut words: Vec<_> = words.into_iter().collect();
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    words.iter().map(|word| regex::escape(word)).collect::<Vec<_>>().join("|")
}

/// Looks a word up in a table of pairs.
pub(super) fn find<'t, T>(table: &'t [(&str, T)], key: &str) -> Option<&'t T> {
    table.iter().find(|(name, _)| *name == key).map(|(_, value)| value)
}

/// Letters to be named one by one.
pub(super) fn spell(letters: &str) -> String {
    std::iter::once(SPELL).chain(letters.chars().filter(|c| c.is_ascii_alphabetic()).map(|c| c.to_ascii_uppercase())).collect()
}
