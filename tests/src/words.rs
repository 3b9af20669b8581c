//! Compares what was heard with what was meant.

use std::collections::HashSet;

use crate::numbers;

/// Written forms of one spoken word. A recogniser picks either.
const SAME_WORD: [(&str, &str); 8] = [
    ("mr", "mister"),
    ("mrs", "missus"),
    ("dr", "doctor"),
    ("inc", "incorporated"),
    ("ok", "okay"),
    ("etc", "et cetera"),
    ("gray", "grey"),
    ("vs", "versus"),
];
const SCALES: [&str; 4] = ["hundred", "thousand", "million", "billion"];

/// Lower case, no marks, numbers in words, single letters in a row as one word, one spelling of common abbreviations.
pub fn fold(text: &str) -> Vec<String> {
    let lower = text.to_lowercase().replace(['’', '‘'], "'").replace('—', " ");
    let words = lower.split_whitespace().flat_map(words_of_token).collect();
    drop_and_in_numbers(join_letters(words))
}

fn words_of_token(token: &str) -> Vec<String> {
    if token.bytes().any(|byte| byte.is_ascii_digit()) {
        return numbers::spell(token);
    }
    let bare = token.replace('\'', "").replace('%', " percent ").replace('&', " and ");
    let words = bare.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.flat_map(one_spelling).collect()
}

fn one_spelling(word: &str) -> Vec<String> {
    let same = SAME_WORD.iter().find(|(written, _)| *written == word).map_or(word, |(_, spoken)| spoken);
    same.split(' ').map(str::to_owned).collect()
}

/// `i r s` and `irs` are the same letters.
fn join_letters(words: Vec<String>) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    let mut after_letter = false;
    for word in words {
        let is_letter = word.chars().count() == 1;
        match joined.last_mut().filter(|_| is_letter && after_letter) {
            Some(run) => run.push_str(&word),
            None => joined.push(word),
        }
        after_letter = is_letter;
    }
    joined
}

/// `one hundred and ten` and `one hundred ten` are the same number.
fn drop_and_in_numbers(words: Vec<String>) -> Vec<String> {
    let is_extra = |at: usize| words[at] == "and" && at > 0 && SCALES.contains(&words[at - 1].as_str());
    (0..words.len()).filter(|at| !is_extra(*at)).map(|at| words[at].clone()).collect()
}

/// Words wrong, and words there should have been.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ErrorCount {
    /// Words inserted, left out or replaced.
    pub wrong: usize,
    /// Words of the reference.
    pub of: usize,
}

impl ErrorCount {
    /// Compares folded words; a compound written as two words, or two words written as one, is no error.
    pub fn between(meant: &[String], heard: &[String]) -> Self {
        let (meant, heard) = (join_compounds(meant, heard), join_compounds(heard, meant));
        Self { wrong: distance(&meant, &heard), of: meant.len() }
    }

    /// The word error rate: errors by words of the reference.
    pub fn rate(self) -> f64 {
        self.wrong as f64 / self.of.max(1) as f64
    }
}

impl std::ops::AddAssign for ErrorCount {
    fn add_assign(&mut self, other: Self) {
        self.wrong += other.wrong;
        self.of += other.of;
    }
}

/// Joins neighbours of `words` that are one word in `other`.
fn join_compounds(words: &[String], other: &[String]) -> Vec<String> {
    let whole: HashSet<&str> = other.iter().map(String::as_str).collect();
    let mut joined: Vec<String> = Vec::new();
    for word in words {
        let pair = joined.last().map(|last| format!("{last}{word}")).filter(|pair| whole.contains(pair.as_str()));
        match (pair, joined.last_mut()) {
            (Some(pair), Some(last)) => *last = pair,
            _ => joined.push(word.clone()),
        }
    }
    joined
}

/// Edit distance in words.
fn distance(meant: &[String], heard: &[String]) -> usize {
    let mut row: Vec<usize> = (0..=heard.len()).collect();
    for (at, word) in meant.iter().enumerate() {
        let mut next = vec![at + 1];
        for (other_at, other) in heard.iter().enumerate() {
            let replaced = row[other_at] + usize::from(word != other);
            next.push(replaced.min(row[other_at + 1] + 1).min(next[other_at] + 1));
        }
        row = next;
    }
    row[heard.len()]
}

