//! Worded text into words and the marks the voice hears.

use crate::rules::SPELL;

/// A word, or a mark that shapes the melody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// Letters with inner apostrophes and hyphens. A leading [`SPELL`] means: name the letters.
    Word(String),
    Mark(char),
}

impl Token {
    /// The token as a reader would see it.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Word(word) => match word.strip_prefix(SPELL) {
                Some(letters) => {
                    let (letters, ending) = letters.split_at(letters.find('\'').unwrap_or(letters.len()));
                    letters.chars().map(String::from).collect::<Vec<_>>().join(" ") + ending
                }
                None => word.clone(),
            },
            Self::Mark(mark) => mark.to_string(),
        }
    }
}

/// Words that begin with an apostrophe of their own.
const CLIPPED: &[&str] =
    &["'tis", "'twas", "'em", "'cause", "'til", "'bout", "'round", "'n'", "'twere", "'twill", "'neath", "'fraid", "'gainst"];
const PAUSES: [char; 8] = [',', ';', ':', '—', '…', '.', '!', '?'];

/// Tokens in order. Characters that are neither word nor known mark only separate.
pub(crate) fn tokens(text: &str) -> Vec<Token> {
    let mut reader = Reader::default();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let spaced = !rest.peek().is_some_and(|next| next.is_alphanumeric() || *next == SPELL);
        reader.take(c, spaced);
    }
    reader.end_word();
    closed(tidy(reader.out))
}

/// A full stop where the sentence ends without any mark: the voice then lets its last sound ring out.
fn closed(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = tokens.iter().rposition(|token| !matches!(token, Token::Mark(')' | '”'))).map_or(0, |at| at + 1);
    if matches!(tokens[..end].last(), Some(Token::Word(_))) {
        tokens.insert(end, Token::Mark('.'));
    }
    tokens
}

#[derive(Default)]
struct Reader {
    out: Vec<Token>,
    word: String,
    quoted: bool,
    half_quoted: bool,
}

impl Reader {
    fn take(&mut self, c: char, spaced: bool) {
        if self.word.starts_with(SPELL) && c == '-' {
            return self.end_word();
        }
        match c {
            c if c.is_alphabetic() || c == '\'' || c == '-' => self.word.push(c),
            SPELL => {
                self.end_word();
                self.word.push(c);
            }
            '"' => self.double_quote(spaced),
            '“' | '”' | '(' | ')' => self.mark(c),
            '–' => self.mark('—'),
            c if PAUSES.contains(&c) => self.mark(c),
            _ => self.end_word(),
        }
    }

    fn mark(&mut self, mark: char) {
        self.end_word();
        self.out.push(Token::Mark(mark));
    }

    fn double_quote(&mut self, spaced: bool) {
        let ends_word = spaced && !self.word.is_empty();
        let opens = !self.quoted && !ends_word;
        self.quoted = opens;
        self.mark(if opens { '“' } else { '”' });
    }

    fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        let bare = word.trim_matches('-');
        if bare.is_empty() {
            if !word.is_empty() {
                self.out.push(Token::Mark('—'));
            }
            return;
        }
        if bare.chars().all(|c| c == '\'') {
            if std::mem::take(&mut self.half_quoted) {
                self.out.push(Token::Mark('”'));
            }
            return;
        }
        let (opens, core, closes) = self.apostrophes(bare);
        if opens {
            self.out.push(Token::Mark('“'));
        }
        if core.chars().any(char::is_alphabetic) {
            self.out.push(Token::Word(core.to_owned()));
        }
        if closes {
            self.out.push(Token::Mark('”'));
        }
    }

    /// Tells apostrophes that belong to the word from single quotation marks around it.
    fn apostrophes<'w>(&mut self, word: &'w str) -> (bool, &'w str, bool) {
        let mut core = word;
        let clipped = CLIPPED.iter().any(|known| word.to_lowercase().starts_with(known));
        let opens = core.starts_with('\'') && !clipped;
        if opens {
            core = core.trim_start_matches('\'');
            self.half_quoted = true;
        }
        let dropped_g = core.ends_with("in'") && !self.half_quoted;
        let closes = core.ends_with('\'') && self.half_quoted;
        if closes {
            self.half_quoted = false;
        }
        if core.ends_with('\'') && !dropped_g && !core.eq_ignore_ascii_case("'n'") {
            core = core.trim_end_matches('\'');
        }
        (opens, core.trim_matches('-'), closes)
    }
}

/// One mark where several met, none before the first word, no empty quotes or brackets.
fn tidy(tokens: Vec<Token>) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    for token in tokens {
        match (&token, out.last()) {
            (Token::Mark(mark), last) if PAUSES.contains(mark) => match last {
                None | Some(Token::Mark('(' | '“')) => {}
                Some(Token::Mark(before)) if PAUSES.contains(before) => {
                    let strongest = stronger(*before, *mark);
                    out.pop();
                    out.push(Token::Mark(strongest));
                }
                _ => out.push(token),
            },
            (Token::Mark(')'), Some(Token::Mark('('))) | (Token::Mark('”'), Some(Token::Mark('“'))) => {
                out.pop();
            }
            (Token::Mark(')' | '”'), None) => {}
            _ => out.push(token),
        }
    }
    while matches!(out.last(), Some(Token::Mark('(' | '“'))) {
        out.pop();
    }
    out
}

fn stronger(a: char, b: char) -> char {
    let rank = |mark| PAUSES.iter().position(|known| *known == mark);
    if rank(a) >= rank(b) { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_marks() {
        let rows = [
            ("Hello, world!", "Hello|,|world|!"),
            ("\"Hi,\" she said.", "“|Hi|,|”|she|said|."),
            ("'Hi,' she said. Dogs' tails.", "“|Hi|,|”|she|said|.|Dogs|tails|."),
            ("'tis rock 'n' roll, runnin' on", "'tis|rock|'n'|roll|,|runnin'|on|."),
            ("well-known -ish a - b", "well-known|ish|a|—|b|."),
            ("one (or two).", "one|(|or|two|)|."),
            ("what?!", "what|?"),
            ("a,, b;. c", "a|,|b|.|c|."),
            ("(\"Hi\")", "(|“|Hi|.|”|)"),
            (", \"\" () start", "start|."),
            ("snake_case *bold*", "snake|case|bold|."),
            ("\u{E000}IRS form", "I R S|form|."),
        ];
        for (text, expected) in rows {
            let shown: Vec<_> = tokens(text).iter().map(Token::shown).collect();
            assert_eq!(shown.join("|"), expected, "{text}");
        }
    }
}
