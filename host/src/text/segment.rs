//! Splits text that arrives in pieces into units to be spoken one after the other, while the rest is still being written.
//!
//! The behaviour is that of the reference's splitter for streamed text (vLLM-Omni 0.30, `speech_text_splitter.py`):
//!
//! - A unit ends at a terminator, one of `SENTENCE_MARKS` and in clause mode also of `CLAUSE_MARKS`, and takes with it the marks and
//!   closing delimiters that follow (`Wait...`, `what?!`, `."`).
//! - An ASCII terminator ends a unit only before white space. Marks of other scripts need none.
//! - The dot of an abbreviation or an initial is no terminator. The word before the dot decides, whatever follows it: `etc.` never ends a
//!   unit, and neither does `no.`.
//! - Whether more marks follow shows only in the next character, so one character of look-ahead is needed: `你好。` alone stays buffered.
//! - Nothing else splits: no least or greatest length, no line break, no colon. A unit of marks alone (`...`) is a unit.
//!
//! Dots and commas between digits need no rule: they are ASCII terminators that no white space follows.
//!
//! **What is kept.** Units are slices of the text, in order, and never empty. Lost is only the white space (Unicode's `White_Space`) before
//! the first unit, between two units, and before a flush; inside a unit every character is kept.
//!
//! **Incremental = whole.** The text is read once, character by character, so how it was cut into pushes cannot matter. A word before a
//! dot never reaches back over the start of its unit (`。.approx. x`), since the unit before may have left already.
//!
//! **Cost.** Time is linear in the text: a step looks at the new character, and at a dot at most seven back. Memory is the unfinished
//! unit, [`Segmenter::pending`], which the caller bounds.

use std::fmt;
use std::mem;
use std::str::FromStr;

/// Marks that end a sentence.
const SENTENCE_MARKS: [char; 10] = ['.', '!', '?', '。', '！', '？', '…', '।', '॥', '؟'];
/// Marks that end a clause within a sentence.
const CLAUSE_MARKS: [char; 6] = [',', ';', '，', '；', '،', '؛'];
/// Marks that close what the unit opened.
const CLOSING_MARKS: [char; 12] = ['"', '\'', '”', '’', '»', ')', ']', '}', '』', '」', '）', '】'];
/// Words whose dot ends nothing, in lower case and without outer dots.
#[rustfmt::skip]
const ABBREVIATIONS: [&str; 25] = [
    "dr", "mr", "mrs", "ms", "prof", "sr", "jr", "st", "mt", "fig", "no", "vs", "etc", "approx", "dept", "inc", "ltd", "co", "al",
    "e.g", "i.e", "u.s", "u.k", "a.m", "p.m",
];
/// Characters of the longest of them. A longer word, its dots counted, is not looked up.
const LONGEST_ABBREVIATION: usize = 6;
/// Characters of an unknown granularity that its error repeats.
const MAX_SHOWN: usize = 40;

/// How finely streamed text is split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Granularity {
    /// Not at all: one unit a flush.
    #[default]
    None,
    /// At the ends of sentences.
    Sentence,
    /// At the ends of sentences and clauses.
    Clause,
}

impl Granularity {
    /// Every granularity, in the order they are listed to clients.
    pub const ALL: [Granularity; 3] = [Granularity::None, Granularity::Sentence, Granularity::Clause];

    /// The name in `split_granularity`.
    pub fn name(self) -> &'static str {
        match self {
            Granularity::None => "none",
            Granularity::Sentence => "sentence",
            Granularity::Clause => "clause",
        }
    }

    fn ends_at(self, letter: char) -> bool {
        match self {
            Granularity::None => false,
            Granularity::Sentence => SENTENCE_MARKS.contains(&letter),
            Granularity::Clause => SENTENCE_MARKS.contains(&letter) || CLAUSE_MARKS.contains(&letter),
        }
    }
}

impl FromStr for Granularity {
    type Err = UnknownGranularity;

    /// Reads a name, which is compared exactly.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|granularity| granularity.name() == name);
        known.ok_or_else(|| UnknownGranularity(name.chars().take(MAX_SHOWN).collect()))
    }
}

