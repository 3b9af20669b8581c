//! Shortened words and letters with full stops: `Dr.`, `etc.`, `U.S.`, `No. 5`.

use super::engine::{Found, Rule, any_of, find, spell};
use crate::abbreviations::{BARE, BEFORE_NUMBER, SHORT, TITLES};

/// Titles that are as clear without their full stop.
const BARE_TITLES: &[&str] = &["Mr", "Mrs", "Ms", "Mx", "Dr", "Prof", "St", "Mt", "Capt", "Lt", "Sgt"];

/// Those that a number after them makes clear: they run while it still is one.
pub(super) fn before_numbers() -> Vec<Rule> {
    let numbered = any_of(BEFORE_NUMBER.iter().map(|(short, _)| *short));
    vec![Rule::new(&format!(r"({numbered})\. ?"), numbered_thing)]
}

pub(super) fn rules() -> Vec<Rule> {
    let titles = any_of(TITLES.iter().map(|(short, _)| *short));
    let short = any_of(SHORT.iter().map(|(short, _, _)| *short));
    let bare = any_of(BARE.iter().map(|(short, _)| *short));
    vec![
        Rule::new(&format!(r"({titles})(\.?)( ?)"), title),
        Rule::new(&format!(r"({short})(\.)"), short_word),
        Rule::new(&format!("({bare})"), bare_word),
        Rule::new(r"(Ph\.?D)\b(\.?)", initials),
        Rule::new(r"((?:[A-Za-z]\.){2,})([A-Za-z]?)", initials),
        Rule::new(r"([A-Za-z]\.[A-Za-z])(\.?)", initials),
        Rule::new(r"([A-Z])\. ?", initial),
    ]
}

/// `Dr` is a title before a name and a street after one; `St.` likewise.
fn title(found: &Found<'_>) -> Option<String> {
    let (short, stop, gap) = (found.get(1), found.get(2), found.get(3));
    if !found.starts_free() || (gap.is_empty() && found.next().is_some_and(char::is_alphanumeric)) {
        return None;
    }
    if stop.is_empty() && !BARE_TITLES.contains(&short) {
        return None;
    }
    let named = found.next().is_some_and(char::is_uppercase);
    let street = match short {
        "St" => "Street",
        "Dr" => "Drive",
        _ => "",
    };
    let follows_name = found.previous_word().chars().next().is_some_and(|c| c.is_uppercase() || c.is_ascii_digit());
    if !street.is_empty() && follows_name && !(named && is_opening(found)) && (short == "St" || !named) {
        return Some(format!("{street}{}{gap}", kept_stop(found)));
    }
    let full = find(TITLES, short)?;
    (named || !stop.is_empty()).then(|| format!("{full}{}{gap}", if named { "" } else { kept_stop(found) }))
}

fn is_opening(found: &Found<'_>) -> bool {
    found.before().trim_end().split(' ').count() <= 1
}

fn numbered_thing(found: &Found<'_>) -> Option<String> {
    let counted = found.next().is_some_and(|c| c.is_ascii_digit());
    (counted && found.starts_free()).then(|| find(BEFORE_NUMBER, found.get(1)).map(|full| format!("{full} ")))?
}

fn short_word(found: &Found<'_>) -> Option<String> {
    let (_, full, _) = SHORT.iter().find(|(short, _, _)| *short == found.get(1))?;
    let joined = found.next().is_some_and(|c| c.is_alphanumeric());
    (found.starts_free() && !joined).then(|| format!("{full}{}", kept_stop(found)))
}

fn bare_word(found: &Found<'_>) -> Option<String> {
    let whole = found.get(1).ends_with('/') || found.is_free();
    let capital = found.get(1).starts_with(char::is_uppercase) || found.next() != Some('.');
    (whole && found.starts_free() && capital).then(|| find(BARE, found.get(1)).map(|full| (*full).to_owned()))?
}

/// The stop of `U.S.` is silent inside a sentence and ends it at the end.
fn initials(found: &Found<'_>) -> Option<String> {
    let stop = if found.get(0).ends_with('.') { kept_stop(found) } else { "" };
    found.is_free().then(|| spell(found.get(0)) + stop + &gap_after(found))
}

fn gap_after(found: &Found<'_>) -> String {
    if found.next().is_some_and(char::is_alphanumeric) { " ".to_owned() } else { String::new() }
}

/// `J. K. Rowling`, not "vitamin C." at the end.
fn initial(found: &Found<'_>) -> Option<String> {
    let named = found.next().is_some_and(|c| c.is_alphabetic());
    (named && found.starts_free()).then(|| format!("{} ", spell(found.get(1))))
}

/// The full stop is spoken as one only where nothing but marks follows.
fn kept_stop(found: &Found<'_>) -> &'static str {
    let last = found.get(0).contains('.') && !found.after().chars().any(char::is_alphanumeric);
    if last && !found.after().trim_start().starts_with(['.', '!', '?', '…']) { "." } else { "" }
}
