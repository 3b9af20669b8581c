//! Two numbers and what joins them: fractions, ranges, scores, sizes, sums.

use super::engine::{Found, NUMERAL, Rule};
use crate::number::{cardinal, numeral, ordinal, year};

pub(super) fn rules() -> Vec<Rule> {
    vec![
        Rule::new(r"24/7", |found| found.is_free().then(|| "twenty four seven".to_owned())),
        Rule::new(r"9/11", |found| found.is_free().then(|| "nine eleven".to_owned())),
        Rule::new(r"50[/-]50", |found| found.is_free().then(|| "fifty fifty".to_owned())),
        Rule::new(&format!(r"({NUMERAL})/(5|10|20|100)"), score),
        Rule::new(r"(?:([0-9]+)[ -])?([0-9]{1,3})/([0-9]{1,4})", fraction),
        Rule::new(r"([0-9]{4})[-–—/]([0-9]{2,4})", years),
        Rule::new(&format!(r"({NUMERAL})(?:[-–—]| [–—] )({NUMERAL})"), range),
        Rule::new(&format!(r"({NUMERAL}|[A-Za-z]) ?\^ ?([-−]?{NUMERAL}|[A-Za-z])"), power),
        Rule::new(&format!(r"({NUMERAL})( ?[x×] ?)({NUMERAL})"), size),
        Rule::new(&format!(r"({NUMERAL}):({NUMERAL})"), |found| joined(found, "to")),
        Rule::new(&format!(r"({NUMERAL}|[A-Za-z]) [-−] ({NUMERAL})"), |found| joined(found, "minus")),
        Rule::new(&format!(r"({NUMERAL}|[A-Za-z]) ?−({NUMERAL})"), |found| joined(found, "minus")),
        Rule::new(&format!(r"({NUMERAL}) ?[*] ?({NUMERAL})"), |found| joined(found, "times")),
        Rule::new(&format!(r"({NUMERAL}) / ({NUMERAL})"), |found| joined(found, "divided by")),
    ]
}

/// Only the joint is worded; the numbers are left to the rules for single ones.
fn joined(found: &Found<'_>, word: &str) -> Option<String> {
    found.is_free().then(|| format!("{} {word} {}", found.get(1), found.get(2)))
}

fn fraction(found: &Found<'_>) -> Option<String> {
    let (top, bottom) = (found.value(2)?, found.value(3)?);
    if !found.is_free() {
        return None;
    }
    let words = parts(top, bottom).unwrap_or_else(|| format!("{} over {}", cardinal(top), cardinal(bottom)));
    Some(match (found.get(1), words.strip_prefix("one ")) {
        ("", _) => words,
        (whole, Some(part)) => format!("{} and {} {part}", numeral(whole), article(part)),
        (whole, None) => format!("{} and {words}", numeral(whole)),
    })
}

fn article(word: &str) -> &'static str {
    if word.starts_with("eigh") || word.starts_with("elev") { "an" } else { "a" }
}

fn parts(top: u64, bottom: u64) -> Option<String> {
    let one = top == 1;
    let name = match bottom {
        2 => {
            if one {
                "half".to_owned()
            } else {
                "halves".to_owned()
            }
        }
        4 => {
            if one {
                "quarter".to_owned()
            } else {
                "quarters".to_owned()
            }
        }
        3 | 5..=20 | 30 | 32 | 40 | 50 | 60 | 64 | 100 | 1000 if one => ordinal(bottom).trim_start_matches("one ").to_owned(),
        3 | 5..=20 | 30 | 32 | 40 | 50 | 60 | 64 | 100 | 1000 => ordinal(bottom).trim_start_matches("one ").to_owned() + "s",
        _ => return None,
    };
    (top < bottom * 10).then(|| format!("{} {name}", cardinal(top)))
}

/// `1990–2000`, and `2023-24` with the century left out.
fn years(found: &Found<'_>) -> Option<String> {
    let (from, to) = (found.value(1)?, found.value(2)?);
    let plausible = (1000..2200).contains(&from) && (found.get(2).len() == 2 && to > from % 100 || (1000..2200).contains(&to));
    (plausible && found.is_free()).then(|| format!("{} to {}", year(from), if to < 100 { cardinal(to) } else { year(to) }))
}

fn range(found: &Found<'_>) -> Option<String> {
    let minus = found.previous() == Some('-');
    (found.is_free() && !minus).then(|| format!("{} to {}", numeral(found.get(1)), numeral(found.get(2))))
}

/// Dimensions; a spaced sign or a power of ten is a product.
fn size(found: &Found<'_>) -> Option<String> {
    let product = found.get(2) == " × " || (found.get(2).contains('×') && found.get(3) == "10");
    let word = if product { "times" } else { "by" };
    found.is_free().then(|| format!("{} {word} {}", numeral(found.get(1)), numeral(found.get(3))))
}

/// `9.5/10` and `10/10` are marks, not fractions.
fn score(found: &Found<'_>) -> Option<String> {
    let mark = found.get(1).contains('.') || found.get(1) == found.get(2);
    (mark && found.is_free()).then(|| format!("{} out of {}", found.get(1), found.get(2)))
}

fn power(found: &Found<'_>) -> Option<String> {
    let word = match found.get(2) {
        "2" => "squared",
        "3" => "cubed",
        _ => return joined(found, "to the power of"),
    };
    found.is_free().then(|| format!("{} {word}", found.get(1)))
}
