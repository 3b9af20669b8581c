//! Part-of-speech tags by an averaged perceptron whose weights are searched where they lie in the program.
//!
//! `tools/pack_tagger.py` says what is in the file and where it comes from.

use std::ops::Range;

static DATA: &[u8] = include_bytes!("../data/tagger.bin");
const BASIS: u32 = 0x811C_9DC6;
const PRIME: u32 = 0x0100_0193;
const COUNTS: usize = 5;
/// Stands before the first word and after the last.
const START: [&str; 2] = ["-START2-", "-START-"];
const END: [&str; 2] = ["-END-", "-END2-"];
/// The tag of a word about which nothing is known.
const NOUN: &str = "NN";

/// Where each table lies in the file.
pub(crate) struct Tagger {
    tags: Vec<&'static str>,
    features: Range<usize>,
    starts: usize,
    weights: usize,
    weight_tags: usize,
    words: Range<usize>,
    word_tags: usize,
    vocabulary: Range<usize>,
}

impl Tagger {
    pub(crate) fn new() -> Self {
        let [_, features, weights, words, vocabulary] = std::array::from_fn(|i| u32_at(i * 4) as usize);
        let features = COUNTS * 4..COUNTS * 4 + features * 4;
        let starts = features.end;
        let weights_at = starts + features.len() + 4;
        let weight_tags = weights_at + weights * 2;
        let words_at = weight_tags + weights;
        let word_tags = words_at + words * 4;
        let vocabulary_at = word_tags + words;
        let names = vocabulary_at + vocabulary * 4;
        Self {
            tags: std::str::from_utf8(&DATA[names..]).unwrap_or_default().split('\n').collect(),
            features,
            starts,
            weights: weights_at,
            weight_tags,
            words: words_at..word_tags,
            word_tags,
            vocabulary: vocabulary_at..names,
        }
    }

    /// One Penn Treebank tag a word. Words are what a treebank has as words: contractions and hyphens come apart.
    pub(crate) fn tag(&self, words: &[&str]) -> Vec<&'static str> {
        let mut context: Vec<String> = START.map(str::to_owned).into();
        context.extend(words.iter().map(|word| self.context_form(word)));
        context.extend(END.map(str::to_owned));
        let (mut previous, mut before) = (START[1], START[0]);
        let mut scores = vec![0; self.tags.len()];
        let mut out = Vec::with_capacity(words.len());
        for (i, word) in words.iter().enumerate() {
            let tag = match find(&self.words, hash(word)) {
                Some(at) => self.tags[DATA[self.word_tags + at] as usize],
                None => self.predict(&Place { i, word, context: &context[i..i + 5], previous, before }, &mut scores),
            };
            out.push(tag);
            (before, previous) = (previous, tag);
        }
        out
    }

    /// Frequent words as themselves, the others by their shape.
    fn context_form(&self, word: &str) -> String {
        let form = normal(word);
        if find(&self.vocabulary, hash(&form)).is_some() { form } else { format!("<{}>", shape(word)) }
    }

    fn predict(&self, place: &Place<'_>, scores: &mut [i32]) -> &'static str {
        scores.fill(0);
        let mut known = false;
        place.each_feature(|parts| {
            let key = parts.iter().fold(BASIS, |hash, part| extend(hash, part));
            if let Some(at) = find(&self.features, key) {
                known = true;
                self.add(at, scores);
            }
        });
        // Of two tags with one score the later name wins, as in training.
        let best = scores.iter().enumerate().max_by_key(|(_, score)| **score);
        best.filter(|_| known).map_or(NOUN, |(tag, _)| self.tags[tag])
    }

    fn add(&self, feature: usize, scores: &mut [i32]) {
        let starts = self.starts + feature * 4;
        for i in u32_at(starts) as usize..u32_at(starts + 4) as usize {
            let at = self.weights + i * 2;
            scores[DATA[self.weight_tags + i] as usize] += i32::from(i16::from_le_bytes([DATA[at], DATA[at + 1]]));
        }
    }
}

/// A word and what the features see of its surroundings: two words either side and the two tags before.
struct Place<'a> {
    i: usize,
    word: &'a str,
    context: &'a [String],
    previous: &'static str,
    before: &'static str,
}

impl Place<'_> {
    fn each_feature(&self, mut take: impl FnMut(&[&str])) {
        let [left2, left, this, right, right2] = std::array::from_fn(|i| self.context[i].as_str());
        let first = self.word.chars().next().map_or(0, char::len_utf8);
        take(&["b"]);
        take(&["s3=", ending(self.word)]);
        take(&["p1=", &self.word[..first]]);
        take(&["w=", this]);
        take(&["sh=", &shape(self.word)]);
        take(&[if self.i == 0 { "i0" } else { "i+" }]);
        take(&["t-1=", self.previous]);
        take(&["t-2=", self.before]);
        take(&["t-12=", self.previous, ",", self.before]);
        take(&["w-1=", left]);
        take(&["s3-1=", ending(left)]);
        take(&["w-2=", left2]);
        take(&["w+1=", right]);
        take(&["s3+1=", ending(right)]);
        take(&["w+2=", right2]);
    }
}

/// The last three characters.
fn ending(word: &str) -> &str {
    word.char_indices().rev().nth(2).map_or(word, |(at, _)| &word[at..])
}

fn normal(word: &str) -> String {
    if word.contains('-') && !word.starts_with('-') {
        return "!HYPHEN".to_owned();
    }
    word.to_lowercase()
}

/// Lower case, initials, capitalised, mixed, or the first characters of anything else by class.
fn shape(word: &str) -> String {
    let mut letters = word.chars();
    let first_is_capital = letters.next().is_some_and(char::is_uppercase);
    if word.chars().all(char::is_alphabetic) {
        let shape = match word {
            _ if !word.chars().any(char::is_uppercase) => "x",
            _ if !word.chars().any(char::is_lowercase) => {
                if word.chars().count() > 1 {
                    "XX"
                } else {
                    "X1"
                }
            }
            _ if first_is_capital && !letters.any(char::is_uppercase) => "Xx",
            _ => "xX",
        };
        return shape.to_owned();
    }
    word.chars().take(4).map(|c| if c.is_alphabetic() { 'x' } else { c }).collect()
}

fn hash(text: &str) -> u32 {
    extend(BASIS, text)
}

fn extend(hash: u32, text: &str) -> u32 {
    text.bytes().fold(hash, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(PRIME))
}

/// The index of a hash in a sorted table.
fn find(table: &Range<usize>, hash: u32) -> Option<usize> {
    let (mut low, mut high) = (0, table.len() / 4);
    while low < high {
        let middle = low.midpoint(high);
        match u32_at(table.start + middle * 4).cmp(&hash) {
            std::cmp::Ordering::Equal => return Some(middle),
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    None
}

fn u32_at(at: usize) -> u32 {
    u32::from_le_bytes([DATA[at], DATA[at + 1], DATA[at + 2], DATA[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heteronyms_are_told_apart_by_their_neighbours() {
        let tagger = Tagger::new();
        let rows = [
            ("I read the record that they record .", "PRP VBD DT NN WDT PRP VBP ."),
            ("He used to live near a live band , did n't he ?", "PRP VBD TO VB IN DT JJ NN , VBD RB PRP ."),
            ("Vroklin walks by the house in May", "NNP VBZ IN DT NN IN NNP"),
            ("well - known !", "RB HYPH VBN ."),
        ];
        for (words, tags) in rows {
            let words: Vec<_> = words.split(' ').collect();
            assert_eq!(tagger.tag(&words).join(" "), tags);
        }
    }
}
