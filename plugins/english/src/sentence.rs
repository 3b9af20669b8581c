//! Text into sentences: paragraphs and lines first, then full stops read by what stands around them.

use crate::abbreviations::{Stop, is_lettered, opens_sentence, stop_after};

/// A sentence longer than this is cut before it is worded, so that every later step works on a bounded piece.
const LONGEST: usize = 1200;
/// A line shorter than this that stands above a capital is a title or an item, not wrapped prose.
const SHORT_LINE: usize = 48;
/// How far around a mark is looked, however long the text has no space.
const WINDOW: usize = 40;
const ENDS: [char; 4] = ['.', '!', '?', '…'];
const CLOSERS: [char; 5] = ['"', '\'', ')', ']', '*'];
const OPENERS: [char; 6] = ['"', '\'', '(', '[', '*', '_'];

/// The sentences of a scrubbed text, each trimmed and with something in it.
pub(crate) fn split(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    for paragraph in paragraphs(text) {
        for sentence in sentences(&paragraph) {
            out.extend(bounded(sentence.trim()).filter(|piece| !piece.is_empty()).map(str::to_owned));
        }
    }
    out
}

/// Lines that belong together, joined. List and heading marks at the start of a line are taken off.
fn paragraphs(text: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut above = "";
    for line in text.split('\n') {
        let line = line.trim();
        let body = without_marks(line);
        let current = out.last_mut().filter(|current| !current.is_empty());
        match current {
            Some(current) if !breaks(above, line, body) => {
                current.push(' ');
                current.push_str(body);
            }
            _ => out.push(body.to_owned()),
        }
        above = line;
    }
    out
}

/// Whether a line break is more than wrapping.
fn breaks(above: &str, line: &str, body: &str) -> bool {
    let ended = above.ends_with(ENDS) || above.ends_with(CLOSERS) || above.ends_with([':', ';', '|']);
    let marked = body.len() != line.len() || without_marks(above).len() != above.len() || line.starts_with('|');
    let numbered = line.split_once(['.', ')']).is_some_and(|(n, _)| n.len() < 4 && n.bytes().all(|b| b.is_ascii_digit()));
    let titled = above.chars().count() < SHORT_LINE && body.starts_with(|c: char| c.is_uppercase() || c.is_numeric());
    line.is_empty() || above.is_empty() || ended || marked || numbered || titled
}

/// The line without heading, list, quotation and fence marks.
fn without_marks(line: &str) -> &str {
    if line.starts_with("~~~") || line.starts_with("===") {
        return line.trim_matches(['~', '=']);
    }
    let heading = line.trim_start_matches('#');
    if heading.len() < line.len() && heading.starts_with(' ') {
        return heading.trim().trim_end_matches('#').trim_end();
    }
    let quoted = line.trim_start_matches(['>', ' ']);
    let quoted = if line.starts_with('>') { quoted } else { line };
    for bullet in ["- ", "* ", "+ ", "• ", "– ", "— "] {
        if let Some(item) = quoted.strip_prefix(bullet) {
            return item.trim_start();
        }
    }
    quoted
}

/// Cuts a paragraph where a sentence ends.
fn sentences(paragraph: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let (mut start, mut at) = (0, 0);
    while let Some(found) = paragraph[at..].find(ENDS) {
        let mark = at + found;
        let run = paragraph[mark..].trim_start_matches(ENDS);
        let rest = run.trim_start_matches(CLOSERS);
        let end = paragraph.len() - rest.len();
        if ends_here(&paragraph[start..mark], &paragraph[mark..end], rest) {
            out.push(&paragraph[start..end]);
            start = end;
        }
        at = end;
    }
    out.push(&paragraph[start..]);
    out
}

fn ends_here(before: &str, marks: &str, rest: &str) -> bool {
    let Some(next) = rest.trim_start().trim_start_matches(OPENERS).chars().next() else { return true };
    if !rest.starts_with(char::is_whitespace) {
        return runs_on(before, marks, rest);
    }
    if next.is_lowercase() {
        // `"Stop!" he said` goes on, `how are you? fine` does not.
        return marks.ends_with(['!', '?']);
    }
    let word = last_word(before);
    if !marks.starts_with('.') {
        return true;
    }
    match stop_after(word) {
        Some(Stop::Inside) => false,
        Some(Stop::Usual) => true,
        Some(Stop::Either) => !next.is_ascii_digit() && opens_sentence(first_word(rest)),
        None if is_counted(word, next) => false,
        None if is_initial(word) && !is_lettered(last_word(before[..before.len() - word.len()].trim_end())) => {
            opens_sentence(first_word(rest)) && first_word(rest).len() > 1
        }
        None => true,
    }
}

/// `end.Next` with the space forgotten; `3.14`, `e.g` and `example.com` stay whole.
fn runs_on(before: &str, marks: &str, rest: &str) -> bool {
    let mut after = rest.chars();
    let capital = after.next().is_some_and(char::is_uppercase) && after.next().is_some_and(char::is_lowercase);
    let chunk = last_word(before);
    if !capital || chunk.contains(['/', '@', '_']) {
        return false;
    }
    let ahead = rest.chars().take(WINDOW).take_while(|c| !c.is_whitespace());
    let word = chunk.chars().count() > 2 && chunk.chars().all(|c| c.is_lowercase() || c == '\'');
    !marks.starts_with('.') || (word && !ahead.into_iter().any(|c| "/@._(".contains(c)))
}

