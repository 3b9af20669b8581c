//! Symbols between words.

use super::engine::{Found, Rule, any_of, find, spell};

/// Always a word, wherever they stand.
const WORDS: &[(&str, &str)] = &[
    ("&&", "and"),
    ("&", "and"),
    ("%", "percent"),
    ("±", "plus or minus"),
    ("×", "times"),
    ("÷", "divided by"),
    ("≤", "less than or equal to"),
    ("≥", "greater than or equal to"),
    ("≠", "not equal to"),
    ("≈", "approximately"),
    ("√", "square root of"),
    ("∞", "infinity"),
    ("→", "to"),
    ("§", "section"),
    ("¶", "paragraph"),
    ("©", "copyright"),
    ("°", "degrees"),
    ("²", "squared"),
    ("³", "cubed"),
    ("¢", "cents"),
    ("$", "dollars"),
    ("€", "euros"),
    ("£", "pounds"),
    ("¥", "yen"),
    ("−", "minus"),
];
/// A word only between two spoken things; elsewhere they are decoration.
const BETWEEN: &[(&str, &str)] = &[
    ("==", "equals"),
    ("!=", "is not equal to"),
    ("<=", "less than or equal to"),
    (">=", "greater than or equal to"),
    ("=>", "to"),
    ("->", "to"),
    ("=", "equals"),
    ("+", "plus"),
    ("<", "less than"),
    (">", "greater than"),
    ("^", "caret"),
    ("@", "at"),
    ("/", "slash"),
    ("\\", "backslash"),
];
/// What a price or a rate is counted by.
const PER: &[&str] = &["month", "year", "week", "day", "hour", "night", "person", "user", "kilo", "second", "minute"];
const RATES: &[(&str, &str)] = &[("yr", "year"), ("mo", "month"), ("hr", "hour"), ("wk", "week"), ("min", "minute"), ("sec", "second")];
const EITHER: &[&str] = &["and/or", "he/she", "she/he", "his/her", "her/his", "him/her", "either/or", "yes/no", "true/false"];
const GREEK: &[(&str, &str)] = &[
    ("α", "alpha"),
    ("β", "beta"),
    ("γ", "gamma"),
    ("δ", "delta"),
    ("Δ", "delta"),
    ("ε", "epsilon"),
    ("θ", "theta"),
    ("λ", "lambda"),
    ("μ", "mu"),
    ("µ", "mu"),
    ("π", "pi"),
    ("Π", "pi"),
    ("ρ", "rho"),
    ("σ", "sigma"),
    ("Σ", "sigma"),
    ("τ", "tau"),
    ("φ", "phi"),
    ("χ", "chi"),
    ("ψ", "psi"),
    ("ω", "omega"),
    ("Ω", "omega"),
];

pub(super) fn rules() -> Vec<Rule> {
    let keys = |table: &[(&'static str, &'static str)]| any_of(table.iter().map(|(symbol, _)| *symbol));
    vec![
        Rule::new(&format!(r"(?i)\b(?:{})\b", any_of(EITHER.iter().copied())), |found| Some(found.get(0).replace('/', " or "))),
        Rule::new(r"/(yr|mo|hr|wk|min|sec)\b", |found| {
            found.previous().and_then(|_| find(RATES, found.get(1))).map(|unit| format!(" per {unit}"))
        }),
        Rule::new(r"\b([A-Za-z])(\+\+|#)", language),
        Rule::new(&format!(r"(\w?)({})(\w?)", keys(GREEK)), greek),
        Rule::new(&format!("({})", keys(WORDS)), |found| find(WORDS, found.get(1)).map(|word| format!(" {word} "))),
        Rule::new(&format!("( ?)({})( ?)", keys(BETWEEN)), between),
        Rule::new(r"\.", dot),
        Rule::new(r"\s\|\s", |_| Some(", ".to_owned())),
        Rule::new("#", hashtag),
        Rule::new(r"[\[{]", |_| Some(" (".to_owned())),
        Rule::new(r"[\]}]", |_| Some(") ".to_owned())),
    ]
}

/// Named inside `main.rs` and before `.NET`; any other full stop ends something.
fn dot(found: &Found<'_>) -> Option<String> {
    let before = found.previous().is_none_or(|c| c.is_alphanumeric() || c.is_whitespace());
    (before && found.next().is_some_and(char::is_alphanumeric)).then(|| " dot ".to_owned())
}

fn hashtag(found: &Found<'_>) -> Option<String> {
    let tag = found.next().is_some_and(|c| c.is_alphabetic() || c == '_');
    (tag && !found.previous().is_some_and(char::is_alphanumeric)).then(|| "hashtag ".to_owned())
}

/// `C++`, `C#`, `F#`.
fn language(found: &Found<'_>) -> Option<String> {
    let name = spell(found.get(1));
    Some(if found.get(2) == "#" { format!("{name} sharp") } else { format!("{name} plus plus") })
}

/// A lone letter is a symbol; inside a word it is a word in Greek.
fn greek(found: &Found<'_>) -> Option<String> {
    (found.get(1).is_empty() && found.get(3).is_empty()).then(|| find(GREEK, found.get(2)).map(|name| format!(" {name} ")))?
}

/// Voiced with a spoken thing on both sides and the same spacing on both; `<b` or `x>` alone stays silent.
fn between(found: &Found<'_>) -> Option<String> {
    let spoken = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || "()\"'".contains(c));
    let (left, right) = (found.get(1), found.get(3));
    if found.get(2) == "/" && PER.iter().any(|unit| found.after().starts_with(unit)) {
        return Some(" per ".to_owned());
    }
    if left != right && !"=+".contains(found.get(2)) || !spoken(found.previous()) || !spoken(found.next()) {
        return Some(" ".to_owned());
    }
    find(BETWEEN, found.get(2)).map(|word| format!(" {word} "))
}
