//! Addresses: e-mail, links, domains, handles, tags. A link with a text is its text.

use super::engine::{Found, Rule, any_of, spell};

const TOP_LEVEL: &[&str] = &[
    "com",
    "org",
    "net",
    "edu",
    "gov",
    "mil",
    "int",
    "info",
    "biz",
    "io",
    "co",
    "ai",
    "app",
    "dev",
    "me",
    "tv",
    "uk",
    "us",
    "ca",
    "au",
    "de",
    "fr",
    "eu",
    "jp",
    "cn",
    "in",
    "br",
    "ru",
    "it",
    "es",
    "nl",
    "se",
    "no",
    "ch",
    "at",
    "nz",
    "ly",
    "gg",
    "xyz",
    "online",
    "site",
    "tech",
    "cloud",
    "example",
    "test",
    "local",
    "localhost",
    "invalid",
];

pub(super) fn rules() -> Vec<Rule> {
    let top = any_of(TOP_LEVEL.iter().copied());
    let host = format!(r"(?:[a-z0-9][a-z0-9-]*\.)+(?:{top})");
    vec![
        Rule::new(r"!?\[([^\[\]]*)\]\((?:[^()\s]|\([^()\s]*\))*\)", |found| Some(found.get(1).to_owned())),
        Rule::new(r"(?i)(?:mailto:)?([a-z0-9._%+-]+@[a-z0-9-]+(?:\.[a-z0-9-]+)+)", |found| Some(spoken(found.get(1)))),
        Rule::new(r#"(?i)(?:https?|ftps?|wss?|file)://([^\s<>"]+)"#, |found| Some(link(found.get(1)))),
        Rule::new(r#"(?i)\b(www\.[^\s<>"]+)"#, |found| Some(link(found.get(1)))),
        Rule::new(&format!(r#"(?i)\b({host}(?:/[^\s<>"]*)?)"#), domain),
        Rule::new(r"@([A-Za-z0-9_]+)", |found| found.starts_free().then(|| format!("at {}", spoken(found.get(1))))),
        Rule::new("~ ?", about),
        Rule::new(r"#([0-9]+)\b", |found| found.starts_free().then(|| format!("number {}", found.get(1)))),
    ]
}

/// `~5` and `~$5`; elsewhere the mark is decoration.
fn about(found: &Found<'_>) -> Option<String> {
    let amount = found.next().is_some_and(|c| c.is_ascii_digit() || c == '$');
    (amount && !found.previous().is_some_and(|c| c.is_alphanumeric() || c == '~')).then(|| "about ".to_owned())
}

fn domain(found: &Found<'_>) -> Option<String> {
    let whole = found.ends_free() || found.get(1).contains('/');
    let start = !matches!(found.previous(), Some('@' | '.' | '-'));
    (whole && start).then(|| link(found.get(1)))
}

/// The host and the path; a query names nothing a listener could use.
fn link(address: &str) -> String {
    let place = address.trim_end_matches(|c: char| ".,;:!?'\")]}*_".contains(c));
    let tail = &address[place.len()..];
    let shown = place.split(['?', '#']).next().unwrap_or(place).trim_end_matches('/');
    let shown = if shown.get(..4).is_some_and(|www| www.eq_ignore_ascii_case("www.")) { &shown[4..] } else { shown };
    spoken(shown) + tail
}

/// Every mark of an address by name, a two-letter last label by its letters.
fn spoken(address: &str) -> String {
    let host_end = address.find(['/', ':']).unwrap_or(address.len());
    let last_dot = address[..host_end].rfind('.');
    let country = last_dot.filter(|dot| host_end - dot == 3).map(|dot| dot + 1..host_end);
    let mut out = String::new();
    let head = country.as_ref().map_or(address.len(), |label| label.start);
    push_marks(&mut out, &address[..head]);
    if let Some(label) = country {
        out.push_str(&spell(&address[label.clone()]));
        push_marks(&mut out, &address[label.end..]);
    }
    out
}

fn push_marks(out: &mut String, text: &str) {
    for c in text.chars() {
        match name(c) {
            Some(word) => out.push_str(&format!(" {word} ")),
            None => out.push(c),
        }
    }
}

fn name(c: char) -> Option<&'static str> {
    Some(match c {
        '.' => "dot",
        '@' => "at",
        '/' => "slash",
        '-' => "dash",
        '_' => "underscore",
        ':' => "colon",
        '+' => "plus",
        '%' => "percent",
        '~' => "tilde",
        '=' => "equals",
        '&' => "and",
        _ => return None,
    })
}