/// A `split_granularity` that does not exist, cut to a length that can be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownGranularity(String);

impl fmt::Display for UnknownGranularity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "split_granularity: expected none, sentence or clause, found {:?}", self.0)
    }
}

impl std::error::Error for UnknownGranularity {}

/// Gathers text and gives it back in units.
#[derive(Debug, Clone)]
pub struct Segmenter {
    granularity: Granularity,
    /// The unfinished unit, which never starts with white space.
    unit: String,
    /// The terminator that the unit's last run of marks began with, while that run may still grow.
    terminator: Option<char>,
}

impl Segmenter {
    /// Starts with nothing buffered.
    pub fn new(granularity: Granularity) -> Self {
        Self { granularity, unit: String::new(), terminator: None }
    }

    /// Takes in more text and returns the units that it completed, in order.
    pub fn push(&mut self, text: &str) -> Vec<String> {
        text.chars().filter_map(|letter| self.read(letter)).collect()
    }

    /// Ends the utterance: returns what is buffered without the white space around it, if anything is left, and starts anew.
    pub fn flush(&mut self) -> Option<String> {
        self.terminator = None;
        let mut unit = mem::take(&mut self.unit);
        unit.truncate(unit.trim_end().len());
        (!unit.is_empty()).then_some(unit)
    }

    /// The text that waits for its end. White space before a unit is not kept, so it does not count.
    pub fn pending(&self) -> &str {
        &self.unit
    }

    fn read(&mut self, letter: char) -> Option<String> {
        let finished = self.ends_before(letter).then(|| mem::take(&mut self.unit));
        self.terminator = self.terminator_with(letter);
        if !self.unit.is_empty() || !letter.is_whitespace() {
            self.unit.push(letter);
        }
        finished
    }

    fn ends_before(&self, letter: char) -> bool {
        self.terminator.is_some_and(|mark| !is_run_mark(letter) && (!mark.is_ascii() || letter.is_whitespace()))
    }

    /// The terminator of the run that the unit ends in once the letter is added.
    fn terminator_with(&self, letter: char) -> Option<char> {
        let grown = self.terminator.filter(|_| is_run_mark(letter));
        let begins = || self.granularity.ends_at(letter) && !(letter == '.' && ends_in_abbreviation(&self.unit));
        grown.or_else(|| begins().then_some(letter))
    }
}

fn is_run_mark(letter: char) -> bool {
    Granularity::Clause.ends_at(letter) || CLOSING_MARKS.contains(&letter)
}

fn ends_in_abbreviation(text: &str) -> bool {
    last_word(text).is_some_and(|word| is_initial(word) || ABBREVIATIONS.contains(&word.trim_matches('.').to_lowercase().as_str()))
}

fn is_initial(word: &str) -> bool {
    word.chars().count() == 1 && word.starts_with(char::is_alphabetic)
}

/// The letters, digits and dots that a text ends in, unless they are more than any abbreviation has.
fn last_word(text: &str) -> Option<&str> {
    let letters = text.char_indices().rev().take_while(|(_, letter)| letter.is_alphanumeric() || *letter == '.');
    let (len, start) = letters.take(LONGEST_ABBREVIATION + 1).fold((0, text.len()), |(len, _), (start, _)| (len + 1, start));
    (len <= LONGEST_ABBREVIATION).then(|| &text[start..])
}

#[cfg(test)]
mod tests {
    use super::Granularity::{Clause, None as Whole, Sentence};
    use super::*;
    use proptest::prelude::*;
    use proptest::sample::{Index, select};
    use std::time::{Duration, Instant};

