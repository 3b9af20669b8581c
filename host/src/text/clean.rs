//! Markdown and markup into plain text, for families that read nothing else.
//!
//! Structure becomes punctuation: a heading or a list item ends like a sentence, table cells are separated by commas.
//! Marks, link targets, tags and emoji go; words stay. `<break …/>` is kept as it is for families that honour it.

mod inline;
mod tags;

use inline::inline;
use tags::without_tags;

/// How far a closing bracket is looked for, so that a text full of opening ones takes no longer than another.
const REACH: usize = 2000;
/// Taking one layer of marks off can lay another bare; nobody nests deeper than this.
const LAYERS: usize = 8;
const BULLETS: &[&str] = &["- ", "* ", "+ ", "• ", "◦ ", "▪ ", "‣ ", "● ", "○ ", "· "];
const CHECKBOXES: &[&str] = &["[ ] ", "[x] ", "[X] "];

/// The text without markup. Cleaning a clean text changes nothing.
pub fn clean(text: &str) -> String {
    let mut cleaned = once(text);
    for _ in 1..LAYERS {
        let again = once(&cleaned);
        if again == cleaned {
            break;
        }
        cleaned = again;
    }
    cleaned
}

fn once(text: &str) -> String {
    let mut page = Page::default();
    for line in without_tags(text).split('\n') {
        page.line(line);
    }
    page.close_item();
    page.out.trim().to_owned()
}

/// The lines so far.
#[derive(Default)]
struct Page {
    out: String,
    /// The last line belongs to a list item that may go on.
    in_item: bool,
}

impl Page {
    fn line(&mut self, line: &str) {
        let line = line.trim();
        let body = line.trim_start_matches(|c: char| c == '>' || c.is_whitespace());
        let body = if line.starts_with('>') { body } else { line };
        if body.is_empty() || is_rule(body) {
            return self.blank(body);
        }
        if is_fence(body) || is_definition(body) {
            return self.close_item();
        }
        match (heading(body), item(body)) {
            (Some(title), _) => self.sentence(title),
            (_, Some(item)) => {
                self.push(item);
                self.in_item = true;
            }
            _ if is_row(body) => self.sentence(&cells(body)),
            _ => self.push_on(body),
        }
    }

    /// A blank line, or a rule: one that underlines makes the line above a heading.
    fn blank(&mut self, body: &str) {
        self.close_item();
        if !body.is_empty() && !self.out.ends_with('\n') {
            end_sentence(&mut self.out);
        }
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push_str(if self.out.ends_with('\n') { "\n" } else { "\n\n" });
        }
    }

    fn sentence(&mut self, text: &str) {
        self.push(text);
        end_sentence(&mut self.out);
    }

    fn push(&mut self, text: &str) {
        self.close_item();
        self.push_on(text);
    }

    fn push_on(&mut self, text: &str) {
        let text = inline(text);
        if text.is_empty() {
            return;
        }
        if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push('\n');
        }
        self.out.push_str(&text);
    }

    fn close_item(&mut self) {
        if std::mem::take(&mut self.in_item) {
            end_sentence(&mut self.out);
        }
    }
}

/// A full stop where no mark closes the line.
fn end_sentence(out: &mut String) {
    let closed = out.trim_end_matches(['"', '\'', ')', '”', '’']).ends_with(['.', '!', '?', ':', ';', ',', '…', '>']);
    if !closed && out.ends_with(|c: char| !c.is_whitespace()) {
        out.push('.');
    }
}

fn heading(line: &str) -> Option<&str> {
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    let marked = (1..=6).contains(&level) && title.starts_with(char::is_whitespace);
    marked.then(|| title.trim().trim_end_matches('#').trim_end())
}

/// A bullet is taken off; a number says which item it is and stays.
fn item(line: &str) -> Option<&str> {
    if let Some(body) = BULLETS.iter().find_map(|bullet| line.strip_prefix(bullet)) {
        let body = body.trim_start();
        return Some(CHECKBOXES.iter().find_map(|checkbox| body.strip_prefix(checkbox)).unwrap_or(body));
    }
    let (number, rest) = line.split_once(['.', ')'])?;
    let numbered = (1..=3).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit()) && rest.starts_with(' ');
    numbered.then_some(line)
}

/// `---`, `***`, `===`, and the line under a table's head.
fn is_rule(line: &str) -> bool {
    let marks = line.chars().filter(|c| "-=*_".contains(*c)).count();
    marks >= 3 && line.chars().all(|c| "-=*_|:+ \t".contains(c))
}

fn is_fence(line: &str) -> bool {
    let named = line.trim_start_matches(['`', '~']);
    let marks = line.len() - named.len();
    let language = line.starts_with('`') && !named.contains('`') && named.split_whitespace().count() < 2;
    marks >= 3 && (named.is_empty() || language)
}

/// `[name]: target`, which nobody reads.
fn is_definition(line: &str) -> bool {
    let Some((name, target)) = line.strip_prefix('[').and_then(|rest| rest.split_once("]:")) else { return false };
    !name.starts_with('^') && !name.contains(']') && (target.contains("://") || target.trim_start().starts_with(['/', '#', '<']))
}

