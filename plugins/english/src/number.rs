//! Numbers as English words, the American way: no "and" inside a cardinal, no hyphens, no commas.

const ONES: [&str; 20] = [
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
const SCALES: [&str; 7] = ["", "thousand", "million", "billion", "trillion", "quadrillion", "quintillion"];
const IRREGULAR_ORDINALS: [(&str, &str); 7] = [
    ("one", "first"),
    ("two", "second"),
    ("three", "third"),
    ("five", "fifth"),
    ("eight", "eighth"),
    ("nine", "ninth"),
    ("twelve", "twelfth"),
];
/// Longer digit strings are identifiers to a listener, not amounts.
const LONGEST_AMOUNT: usize = 15;

/// `1250` as "one thousand two hundred fifty".
pub(crate) fn cardinal(n: u64) -> String {
    if n == 0 {
        return ONES[0].to_owned();
    }
    let mut words = Vec::new();
    for power in (0..SCALES.len()).rev() {
        let group = n / 1000_u64.pow(power as u32) % 1000;
        if group == 0 {
            continue;
        }
        push_below_thousand(group as usize, &mut words);
        if power > 0 {
            words.push(SCALES[power]);
        }
    }
    words.join(" ")
}

fn push_below_thousand(n: usize, words: &mut Vec<&'static str>) {
    if n >= 100 {
        words.extend([ONES[n / 100], "hundred"]);
    }
    match n % 100 {
        0 => {}
        rest @ 1..20 => words.push(ONES[rest]),
        rest => {
            words.push(TENS[rest / 10]);
            if rest % 10 > 0 {
                words.push(ONES[rest % 10]);
            }
        }
    }
}

/// `23` as "twenty third".
pub(crate) fn ordinal(n: u64) -> String {
    let words = cardinal(n);
    let (head, last) = words.rsplit_once(' ').map_or(("", words.as_str()), |(head, last)| (head, last));
    let last = match IRREGULAR_ORDINALS.iter().find(|(plain, _)| *plain == last) {
        Some((_, ordinal)) => (*ordinal).to_owned(),
        None => match last.strip_suffix('y') {
            Some(stem) => format!("{stem}ieth"),
            None => format!("{last}th"),
        },
    };
    format!("{head} {last}").trim_start().to_owned()
}

/// `1906` as "nineteen oh six", `2009` as "two thousand nine".
pub(crate) fn year(n: u64) -> String {
    let (high, low) = (n / 100, n % 100);
    match low {
        _ if high == 0 || high >= 100 || (high % 10 == 0 && low < 10) => cardinal(n),
        0 => format!("{} hundred", cardinal(high)),
        1..10 => format!("{} oh {}", cardinal(high), cardinal(low)),
        _ => format!("{} {}", cardinal(high), cardinal(low)),
    }
}

/// Every digit by name: `0143` as "zero one four three". Other characters are skipped.
pub(crate) fn digits(text: &str) -> String {
    let names: Vec<_> = text.chars().filter_map(|c| c.to_digit(10)).map(|d| ONES[d as usize]).collect();
    names.join(" ")
}

/// A numeral as written in text, with thousands commas and a decimal point if it has them.
pub(crate) fn numeral(text: &str) -> String {
    let plain = text.replace(',', "");
    match plain.split_once('.') {
        Some(("", fraction)) => format!("point {}", digits(fraction)),
        Some((whole, fraction)) => format!("{} point {}", whole_number(whole), digits(fraction)),
        None => whole_number(&plain),
    }
}

/// An identifier's digits as people say them: `42` "forty two", `380` "three eighty", `4090` "forty ninety".
pub(crate) fn label(text: &str) -> String {
    let value: u64 = match text.len() {
        1..=4 if !text.starts_with('0') => text.parse().unwrap_or(0),
        _ => return digits(text),
    };
    match (text.len(), value % 100) {
        (3, 0) | (1 | 2, _) => cardinal(value),
        (3, low @ 1..10) => format!("{} oh {}", cardinal(value / 100), cardinal(low)),
        (3, low) => format!("{} {}", cardinal(value / 100), cardinal(low)),
        _ => year(value),
    }
}

/// Makes the last word of a number plural: "twenty" to "twenties".
pub(crate) fn plural(words: &str) -> String {
    match words.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if words.ends_with('x') => format!("{words}es"),
        None => format!("{words}s"),
    }
}

