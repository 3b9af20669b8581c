//! Dates: `2023/11/02`, `11/02/2023`, `3rd of March 2024`, `March 3`.

use super::engine::{Found, Rule, any_of};
use crate::number::{ordinal, year};

pub(super) const MONTHS: [(&str, &str); 12] = [
    ("Jan", "January"),
    ("Feb", "February"),
    ("Mar", "March"),
    ("Apr", "April"),
    ("May", "May"),
    ("Jun", "June"),
    ("Jul", "July"),
    ("Aug", "August"),
    ("Sep", "September"),
    ("Oct", "October"),
    ("Nov", "November"),
    ("Dec", "December"),
];
/// Two-digit years above this belong to the twentieth century.
const PIVOT: u64 = 50;

pub(super) fn rules() -> Vec<Rule> {
    let names = any_of(MONTHS.iter().flat_map(|(short, long)| [*short, *long]).chain(["Sept"]));
    let months = format!(r"({names})\b\.?");
    vec![
        Rule::new(r"([0-9]{4})([-/.])([0-9]{1,2})([-/.])([0-9]{1,2})", year_first),
        Rule::new(r"([0-9]{1,2})([-/.])([0-9]{1,2})([-/.])([0-9]{4}|[0-9]{2})", year_last),
        Rule::new(&format!(r"{months} ([0-9]{{1,2}})(?:st|nd|rd|th)?(?:,? ([0-9]{{4}}))?"), month_day),
        Rule::new(&format!(r"(the )?([0-9]{{1,2}})(?:st|nd|rd|th)?(?: of)? {months}(?:,? ([0-9]{{4}}))?"), day_month),
    ]
}

fn year_first(found: &Found<'_>) -> Option<String> {
    let same_mark = found.get(2) == found.get(4);
    let date = month_name(found.value(3)?).zip(day_name(found.value(5)?))?;
    (same_mark && found.is_free()).then(|| with_year(&format!("{} {}", date.0, date.1), found.value(1)))
}

fn year_last(found: &Found<'_>) -> Option<String> {
    let (first, mark, second) = (found.value(1)?, found.get(2), found.value(3)?);
    let short = found.get(5).len() == 2;
    if mark != found.get(4) || !found.is_free() || (short && mark != "/") {
        return None;
    }
    // Dots are written day first; slashes and hyphens month first, unless that is no month.
    let (month, day) = if mark == "." || first > 12 { (second, first) } else { (first, second) };
    let year = found.value(5).map(|y| {
        if !short {
            y
        } else if y > PIVOT {
            1900 + y
        } else {
            2000 + y
        }
    });
    Some(with_year(&format!("{} {}", month_name(month)?, day_name(day)?), year))
}

fn month_day(found: &Found<'_>) -> Option<String> {
    let date = format!("{} {}", full_name(found.get(1))?, day_name(found.value(2)?)?);
    let more = found.after().starts_with(['%', ':']) || found.after().starts_with(" percent");
    (found.is_free() && !more).then(|| with_year(&date, found.value(3)))
}

fn day_month(found: &Found<'_>) -> Option<String> {
    let date = format!("the {} of {}", day_name(found.value(2)?)?, full_name(found.get(3))?);
    let date = if found.previous_word() == "the" { date.trim_start_matches("the ").to_owned() } else { date };
    let stop = if found.get(4).is_empty() && found.get(0).ends_with('.') && found.after().trim().is_empty() { "." } else { "" };
    found.is_free().then(|| with_year(&date, found.value(4)) + stop)
}

fn with_year(date: &str, number: Option<u64>) -> String {
    match number {
        Some(number) => format!("{date}, {}", year(number)),
        None => date.to_owned(),
    }
}

fn month_name(number: u64) -> Option<&'static str> {
    let index = usize::try_from(number).ok()?.checked_sub(1)?;
    MONTHS.get(index).map(|(_, long)| *long)
}

fn full_name(name: &str) -> Option<&'static str> {
    MONTHS.iter().find(|(short, _)| name.starts_with(short)).map(|(_, long)| *long)
}

fn day_name(number: u64) -> Option<String> {
    (1..=31).contains(&number).then(|| ordinal(number))
}
