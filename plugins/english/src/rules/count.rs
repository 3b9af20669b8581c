//! Single numbers: ordinals, decades, years, decimals, signs, and digits inside a name.

use super::engine::{Found, NUMERAL, Rule, spell};
use crate::number::{cardinal, label, numeral, ordinal, plural, year};

pub(super) fn rules() -> Vec<Rule> {
    vec![
        Rule::new(r"([0-9,]+)(?:st|nd|rd|th|ST|ND|RD|TH)\b", nth),
        Rule::new(r"['’]?([0-9]{2,4})['’]?s\b", decade),
        Rule::new(r"'([0-9]{2})\b", short_year),
        Rule::new(r"([0-9]+(?:\.[0-9]+)?)k\b", thousands),
        Rule::new(&format!(r"([-−+])({NUMERAL})"), signed),
        Rule::new(&format!(r"({NUMERAL})\+"), |found| spaced(found, "plus")),
        Rule::new(&format!(r"({NUMERAL})\s?%"), |found| spaced(found, "percent")),
        Rule::new(&format!(r"({NUMERAL})\s?‰"), |found| spaced(found, "per mille")),
        Rule::new(r"[0-9]{4}", four_digits),
        Rule::new(r"([0-9]{3,4})([a-z])\b", number_with_letter),
        Rule::new(r"([A-Za-z]+)([-]?)([0-9]+)", name_with_number),
        Rule::new(&format!("({NUMERAL})"), |found| Some(numeral(found.get(1)))),
    ]
}

fn nth(found: &Found<'_>) -> Option<String> {
    let number: u64 = found.get(1).replace(',', "").parse().ok()?;
    found.is_free().then(|| ordinal(number))
}

fn decade(found: &Found<'_>) -> Option<String> {
    let (text, number) = (found.get(1), found.value(1)?);
    let words = match (text.len(), number % 10) {
        (2, 0) if number > 0 => plural(&cardinal(number)),
        (4, 0) => plural(&year(number)),
        _ => plural(&numeral(text)),
    };
    found.is_free().then_some(words)
}

fn short_year(found: &Found<'_>) -> Option<String> {
    let number = found.value(1)?;
    let words = if number < 10 { format!("oh {}", cardinal(number)) } else { cardinal(number) };
    found.is_free().then_some(words)
}

fn thousands(found: &Found<'_>) -> Option<String> {
    found.is_free().then(|| format!("{} thousand", numeral(found.get(1))))
}

/// A minus needs a gap or an opening mark before it, else it is a hyphen.
fn signed(found: &Found<'_>) -> Option<String> {
    let sign = if found.get(1) == "+" { "plus" } else { "minus" };
    let opens = !found.previous().is_some_and(|c| c.is_alphanumeric() || c == ')' || c == '-');
    match (opens || found.get(1) != "-", found.ends_free() || found.next().is_some_and(char::is_alphabetic)) {
        (true, true) => Some(format!(" {sign} {}", numeral(found.get(2)))),
        _ => None,
    }
}

fn spaced(found: &Found<'_>, word: &str) -> Option<String> {
    found.starts_free().then(|| format!("{} {word}", found.get(1)))
}

/// Bare four digits in the range people live in are a year.
fn four_digits(found: &Found<'_>) -> Option<String> {
    let number = found.value(0).filter(|n| (1100..2100).contains(n))?;
    found.is_free().then(|| year(number))
}

/// `1080p`, `720p`.
fn number_with_letter(found: &Found<'_>) -> Option<String> {
    found.is_free().then(|| format!("{} {}", label(found.get(1)), spell(found.get(2))))
}

/// `GPT4`, `x86`, `mp3`, `COVID-19`: the letters, then the digits as a label.
fn name_with_number(found: &Found<'_>) -> Option<String> {
    let (letters, digits) = (found.get(1), found.get(3));
    if found.previous().is_some_and(char::is_alphabetic) {
        return None;
    }
    let spelled = letters.len() <= 3 && !letters.chars().any(|c| "aeiouyAEIOUY".contains(c)) || letters.len() == 1;
    let letters = if spelled && found.get(2).is_empty() { spell(letters) } else { letters.to_owned() };
    Some(format!("{letters} {}", label(digits)))
}