fn whole_number(plain: &str) -> String {
    let significant = plain.trim_start_matches('0');
    let round = plain.ends_with("000000") && plain.len() <= 19;
    match plain.parse::<u64>() {
        Ok(n) if significant.len() == plain.len() || plain == "0" => {
            if plain.len() <= LONGEST_AMOUNT || round {
                cardinal(n)
            } else {
                digits(plain)
            }
        }
        _ => digits(plain),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cardinals_reach_quintillions() {
        let rows: &[(u64, &str)] = &[
            (0, "zero"),
            (7, "seven"),
            (13, "thirteen"),
            (20, "twenty"),
            (21, "twenty one"),
            (100, "one hundred"),
            (998, "nine hundred ninety eight"),
            (4_628, "four thousand six hundred twenty eight"),
            (87_040, "eighty seven thousand forty"),
            (1_000_000, "one million"),
            (1_000_001, "one million one"),
            (3_000_000_000_000, "three trillion"),
            (
                u64::MAX,
                "eighteen quintillion four hundred forty six quadrillion seven hundred forty four trillion \
             seventy three billion seven hundred nine million five hundred fifty one thousand six hundred fifteen",
            ),
        ];
        for (n, words) in rows {
            assert_eq!(cardinal(*n), *words);
        }
    }

    #[test]
    fn ordinals_bend_the_last_word() {
        let rows: &[(u64, &str)] = &[
            (1, "first"),
            (2, "second"),
            (3, "third"),
            (4, "fourth"),
            (5, "fifth"),
            (8, "eighth"),
            (9, "ninth"),
            (12, "twelfth"),
            (20, "twentieth"),
            (23, "twenty third"),
            (100, "one hundredth"),
            (1000, "one thousandth"),
        ];
        for (n, words) in rows {
            assert_eq!(ordinal(*n), *words);
        }
    }

    #[test]
    fn years_go_by_pairs() {
        let rows: &[(u64, &str)] = &[
            (1906, "nineteen oh six"),
            (1900, "nineteen hundred"),
            (1990, "nineteen ninety"),
            (2000, "two thousand"),
            (2009, "two thousand nine"),
            (2010, "twenty ten"),
            (2023, "twenty twenty three"),
            (1066, "ten sixty six"),
            (800, "eight hundred"),
        ];
        for (n, words) in rows {
            assert_eq!(year(*n), *words);
        }
    }

    #[test]
    fn numerals_are_read_as_written() {
        let rows: &[(&str, &str)] = &[
            ("1,234,567", "one million two hundred thirty four thousand five hundred sixty seven"),
            ("0", "zero"),
            ("007", "zero zero seven"),
            ("3.14", "three point one four"),
            ("0.5", "zero point five"),
            (".5", "point five"),
            ("2.50", "two point five zero"),
            ("5000000000000", "five trillion"),
            ("1234567890123456", "one two three four five six seven eight nine zero one two three four five six"),
        ];
        for (text, words) in rows {
            assert_eq!(numeral(text), *words);
        }
    }

    #[test]
    fn labels_are_short() {
        let rows = [("4", "four"), ("86", "eighty six"), ("380", "three eighty"), ("707", "seven oh seven")];
        for (text, words) in rows.into_iter().chain([("300", "three hundred"), ("4090", "forty ninety"), ("007", "zero zero seven")]) {
            assert_eq!(label(text), words);
        }
    }

    #[test]
    fn plurals_of_numbers() {
        assert_eq!(plural("nineteen ninety"), "nineteen nineties");
        assert_eq!(plural("nineteen hundred"), "nineteen hundreds");
        assert_eq!(plural("six"), "sixes");
    }
}