fn is_row(line: &str) -> bool {
    line.contains(" | ") || (line.starts_with('|') && line.len() > 1)
}

fn cells(row: &str) -> String {
    let cells: Vec<_> = row.split('|').map(str::trim).filter(|cell| !cell.is_empty()).collect();
    cells.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structure_becomes_punctuation() {
        let rows = [
            (
                "# Packing list\n\n- **Rope**, two lengths\n- *Warm* gloves\n\nRun `ls -l`, then see [the map](https://www.example.com/a/b).",
                "Packing list.\n\nRope, two lengths.\nWarm gloves.\n\nRun ls -l, then see the map.",
            ),
            ("## Why? ##\ntext", "Why?\ntext"),
            ("Title\n=====\nbody", "Title.\n\nbody"),
            ("1. First\n2. Second", "1. First.\n2. Second."),
            ("- one\n  goes on\n- two", "one\ngoes on.\ntwo."),
            ("- [x] done\n- [ ] open", "done.\nopen."),
            ("> quoted\n> > deeper", "quoted\ndeeper"),
            ("```rust\nlet x = 1;\n```\nafter", "let x = 1;\nafter"),
            ("| Name | Age |\n| --- | ---: |\n| Ada | 36 |", "Name, Age.\n\nAda, 36."),
            ("a\n\n\n\nb", "a\n\nb"),
            ("a\n---\nb", "a.\n\nb"),
            ("[1]: https://example.com\ntext[^1] [^1]: note", "text note"),
        ];
        for (from, to) in rows {
            assert_eq!(clean(from), to, "{from}");
        }
    }

    #[test]
    fn marks_and_targets_are_silent() {
        let rows = [
            ("***bold*** _it_ __strong__ ~~gone~~ `code`", "bold it strong gone code"),
            ("snake_case and 5 * 3", "snake_case and 5 * 3"),
            ("![a cat](cat.png) and [b][ref] [c]", "a cat and b [c]"),
            ("see https://www.example.com/a/b?x=1#y, or www.example.org.", "see example.com, or example.org."),
            ("<https://example.com/x>", "example.com"),
            ("mail <jane@example.com>", "mail jane@example.com"),
            ("AT&amp;T &lt;3 &#65; &amp;amp;lt; 5", "AT&T <3 A < 5"),
            ("the &lt;b&gt; tag", "the b> tag"),
            ("<p>One <b>two</b></p><p>Three</p>", "One two\n\nThree"),
            ("<speak>Wait. <break time=\"500ms\"/> Go.</speak>", "Wait. <break time=\"500ms\"/> Go."),
            ("a < b and 5 > 3, Vec<String>", "a < b and 5 > 3, Vec< String>"),
            ("<!-- hidden -->shown<script>x()</script>", "shown"),
            ("hi👋🏽there 🎉 1️⃣ 👩‍👩‍👧 ok", "hi there 1 ok"),
            ("\\*not bold\\*", "not bold"),
            ("", ""),
        ];
        for (from, to) in rows {
            assert_eq!(clean(from), to, "{from}");
        }
    }

    #[test]
    fn cleaning_twice_changes_nothing_and_no_word_is_lost() {
        let pieces = [
            "word",
            "# ",
            "- ",
            "1. ",
            "* ",
            "**",
            "_",
            "`",
            "```",
            "\n",
            "\n\n",
            " ",
            "[",
            "](",
            ")",
            "http://a.b/",
            "www.",
            "<b>",
            "<",
            ">",
            "&amp;",
            "&lt;",
            "|",
            " | ",
            "---",
            "\\",
            "~~",
            "👋",
            "<break/>",
            "![",
            "]:",
            ".",
            "=",
            "&#38;",
            ";",
            "> ",
            "lt;",
            "\u{FE0F}",
        ];
        let mut state = 1_u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % below
        };
        for _ in 0..20_000 {
            let text: String = (0..next(12)).map(|_| pieces[next(pieces.len())]).collect();
            let cleaned = clean(&text);
            assert_eq!(clean(&cleaned), cleaned, "{text:?}");
            let linked = text.contains("](") || text.contains("]:") || text.contains("][") || text.contains("http");
            if !linked && !text.contains("www") && !text.contains('<') && !text.contains("```") {
                assert_eq!(cleaned.matches("word").count(), text.matches("word").count(), "{text:?} {cleaned:?}");
            }
        }
    }

    #[test]
    fn time_grows_with_length_and_no_faster() {
        for seed in ["[", "<", "<a ", "<!-- ", "&amp;", "*", "`", "[a](", "![", "- ", "| ", "www.", "\\", "👋", "> ", "<script>"] {
            let took = |bytes: usize| {
                let text = seed.repeat(bytes / seed.len());
                let start = std::time::Instant::now();
                clean(&text);
                start.elapsed()
            };
            let (short, long) = (took(10_000), took(100_000));
            assert!(long < short * 40 + std::time::Duration::from_millis(300), "{seed:?}: {short:?}, then {long:?}");
        }
    }
}