/// A number after `No.` and its like counts something and does not open a sentence.
fn is_counted(word: &str, next: char) -> bool {
    next.is_ascii_digit() && crate::abbreviations::BEFORE_NUMBER.iter().any(|(short, _)| *short == word)
}

fn is_initial(word: &str) -> bool {
    word.chars().count() == 1 && word.chars().all(char::is_uppercase) && word != "I"
}

fn last_word(before: &str) -> &str {
    let window = before.char_indices().rev().take(WINDOW).last().map_or(before, |(at, _)| &before[at..]);
    let word = window.rsplit(char::is_whitespace).next().unwrap_or(window);
    word.trim_start_matches(OPENERS).trim_start_matches(['-', '—'])
}

fn first_word(rest: &str) -> &str {
    let rest = rest.trim_start().trim_start_matches(OPENERS);
    let end = rest.char_indices().take(WINDOW).find(|(_, c)| !c.is_alphanumeric() && *c != '\'').map(|(at, _)| at);
    &rest[..end.unwrap_or_else(|| rest.char_indices().nth(WINDOW).map_or(rest.len(), |(at, _)| at))]
}

/// Pieces of at most [`LONGEST`] bytes, cut behind a comma if there is one, else at a space, else anywhere.
fn bounded(sentence: &str) -> impl Iterator<Item = &str> {
    let mut rest = sentence;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let cut = if rest.len() <= LONGEST { rest.len() } else { cut_point(rest) };
        let (piece, tail) = rest.split_at(cut);
        rest = tail.trim_start();
        Some(piece.trim_end())
    })
}

/// Near an even share of what is left, so that no tiny piece remains.
fn cut_point(text: &str) -> usize {
    let share = text.len().div_ceil(text.len().div_ceil(LONGEST));
    let ceiling = LONGEST.min(share + share / 8);
    let limit = (0..=ceiling).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let window = &text[..limit];
    let clause = [", ", "; ", ": ", "— "].iter().filter_map(|mark| window.rfind(mark).map(|at| at + mark.len())).max();
    let clause = clause.filter(|at| *at > share - share / 4);
    clause.or_else(|| window.rfind(' ').filter(|at| *at > 0)).unwrap_or(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_by_context() {
        let rows: &[(&str, &[&str])] = &[
            ("One. Two! Three? Four", &["One.", "Two!", "Three?", "Four"]),
            ("10. 9. 8. Lift off.", &["10.", "9.", "8.", "Lift off."]),
            (
                "Bring tape, etc. Whether it fits. Dr. Lin of Acme Inc. agrees, e.g. on cost.",
                &["Bring tape, etc.", "Whether it fits.", "Dr. Lin of Acme Inc. agrees, e.g. on cost."],
            ),
            ("See No. 5 on p. 12 of vol. 3.", &["See No. 5 on p. 12 of vol. 3."]),
            ("He left the U.S. in May. The U.S. The end.", &["He left the U.S. in May.", "The U.S.", "The end."]),
            ("J. K. Rowling wrote. Vitamin C. The end.", &["J. K. Rowling wrote.", "Vitamin C.", "The end."]),
            ("Plan B. Sleep. George W. Bush", &["Plan B.", "Sleep.", "George W. Bush"]),
            ("\"Stop!\" he said. \"Why?\" She left.", &["\"Stop!\" he said.", "\"Why?\"", "She left."]),
            ("We were nearly… Ruth waits, so…", &["We were nearly…", "Ruth waits, so…"]),
            ("well… maybe", &["well… maybe"]),
            ("Pi is 3.14. See example.com for it.", &["Pi is 3.14.", "See example.com for it."]),
            ("It ended.Then it began.", &["It ended.", "Then it began."]),
            ("At 5 p.m. The bank shuts. At 5 p.m. Monday it opens.", &["At 5 p.m.", "The bank shuts.", "At 5 p.m. Monday it opens."]),
            ("# Packing list\n\n- Rope, two\n- Gloves\n\nRun it.", &["Packing list", "Rope, two", "Gloves", "Run it."]),
            (
                "a line that was wrapped by an editor at some\ncolumn goes on",
                &["a line that was wrapped by an editor at some column goes on"],
            ),
            ("", &[]),
            ("…", &["…"]),
        ];
        for (text, expected) in rows {
            assert_eq!(split(text), *expected, "{text}");
        }
    }

    #[test]
    fn long_sentences_are_cut_at_spaces() {
        let text = "word ".repeat(2000);
        let pieces = split(&text);
        assert!(pieces.iter().all(|piece| piece.len() <= LONGEST));
        assert_eq!(pieces.join(" "), text.trim());
        let solid = "é".repeat(5000);
        assert_eq!(split(&solid).concat(), solid);
    }
}