    /// The units that the feeds completed, and what the flush returned.
    fn split<'a>(granularity: Granularity, feeds: impl IntoIterator<Item = &'a str>) -> (Vec<String>, Option<String>) {
        let mut segmenter = Segmenter::new(granularity);
        let units = feeds.into_iter().flat_map(|feed| segmenter.push(feed)).collect();
        let rest = segmenter.flush();
        assert_eq!(segmenter.flush(), None);
        (units, rest)
    }

    fn check(cases: &[(Granularity, &str, &[&str], &str)]) {
        for (granularity, text, on_feed, on_flush) in cases {
            let (units, rest) = split(*granularity, [*text]);
            assert_eq!(units, *on_feed, "{text:?}");
            assert_eq!(rest.unwrap_or_default(), *on_flush, "{text:?}");
        }
    }

    #[rustfmt::skip]
    #[test]
    fn texts_are_split_as_by_the_reference() {
        check(&[
            (Sentence, "Hello world. How are you?", &["Hello world."], "How are you?"),
            (Sentence, "Wait... what?! No", &["Wait...", "what?!"], "No"),
            (Sentence, r#"He said "Hello." Then left."#, &[r#"He said "Hello.""#], "Then left."),
            (Sentence, "Pi is 3.14 and 1,000 items. Ok", &["Pi is 3.14 and 1,000 items."], "Ok"),
            (Sentence, "Dr. Smith met J. R. Tolkien at 5 p.m. today. Bye.", &["Dr. Smith met J. R. Tolkien at 5 p.m. today."], "Bye."),
            (Sentence, "Version 2.0 is out. Yes", &["Version 2.0 is out."], "Yes"),
            (Sentence, "It is etc. And more.", &[], "It is etc. And more."),
            (Sentence, "no. this", &[], "no. this"),
            (Sentence, "Hello.World. Hi", &["Hello.World."], "Hi"),
            (Sentence, "你好。世界！再见", &["你好。", "世界！"], "再见"),
            (Sentence, "你好。", &[], "你好。"),
            (Sentence, "Is it…really? Yes", &["Is it…", "really?"], "Yes"),
            (Clause, "Hello, world; how are you? Fine, thanks.", &["Hello,", "world;", "how are you?", "Fine,"], "thanks."),
            (Clause, "1,000 people, 3.5 apples; ok", &["1,000 people,", "3.5 apples;"], "ok"),
            (Clause, "a,b, c", &["a,b,"], "c"),
            (Whole, " a. b ", &[], "a. b"),
            // Texts that other engines tripped over.
            (Sentence, "Hello. … Bye.", &["Hello.", "…"], "Bye."),
            (Sentence, "10. 9. 8. 7. Lift off.", &["10.", "9.", "8.", "7."], "Lift off."),
            (Sentence, "We were nearly... Ruth is waiting, so...", &["We were nearly..."], "Ruth is waiting, so..."),
            (Sentence, "We were nearly… Ruth is waiting, so…", &["We were nearly…"], "Ruth is waiting, so…"),
            (Sentence, "Rope, tape, etc. Steel (or brass). Dr. Lin of Acme Inc. agrees, e.g. on cost.",
                &["Rope, tape, etc. Steel (or brass)."], "Dr. Lin of Acme Inc. agrees, e.g. on cost."),
        ]);
    }

    #[rustfmt::skip]
    #[test]
    fn corners_of_the_rules() {
        check(&[
            // Marks of any kind join a run, which its first mark decides.
            (Sentence, "a1.)', b", &["a1.)',"], "b"),
            (Sentence, "ab.。cd。.ef", &["ab.。cd。."], "ef"),
            (Sentence, "... 。。。x", &["...", "。。。"], "x"),
            (Sentence, ", ; : \n)x", &[], ", ; : \n)x"),
            (Clause, ", ; : \n)x", &[",", ";"], ": \n)x"),
            // A word of more than six characters is no abbreviation, nor one with a digit, nor one in the unit before.
            (Sentence, "is approx. x.approx. Y", &["is approx. x.approx."], "Y"),
            (Sentence, "4. ½. 7no. (?) x", &["4.", "½.", "7no.", "(?)"], "x"),
            (Sentence, "ab。.approx. x", &["ab。."], "approx. x"),
            // Outer dots and case do not count, inner dots do. Only the first dot after an initial is the initial's.
            (Sentence, "..ETC. É. p.M. pm. x", &["..ETC. É. p.M. pm."], "x"),
            (Sentence, "J.. x etc.. y U.S.A. z", &["J..", "x etc.. y U.S.A."], "z"),
            (Sentence, "etc.! Dr.? x", &["etc.!", "Dr.?"], "x"),
            (Clause, "e.g., x", &["e.g.,"], "x"),
            // White space is Unicode's; what is only invisible is not.
            (Sentence, "\u{a0} ab.\u{202f}\u{3000}cd.\u{200b}ef. ", &["ab.", "cd.\u{200b}ef."], ""),
            (Sentence, " \t\n", &[], ""),
            (Whole, "", &[], ""),
        ]);
    }

    #[test]
    fn every_mark_is_known() {
        let splits = |mode, text: String| split(mode, [text.as_str()]).0.len();
        for (mode, ascii, script) in [(Sentence, ".!?", "。！？…।॥؟"), (Clause, ".!?,;", "。！？…।॥؟，；،؛")] {
            assert!(ascii.chars().all(|mark| splits(mode, format!("ab{mark} cd{mark}ef")) == 1));
            assert!(script.chars().all(|mark| splits(mode, format!("ab{mark}cd{mark}ef")) == 2));
        }
        for mark in "\"'”’»)]}』」）】.!?,;。！？…।॥؟，；،؛".chars() {
            assert_eq!(splits(Sentence, format!("ab!{mark} cd")), 1, "{mark}");
        }
    }

    #[test]
    fn every_abbreviation_is_known_and_no_longer_than_the_longest() {
        for word in ABBREVIATIONS {
            let text = format!("The {word}. {}. x", word.to_uppercase());
            assert_eq!(split(Sentence, [text.as_str()]), (vec![], Some(text.clone())));
        }
        assert_eq!(ABBREVIATIONS.iter().map(|word| word.chars().count()).max(), Some(LONGEST_ABBREVIATION));
    }

    #[test]
    fn a_unit_is_held_until_its_end_is_certain() {
        let mut segmenter = Segmenter::new(Sentence);
        for (feed, units, pending) in [
            ("Version 2.", &[][..], "Version 2."),
            ("0 is out.", &[], "Version 2.0 is out."),
            ("", &[], "Version 2.0 is out."),
            ("\"", &[], "Version 2.0 is out.\""),
            (" ", &["Version 2.0 is out.\""], ""),
            ("  你好。", &[], "你好。"),
            ("」", &[], "你好。」"),
            ("Yes", &["你好。」"], "Yes"),
        ] {
            assert_eq!(segmenter.push(feed), units, "{feed:?}");
            assert_eq!(segmenter.pending(), pending, "{feed:?}");
        }
        assert_eq!(segmenter.flush().as_deref(), Some("Yes"));
        assert_eq!((segmenter.push("ab!"), segmenter.flush().as_deref()), (vec![], Some("ab!")));
        assert_eq!((segmenter.push(" . cd"), segmenter.pending()), (vec![".".to_owned()], "cd"));
    }

    #[test]
    fn a_granularity_is_read_by_its_wire_name() {
        for granularity in Granularity::ALL {
            assert_eq!(granularity.name().parse(), Ok(granularity));
        }
        let error = "Clause".repeat(100).parse::<Granularity>().expect_err("names are exact");
        assert!(error.to_string().starts_with("split_granularity: expected none, sentence or clause, found \"Clause"));
        assert!(error.to_string().len() < 120);
    }

    #[test]
    fn a_megabyte_in_single_characters_takes_no_more_than_linear_time() {
        for pattern in ["a", ".", "etc.", "a.b,", "。x", "ab. "] {
            let text = pattern.repeat((1 << 20) / pattern.len());
            let began = Instant::now();
            let single = split(Clause, text.split_inclusive(|_| true));
            assert!(began.elapsed() < Duration::from_secs(10), "{pattern:?}: {:?}", began.elapsed());
            assert_eq!(single, split(Clause, [text.as_str()]), "{pattern:?}");
        }
    }

    /// Whether the word at the end, however long, is an abbreviation or an initial.
    fn abbreviated(before: &[char]) -> bool {
        let len = before.iter().rev().take_while(|c| c.is_alphanumeric() || **c == '.').count();
        let word: String = before[before.len() - len..].iter().collect();
        let initial = len == 1 && word.chars().all(char::is_alphabetic);
        len <= 6 && (initial || ABBREVIATIONS.contains(&word.trim_matches('.').to_lowercase().as_str()))
    }

    /// The rules as the reference states them, over a whole text: plain, with every look-around, and one scan a call.
    fn by_the_rules(granularity: Granularity, text: &str) -> (Vec<String>, Option<String>) {
        let text: Vec<char> = text.chars().collect();
        let (mut units, mut start, mut at) = (vec![], 0, 0);
        while at < text.len() {
            let digit = |at: Option<usize>| at.and_then(|at| text.get(at)).is_some_and(|c| c.is_numeric());
            let in_number = matches!(text[at], '.' | ',') && digit(at.checked_sub(1)) && digit(Some(at + 1));
            let abbreviation = text[at] == '.' && abbreviated(&text[start..at]);
            if !granularity.ends_at(text[at]) || in_number || abbreviation {
                at += 1;
                continue;
            }
            let needs_space = text[at].is_ascii();
            at += text[at..].iter().take_while(|c| is_run_mark(**c)).count();
            if text.get(at).is_some_and(|next| next.is_whitespace() || !needs_space) {
                units.push(text[start..at].iter().collect::<String>().trim().to_owned());
                at += text[at..].iter().take_while(|c| c.is_whitespace()).count();
                start = at;
            }
        }
        let rest = text[start..].iter().collect::<String>().trim().to_owned();
        (units, (!rest.is_empty()).then_some(rest))
    }

    /// Texts in which marks, words of the list, digits and white space meet more often than in any language.
    fn texts() -> impl Strategy<Value = String> {
        let marks = [&SENTENCE_MARKS[..], &CLAUSE_MARKS, &CLOSING_MARKS].concat();
        const OTHERS: [&str; 15] =
            ["a", "J", "é", "e\u{301}", "7", "٣", "½", "好", "👩\u{200d}🚀", " ", "\n", "\u{a0}", "\u{200b}", ":", "("];
        let piece = prop_oneof![
            select(marks).prop_map(String::from),
            select(&ABBREVIATIONS[..]).prop_map(String::from),
            select(&OTHERS[..]).prop_map(String::from),
            select(&[".", ". ", " "][..]).prop_map(String::from),
            any::<char>().prop_map(String::from),
        ];
        prop_oneof![proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat()), any::<String>()]
    }

    /// The text, cut before the characters of these numbers.
    fn cut<'a>(text: &'a str, places: &[Index]) -> Vec<&'a str> {
        let bounds: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let mut ends: Vec<usize> = places.iter().map(|place| *place.get(&bounds)).chain([0, text.len()]).collect();
        ends.sort_unstable();
        ends.windows(2).map(|ends| &text[ends[0]..ends[1]]).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]

        #[test]
        fn units_join_to_the_text_but_for_white_space_between_them(text in texts(), granularity in select(&Granularity::ALL[..])) {
            let (units, rest) = split(granularity, [text.as_str()]);
            let mut left = text.as_str();
            for unit in units.iter().chain(&rest) {
                prop_assert!(!unit.is_empty() && unit.trim() == unit, "{unit:?}");
                left = left.trim_start().strip_prefix(unit.as_str()).expect("each unit is the next slice of the text");
            }
            prop_assert_eq!(left.trim(), "");
        }

        #[test]
        fn how_the_text_was_cut_does_not_matter(text in texts(), places: Vec<Index>, granularity in select(&Granularity::ALL[..])) {
            let whole = split(granularity, [text.as_str()]);
            prop_assert_eq!(&split(granularity, cut(&text, &places)), &whole);
            prop_assert_eq!(&split(granularity, text.split_inclusive(|_| true)), &whole);
        }

        #[test]
        fn the_rules_are_kept(text in texts(), granularity in select(&Granularity::ALL[..])) {
            prop_assert_eq!(split(granularity, [text.as_str()]), by_the_rules(granularity, &text));
        }
    }
}
