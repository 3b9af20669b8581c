//! Digits that are no amount: telephone numbers, grouped identifiers, network addresses, versions.

use super::engine::{Found, Rule};
use crate::number::{digits, label, numeral};

pub(super) fn rules() -> Vec<Rule> {
    vec![
        Rule::new(r"(\+[0-9]{1,3}[-. ]?)?(\([0-9]{2,4}\)[-. ]?)((?:[0-9]{2,4}[-. ])+[0-9]{3,4})", telephone),
        Rule::new(r"(\+[0-9]{1,3}[-. ]?)()((?:[0-9]{2,5}[-. ])*[0-9]{4,12})", telephone),
        Rule::new(r"([0-9]{1,4}-)()((?:[0-9]{2,5}-)+[0-9]{3,6})", telephone),
        Rule::new(r"()()([0-9]{3}[-.] ?[0-9]{3}[-.] ?[0-9]{4}|[0-9]{3} [0-9]{3} [0-9]{4}|[0-9]{3}-[0-9]{4})", telephone),
        Rule::new(r"()()(0[0-9]{2,4}(?: [0-9]{2,4}){1,4}|[0-9]+(?:-[0-9]+){3,})", telephone),
        Rule::new(r"()()([0-9]{4}(?:[ -][0-9]{4}){2,})", telephone),
        Rule::new(r"([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})", address),
        Rule::new(r"\b[vV](?:\. ?)?([0-9]+(?:\.[0-9]+)*)", version),
        Rule::new(r"([0-9]+(?:\.[0-9]+){2,})", dotted),
    ]
}

/// Digit by digit, with a light pause between groups.
fn telephone(found: &Found<'_>) -> Option<String> {
    if !found.is_free() {
        return None;
    }
    let plus = if found.get(1).starts_with('+') { "plus " } else { "" };
    let all = found.get(0);
    let groups: Vec<_> = all.split(|c: char| !c.is_ascii_digit()).filter(|g| !g.is_empty()).map(digits).collect();
    Some(plus.to_owned() + &groups.join(", "))
}

fn address(found: &Found<'_>) -> Option<String> {
    let parts: Option<Vec<_>> = (1..=4).map(|i| found.value(i).filter(|n| *n < 256)).collect();
    let parts: Vec<_> = parts?.iter().map(|n| label(&n.to_string())).collect();
    found.is_free().then(|| parts.join(" dot "))
}

fn version(found: &Found<'_>) -> Option<String> {
    found.is_free().then(|| format!("version {}", points(found.get(1))))
}

fn dotted(found: &Found<'_>) -> Option<String> {
    found.is_free().then(|| points(found.get(1)))
}

fn points(text: &str) -> String {
    text.split('.').map(numeral).collect::<Vec<_>>().join(" point ")
}
