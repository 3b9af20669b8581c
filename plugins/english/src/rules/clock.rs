//! Times of day: `7:30 pm`, `16:45`, `9-5 pm`, `4:00`.

use super::engine::{Found, Rule, spell};
use crate::number::cardinal;

const HALF: &str = r"(?:\s?([AaPp])\.?[Mm]\b\.?)";

pub(super) fn rules() -> Vec<Rule> {
    let range = format!(r"([0-9]{{1,2}}(?::[0-9]{{2}})?{HALF}?)\s?[-–—]\s?([0-9]{{1,2}}(?::[0-9]{{2}})?{HALF}?)");
    let clock = format!(r"([0-9]{{1,2}}):([0-9]{{2}})(?::([0-9]{{2}}))?{HALF}?");
    vec![Rule::new(&range, range_of_times), Rule::new(&clock, time), Rule::new(&format!("([0-9]{{1,2}}){HALF}"), whole_hour)]
}

/// Only the dash is worded here; the two times are left to the rules after this one.
fn range_of_times(found: &Found<'_>) -> Option<String> {
    let (from, to) = (found.get(1), found.get(3));
    let is_time = from.contains(':') || to.contains(':') || !found.get(2).is_empty() || !found.get(4).is_empty();
    (is_time && found.is_free()).then(|| format!("{from} to {to}"))
}

fn time(found: &Found<'_>) -> Option<String> {
    let (hour, minute) = (found.value(1)?, found.value(2)?);
    let second = found.value(3);
    if hour > 24 || minute > 59 || second.is_some_and(|s| s > 59) || !found.is_free() {
        return None;
    }
    let half = half_of_day(found, 4);
    let mut words = cardinal(hour);
    match minute {
        0 if !half.is_empty() || second.is_some() => {}
        0 if (1..=12).contains(&hour) => words += " o'clock",
        0 => words += " hundred",
        1..10 => words += &format!(" oh {}", cardinal(minute)),
        _ => words += &format!(" {}", cardinal(minute)),
    }
    if let Some(second) = second {
        let unit = if second == 1 { "second" } else { "seconds" };
        words += &format!(" and {} {unit}", cardinal(second));
    }
    Some(words + &half)
}

fn whole_hour(found: &Found<'_>) -> Option<String> {
    let hour = found.value(1).filter(|hour| (1..=12).contains(hour))?;
    found.is_free().then(|| cardinal(hour) + &half_of_day(found, 2))
}

/// The letters of am or pm. The full stop of `p.m.` also ends the sentence when nothing follows.
fn half_of_day(found: &Found<'_>, group: usize) -> String {
    let letter = found.get(group);
    if letter.is_empty() {
        return String::new();
    }
    let dotted = found.get(0).ends_with('.');
    let stop = if dotted && found.after().chars().all(|c| !c.is_alphanumeric()) { "." } else { "" };
    format!(" {}{stop}", spell(&format!("{letter}m")))
}
