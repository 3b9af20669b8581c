//! Writes out numbers: a recogniser puts `4,628`, `9:30` or `2nd` where a reference has words.

const SMALL: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 10] = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
const SCALES: [(u64, &str); 4] = [(1_000_000_000, "billion"), (1_000_000, "million"), (1_000, "thousand"), (100, "hundred")];
const ORDINALS: [(&str, &str); 7] = [
    ("one", "first"),
    ("two", "second"),
    ("three", "third"),
    ("five", "fifth"),
    ("eight", "eighth"),
    ("nine", "ninth"),
    ("twelve", "twelfth"),
];

/// The words of one token that holds a digit, such as `$87,040.01`, `4:00`, `202-555-0143`, `3rd` or `1906`.
pub fn spell(token: &str) -> Vec<String> {
    let bare = token.trim_matches(|mark: char| !mark.is_alphanumeric() && !"$£€-%".contains(mark));
    let known = [negative, money, percent, clock, digit_by_digit, ordinal, decimal, whole].iter().find_map(|read| read(bare));
    known.unwrap_or_else(|| pieces(bare)).into_iter().filter(|word| !word.is_empty()).collect()
}

/// `-7`
fn negative(token: &str) -> Option<Vec<String>> {
    let rest = token.strip_prefix('-')?;
    Some(join(["minus".to_owned()], spell(rest)))
}

/// `$87,040.01`
fn money(token: &str) -> Option<Vec<String>> {
    let (sign, unit) = [('$', "dollar"), ('£', "pound"), ('€', "euro")].into_iter().find(|(sign, _)| token.starts_with(*sign))?;
    let amount = token.trim_start_matches(sign);
    let (major, minor) = amount.split_once('.').unwrap_or((amount, ""));
    let counted = |count: u64, unit: &str| join(cardinal(count), [if count == 1 { unit.to_owned() } else { format!("{unit}s") }]);
    let mut words = counted(number(major)?, unit);
    if !minor.is_empty() {
        words.push("and".to_owned());
        words.extend(counted(number(minor)?, "cent"));
    }
    Some(words)
}

/// `40%`
fn percent(token: &str) -> Option<Vec<String>> {
    Some(join(spell(token.strip_suffix('%')?), ["percent".to_owned()]))
}

/// `9:30`
fn clock(token: &str) -> Option<Vec<String>> {
    let (hour, minute) = token.split_once(':')?;
    let minute_words = match number(minute).filter(|_| minute.len() == 2)? {
        0 => vec!["oclock".to_owned()],
        few @ 1..10 => join(["oh".to_owned()], cardinal(few)),
        many => cardinal(many),
    };
    Some(join(cardinal(number(hour)?), minute_words))
}

/// `202-555-0143`, `007`, `2025550143`
fn digit_by_digit(token: &str) -> Option<Vec<String>> {
    let digits: String = token.split('-').collect();
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_code = digits.len() >= 7 || (digits.len() > 1 && digits.starts_with('0'));
    (is_number && is_code).then(|| digits.bytes().map(|digit| SMALL[usize::from(digit - b'0')].to_owned()).collect())
}

/// `3rd`
fn ordinal(token: &str) -> Option<Vec<String>> {
    let digits = ["st", "nd", "rd", "th"].iter().find_map(|ending| token.strip_suffix(ending))?;
    let mut words = cardinal(number(digits)?);
    let last = words.pop()?;
    words.push(nth(&last));
    Some(words)
}

fn nth(word: &str) -> String {
    let special = ORDINALS.iter().find(|(count, _)| *count == word).map(|(_, nth)| (*nth).to_owned());
    special.unwrap_or_else(|| match word.strip_suffix('y') {
        Some(stem) => format!("{stem}ieth"),
        None => format!("{word}th"),
    })
}

/// `3.75`
fn decimal(token: &str) -> Option<Vec<String>> {
    let (before, after) = token.split_once('.')?;
    let digits: Option<Vec<String>> = after.chars().map(|digit| Some(SMALL[digit.to_digit(10)? as usize].to_owned())).collect();
    Some(join(join(cardinal(number(before)?), ["point".to_owned()]), digits?))
}

/// `4,628`, or a year such as `1906`
fn whole(token: &str) -> Option<Vec<String>> {
    let value = number(token)?;
    let is_year = token.len() == 4 && matches!(value, 1100..2000 | 2010..2100);
    Some(if is_year { year(value) } else { cardinal(value) })
}

fn year(value: u64) -> Vec<String> {
    let rest = match value % 100 {
        0 => vec!["hundred".to_owned()],
        few @ 1..10 => join(["oh".to_owned()], cardinal(few)),
        many => cardinal(many),
    };
    join(cardinal(value / 100), rest)
}

/// Anything else: letters and digits apart, each run of digits as a number.
fn pieces(token: &str) -> Vec<String> {
    let mut runs: Vec<String> = Vec::new();
    let mut last = None;
    for letter in token.chars() {
        let kind = (letter.is_alphabetic(), letter.is_ascii_digit());
        match runs.last_mut().filter(|_| last == Some(kind)) {
            Some(run) => run.push(letter),
            None => runs.push(letter.into()),
        }
        last = Some(kind);
    }
    let spoken = runs.into_iter().filter(|run| run.chars().all(char::is_alphanumeric));
    spoken.flat_map(|run| number(&run).map_or_else(|| vec![run.clone()], cardinal)).collect()
}

fn number(text: &str) -> Option<u64> {
    let digits: String = text.split(',').collect();
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

fn cardinal(value: u64) -> Vec<String> {
    if let Some((scale, name)) = SCALES.iter().find(|(scale, _)| value >= *scale) {
        let rest = if value.is_multiple_of(*scale) { Vec::new() } else { cardinal(value % scale) };
        return join(join(cardinal(value / scale), [(*name).to_owned()]), rest);
    }
    let below_hundred = value as usize;
    match SMALL.get(below_hundred) {
        Some(word) => vec![(*word).to_owned()],
        None if below_hundred.is_multiple_of(10) => vec![TENS[below_hundred / 10].to_owned()],
        None => vec![TENS[below_hundred / 10].to_owned(), SMALL[below_hundred % 10].to_owned()],
    }
}

fn join(first: impl IntoIterator<Item = String>, then: impl IntoIterator<Item = String>) -> Vec<String> {
    first.into_iter().chain(then).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_written_form_has_its_words() {
        let forms = [
            ("4,628", "four thousand six hundred twenty eight"),
            ("998", "nine hundred ninety eight"),
            ("0", "zero"),
            ("73", "seventy three"),
            ("$87,040.01.", "eighty seven thousand forty dollars and one cent"),
            ("$1", "one dollar"),
            ("-7", "minus seven"),
            ("9:30", "nine thirty"),
            ("4:00;", "four oclock"),
            ("7:05", "seven oh five"),
            ("202-555-0143", "two zero two five five five zero one four three"),
            ("1st,", "first"),
            ("20th", "twentieth"),
            ("32nd", "thirty second"),
            ("3.75", "three point seven five"),
            ("40%", "forty percent"),
            ("1906", "nineteen oh six"),
            ("2023", "twenty twenty three"),
            ("2006", "two thousand six"),
            ("9am", "nine am"),
            ("3/4", "three four"),
        ];
        for (form, words) in forms {
            assert_eq!(spell(form).join(" "), words, "{form}");
        }
    }
}
