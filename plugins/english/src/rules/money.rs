//! Amounts of money: `$87,040.01`, `€5`, `20 USD`, `$2.5 million`, `$5-10`.

use super::engine::{Found, NUMERAL, Rule, any_of, find};
use crate::number::{cardinal, numeral};

/// One, many, and the hundredth part's one and many (empty where there is none in use).
type Names = [&'static str; 4];

const DOLLAR: Names = ["dollar", "dollars", "cent", "cents"];
const SYMBOLS: [(&str, Names); 18] = [
    ("US$", DOLLAR),
    ("A$", ["Australian dollar", "Australian dollars", "cent", "cents"]),
    ("C$", ["Canadian dollar", "Canadian dollars", "cent", "cents"]),
    ("CA$", ["Canadian dollar", "Canadian dollars", "cent", "cents"]),
    ("HK$", ["Hong Kong dollar", "Hong Kong dollars", "cent", "cents"]),
    ("R$", ["real", "reals", "centavo", "centavos"]),
    ("$", DOLLAR),
    ("€", ["euro", "euros", "cent", "cents"]),
    ("£", ["pound", "pounds", "penny", "pence"]),
    ("¥", ["yen", "yen", "", ""]),
    ("₹", ["rupee", "rupees", "paisa", "paise"]),
    ("₩", ["won", "won", "", ""]),
    ("₽", ["ruble", "rubles", "kopeck", "kopecks"]),
    ("₺", ["lira", "lira", "kurush", "kurush"]),
    ("₪", ["shekel", "shekels", "agora", "agorot"]),
    ("₫", ["dong", "dong", "", ""]),
    ("₱", ["peso", "pesos", "centavo", "centavos"]),
    ("₿", ["bitcoin", "bitcoins", "", ""]),
];
const CODES: [(&str, Names); 10] = [
    ("USD", DOLLAR),
    ("EUR", ["euro", "euros", "cent", "cents"]),
    ("GBP", ["pound", "pounds", "penny", "pence"]),
    ("JPY", ["yen", "yen", "", ""]),
    ("CHF", ["Swiss franc", "Swiss francs", "", ""]),
    ("CAD", ["Canadian dollar", "Canadian dollars", "cent", "cents"]),
    ("AUD", ["Australian dollar", "Australian dollars", "cent", "cents"]),
    ("INR", ["rupee", "rupees", "paisa", "paise"]),
    ("CNY", ["yuan", "yuan", "", ""]),
    ("SEK", ["krona", "kronor", "", ""]),
];
const SCALES: [(&str, &str); 13] = [
    ("hundred", "hundred"),
    ("thousand", "thousand"),
    ("million", "million"),
    ("billion", "billion"),
    ("trillion", "trillion"),
    ("k", "thousand"),
    ("K", "thousand"),
    ("m", "million"),
    ("M", "million"),
    ("mn", "million"),
    ("b", "billion"),
    ("B", "billion"),
    ("bn", "billion"),
];

pub(super) fn rules() -> Vec<Rule> {
    let signs = any_of(SYMBOLS.iter().map(|(sign, _)| *sign));
    let codes = any_of(CODES.iter().map(|(code, _)| *code));
    let scales = any_of(SCALES.iter().map(|(scale, _)| *scale));
    let number = format!(r"({NUMERAL})(?:\s?({scales})\b)?");
    vec![
        Rule::new(&format!(r"([-−]?)({signs}|\b(?:{codes}))\s?{number}\s?[-–—]\s?({signs})?{number}"), range),
        Rule::new(&format!(r"([-−]?)({signs}|\b(?:{codes}))\s?([-−]?){number}"), sign_first),
        Rule::new(&format!(r"([-−]?){number}\s?({signs}|(?:{codes})\b)"), sign_last),
        Rule::new(&format!(r"()({NUMERAL})\s?¢"), cents),
    ]
}

fn range(found: &Found<'_>) -> Option<String> {
    let names = names(found.get(2))?;
    let own_sign = found.get(5);
    let (low, high) = ((found.get(3), found.get(4)), (found.get(6), found.get(7)));
    if own_sign.is_empty() {
        let low = [numeral(low.0), scale(if low.1.is_empty() { high.1 } else { low.1 })];
        let low = if low[1] == scale(high.1) { low[0].clone() } else { low.join(" ") };
        return Some(format!("{low} to {}", amount(high, names)));
    }
    Some(format!("{} to {}", amount(low, names), amount(high, self::names(own_sign)?)))
}

fn sign_first(found: &Found<'_>) -> Option<String> {
    let words = amount((found.get(4), found.get(5)), names(found.get(2))?);
    let minus = !found.get(3).is_empty() || is_minus(found);
    Some(if minus { format!("minus {words}") } else { joined(found.get(1), words) })
}

fn sign_last(found: &Found<'_>) -> Option<String> {
    let words = amount((found.get(2), found.get(3)), names(found.get(4))?);
    let ends = !found.next().is_some_and(|c| c.is_ascii_digit());
    (found.starts_free() && ends).then(|| if is_minus(found) { format!("minus {words}") } else { joined(found.get(1), words) })
}

fn cents(found: &Found<'_>) -> Option<String> {
    let number = found.get(2);
    Some(format!("{} {}", numeral(number), if number == "1" { "cent" } else { "cents" }))
}

/// A hyphen after a word joins, it does not negate.
fn is_minus(found: &Found<'_>) -> bool {
    !found.get(1).is_empty() && !found.previous().is_some_and(char::is_alphanumeric)
}

fn joined(hyphen: &str, words: String) -> String {
    if hyphen.is_empty() { words } else { format!(" {words}") }
}

fn names(sign: &str) -> Option<&'static Names> {
    find(&SYMBOLS, sign).or_else(|| find(&CODES, sign))
}

fn scale(written: &str) -> String {
    find(&SCALES, written).map_or(String::new(), |word| (*word).to_owned())
}

fn amount((number, scale_word): (&str, &str), names: &Names) -> String {
    if !scale_word.is_empty() {
        return format!("{} {} {}", numeral(number), scale(scale_word), names[1]);
    }
    match number.split_once('.') {
        Some((whole, part)) if part.len() == 2 && !names[2].is_empty() => change(whole, part, names),
        _ => format!("{} {}", numeral(number), if number == "1" { names[0] } else { names[1] }),
    }
}

fn change(whole: &str, part: &str, names: &Names) -> String {
    let part: u64 = part.parse().unwrap_or(0);
    let small = format!("{} {}", cardinal(part), if part == 1 { names[2] } else { names[3] });
    let large = format!("{} {}", numeral(whole), if whole == "1" { names[0] } else { names[1] });
    match (whole.trim_start_matches('0').is_empty(), part) {
        (_, 0) => {
            if whole.is_empty() {
                format!("zero {}", names[1])
            } else {
                large
            }
        }
        (true, _) => small,
        _ => format!("{large} and {small}"),
    }
}