/// How many of the wanted words, folded like the transcript, are not heard in their order. Other words may stand between them.
pub fn missing_in_order(heard: &[String], wanted: &str) -> usize {
    let wanted = fold(wanted);
    let (wanted, heard) = (join_compounds(&wanted, heard), join_compounds(heard, &wanted));
    let mut row = vec![0; heard.len() + 1];
    for word in &wanted {
        let mut next = vec![0];
        for (at, other) in heard.iter().enumerate() {
            next.push(if word == other { row[at] + 1 } else { row[at + 1].max(next[at]) });
        }
        row = next;
    }
    wanted.len() - row[heard.len()]
}

/// Fails unless the words are heard in order, one of them at most amiss.
///
/// # Panics
/// When two or more are missing.
pub fn assert_heard(heard: &[String], wanted: &str) {
    let missing = missing_in_order(heard, wanted);
    assert!(missing <= 1, "{missing} words of {wanted:?} are missing in {heard:?}");
}

/// Fails when one of the words is heard.
///
/// # Panics
/// Naming the word.
pub fn assert_not_heard(heard: &[String], unwanted: &str) {
    let found = unwanted.split_whitespace().find(|word| heard.iter().any(|other| other == word));
    assert!(found.is_none(), "{found:?} was said: {heard:?}");
}

/// Fails unless exactly these words were heard, one of them at most amiss.
///
/// # Panics
/// When more is missing, added or different.
pub fn assert_heard_only(heard: &[String], meant: &str) {
    let errors = ErrorCount::between(&fold(meant), heard);
    assert!(errors.wrong <= 1, "{} words differ between {meant:?} and {heard:?}", errors.wrong);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> String {
        fold(text).join(" ")
    }

    fn wrong(meant: &str, heard: &str) -> usize {
        ErrorCount::between(&fold(meant), &fold(heard)).wrong
    }

    #[test]
    fn marks_case_numbers_and_letters_fold_to_one_form() {
        assert_eq!(folded("It's Dr. Hale — 75 people, at 9:30!"), "its doctor hale seventy five people at nine thirty");
        assert_eq!(folded("The I.R.S. and the U S"), folded("the IRS and the US"));
        assert_eq!(folded("one hundred and ten cats and dogs"), "one hundred ten cats and dogs");
        assert_eq!(folded("Bring rope, etc."), "bring rope et cetera");
    }

    #[test]
    fn each_kind_of_error_counts_once_and_compounds_do_not() {
        assert_eq!(wrong("the box was parked", "the box was park"), 1);
        assert_eq!(wrong("the box was parked", "the was parked"), 1);
        assert_eq!(wrong("the box was parked", "the old box was parked"), 1);
        assert_eq!(wrong("load the plugin", "load the plug in"), 0);
        assert_eq!(wrong("a wind mill turns", "a windmill turns"), 0);
    }

    #[test]
    fn a_rate_is_errors_by_words_meant() {
        let mut total = ErrorCount::default();
        total += ErrorCount::between(&fold("one two three four"), &fold("one two three five"));
        total += ErrorCount::between(&fold("six seven eight nine"), &fold("six seven eight nine"));
        assert!((total.rate() - 0.125).abs() < 1e-9);
    }

    #[test]
    fn words_in_order_may_have_others_between_but_not_change_places() {
        let heard = fold("ring 202-555-0143 at 4:00");
        assert_eq!(missing_in_order(&heard, "ring 2 0 2 5 5 5 0 1 4 3 four o'clock"), 0);
        assert_eq!(missing_in_order(&fold("two one"), "one two"), 1);
        assert_heard(&fold("wait here"), "wait here now");
    }

    #[test]
    #[should_panic(expected = "2 words")]
    fn two_missing_words_fail() {
        assert_heard(&fold("wait"), "wait here now");
    }

    #[test]
    #[should_panic(expected = "hashtag")]
    fn an_unwanted_word_fails() {
        assert_not_heard(&fold("Hashtag packing list"), "hash hashtag");
    }

    #[test]
    #[should_panic(expected = "2 words differ")]
    fn babble_after_the_words_fails() {
        assert_heard_only(&fold("good day madam thank you"), "good day madam");
    }
}
