//! Unicode down to the few characters the rest of the front end knows.
//!
//! Typographic marks become their ASCII kin, invisible characters vanish, look-alikes become plain letters, long runs
//! of one character are shortened, and letters of other scripts are taken out and counted.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;
use unicode_script::{Script, UnicodeScript as _};

/// A letter or mark drawn out further than this says nothing more.
const LONGEST_RUN: usize = 3;

/// Cleaned text and what had to go.
pub(crate) struct Scrubbed {
    pub(crate) text: String,
    pub(crate) lost: Losses,
}

/// Characters of scripts this front end cannot read, by script in order of appearance.
#[derive(Debug, Default)]
pub(crate) struct Losses(Vec<(Script, usize)>);

impl Losses {
    fn add(&mut self, script: Script, more: usize) {
        match self.0.iter_mut().find(|(known, _)| *known == script) {
            Some((_, count)) => *count += more,
            None => self.0.push((script, more)),
        }
    }

    /// Takes in the losses of a later stretch.
    pub(crate) fn merge(&mut self, later: Self) {
        later.0.into_iter().for_each(|(script, count)| self.add(script, count));
    }

    /// The scripts' English names.
    pub(crate) fn scripts(&self) -> Vec<String> {
        self.0.iter().map(|(script, _)| script.full_name().replace('_', " ")).collect()
    }

    /// One sentence a script.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = String> + '_ {
        self.0.iter().zip(self.scripts()).map(|((_, count), name)| match count {
            1 => format!("1 character in {name} script was not spoken"),
            _ => format!("{count} characters in {name} script were not spoken"),
        })
    }
}

/// Cleans a text. Line breaks stay, every other kind of space becomes a space.
pub(crate) fn scrub(text: &str) -> Scrubbed {
    let mut cleaner = Cleaner::default();
    let mut rest = text.nfc().peekable();
    while let Some(c) = rest.next() {
        let next = rest.peek().copied();
        cleaner.take(c, next);
    }
    Scrubbed { text: cleaner.out, lost: cleaner.lost }
}

#[derive(Default)]
struct Cleaner {
    out: String,
    lost: Losses,
    last: Option<char>,
    run: usize,
    after_greek: bool,
    raised: bool,
}

impl Cleaner {
    fn take(&mut self, c: char, next: Option<char>) {
        let after_greek = std::mem::replace(&mut self.after_greek, c.script() == Script::Greek);
        if is_silent(c) {
            return;
        }
        let raised = std::mem::take(&mut self.raised);
        if let Some(digit) = superscript(c, raised || next.and_then(|next| superscript(next, true)).is_some()) {
            self.raised = true;
            if !raised {
                self.push('^');
            }
            self.push(digit);
        } else if let Some(plain) = substitute(c) {
            let glued = plain.starts_with(|c: char| c.is_ascii_digit()) && plain.len() > 1;
            if glued && self.last.is_some_and(|last| last.is_ascii_digit()) {
                self.push(' ');
            }
            plain.chars().for_each(|c| self.push(c));
        } else if let Some(number) = roman_numeral(c) {
            number.to_string().chars().for_each(|c| self.push(c));
        } else if let Some(digit) = foreign_digit(c) {
            self.push(digit);
        } else if let Some(script) = unreadable(c, after_greek, next) {
            self.lost.add(script, 1);
            self.push(' ');
        } else if is_compatibility(c) {
            std::iter::once(c).nfkc().for_each(|c| self.push(c));
        } else {
            self.push(c);
        }
    }

    fn push(&mut self, c: char) {
        let same = self.last.is_some_and(|last| last == c || last.to_lowercase().eq(c.to_lowercase()));
        self.run = if same { self.run + 1 } else { 1 };
        self.last = Some(c);
        match c {
            '.' if self.out.ends_with('…') => {}
            '.' if self.out.ends_with('.') => self.replace_last("…"),
            '…' if self.out.ends_with(['…', '.']) => self.replace_last("…"),
            '-' if self.out.ends_with('-') => self.replace_last("—"),
            '-' | '—' if self.out.ends_with('—') => {}
            ' ' if self.out.ends_with([' ', '\n']) => {}
            '\n' if self.out.ends_with("\n\n") => {}
            _ if self.run > LONGEST_RUN && !c.is_ascii_digit() => {}
            _ => self.out.push(c),
        }
    }

    fn replace_last(&mut self, with: &str) {
        self.out.pop();
        self.out.push_str(with);
    }
}

/// Characters that leave no trace: controls, format characters, variation selectors, private use, stray accents.
fn is_silent(c: char) -> bool {
    matches!(c,
        '\u{0}'..='\u{8}' | '\u{E}'..='\u{1B}' | '\u{7F}'..='\u{84}' | '\u{86}'..='\u{9F}' | '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{483}'..='\u{489}'
        | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
        | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFF0}'..='\u{FFFF}' | '\u{20D0}'..='\u{20FF}'
        | '\u{E000}'..='\u{F8FF}' | '\u{E0000}'..='\u{10FFFF}' | '`')
        || is_combining_mark(c) && matches!(c.script(), Script::Inherited | Script::Common | Script::Latin)
}

/// What a typographic character stands for.
fn substitute(c: char) -> Option<&'static str> {
    Some(match c {
        '\r' => "\n",
        '\u{B}' | '\u{C}' | '\u{85}' | '\u{2028}' => "\n",
        '\u{2029}' => "\n\n",
        '‐' | '‑' | '\u{FE63}' | '\u{FF0D}' => "-",
        '‒' => "–",
        '―' | '⸺' | '⸻' => "—",
        '‘' | '’' | '‚' | '‛' | 'ʼ' | 'ʻ' | '´' | '＇' | '‹' | '›' => "'",
        '“' | '”' | '„' | '‟' | '«' | '»' | '〝' | '〞' | '「' | '」' | '『' | '』' | '《' | '》' => "\"",
        '⋯' | '︙' => "…",
        '。' | '｡' | '।' | '۔' => ". ",
        '、' | '،' | '､' => ", ",
        '؟' => "? ",
        '؛' => "; ",
        '・' | '·' | '•' | '‣' | '⁃' | '●' | '▪' => " • ",
        '【' | '〔' | '〈' => " (",
        '】' | '〕' | '〉' => ") ",
        '½' => "1/2",
        '⅓' => "1/3",
        '⅔' => "2/3",
        '¼' => "1/4",
        '¾' => "3/4",
        '⅕' => "1/5",
        '⅖' => "2/5",
        '⅗' => "3/5",
        '⅘' => "4/5",
        '⅙' => "1/6",
        '⅚' => "5/6",
        '⅛' => "1/8",
        '⅜' => "3/8",
        '⅝' => "5/8",
        '⅞' => "7/8",
        '⁄' | '∕' | '／' => "/",
        '№' => "No. ",
        '™' | '®' | '℠' => " ",
        '∗' | '⋅' => "*",
        '∼' | '～' => "~",
        'º' => "°",
        '⟶' | '➔' | '➜' | '⇒' => "→",
        c if c.is_whitespace() && c != '\n' => " ",
        '\u{1C}'..='\u{1F}' | '⠀' => " ",
        _ => return None,
    })
}

/// Raised digits and signs. A lone ² or ³ stays, because it is read "squared" or "cubed" after a unit too.
fn superscript(c: char, in_run: bool) -> Option<char> {
    Some(match c {
        '²' if in_run => '2',
        '³' if in_run => '3',
        '¹' => '1',
        '⁰' => '0',
        '⁴'..='⁹' => char::from_digit(c as u32 - 0x2070, 10)?,
        '⁻' => '-',
        _ => return None,
    })
}

/// One-character numerals: `Ⅳ`.
fn roman_numeral(c: char) -> Option<u32> {
    match c as u32 {
        code @ 0x2160..=0x216B => Some(code - 0x215F),
        code @ 0x2170..=0x217B => Some(code - 0x216F),
        _ => None,
    }
}

/// Decimal digits of other scripts mean the same numbers.
fn foreign_digit(c: char) -> Option<char> {
    const ZEROS: [u32; 14] = [0x660, 0x6F0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xE50, 0xED0, 0x1040];
    let zero = ZEROS.into_iter().find(|zero| (*zero..zero + 10).contains(&(c as u32)))?;
    char::from_digit(c as u32 - zero, 10)
}

/// The script of a character that has no English reading. A Greek letter on its own is a symbol and has one.
fn unreadable(c: char, after_greek: bool, next: Option<char>) -> Option<Script> {
    match c.script() {
        Script::Latin | Script::Common | Script::Inherited | Script::Unknown => None,
        Script::Greek if !after_greek && !next.is_some_and(|next| next.script() == Script::Greek) => None,
        Script::Braille => None,
        script if c.is_alphanumeric() || is_combining_mark(c) => Some(script),
        _ => None,
    }
}

/// Blocks that hold other forms of plain characters: full width, ligatures, mathematical letters, circled, squared.
fn is_compatibility(c: char) -> bool {
    matches!(c as u32,
        0x2080..=0x209C | 0x2100..=0x2189 | 0x2460..=0x24FF | 0x3200..=0x33FF | 0xFB00..=0xFB06 | 0xFE50..=0xFE6F
        | 0xFF01..=0xFFEE | 0x1D400..=0x1D7FF | 0x1F100..=0x1F1E5 | 0x2C7C..=0x2C7D | 0x1C4..=0x1CC | 0x1F1..=0x1F3 | 0x17F)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_become_plain() {
        let rows = [
            ("We’ve “said”", "We've \"said\""),
            ("9:00\u{202F}AM 5:30\u{A0}PM", "9:00 AM 5:30 PM"),
            ("bank\u{200B} opens\u{FEFF} now, al\u{AD}ways", "bank opens now, always"),
            ("nearly...", "nearly…"),
            ("nearly....", "nearly…"),
            ("a -- b --- c", "a — b — c"),
            ("ＦＵＬＬ　ｗｉｄｔｈ！", "FULL width!"),
            ("𝓯𝓪𝓷𝓬𝔂 ﬁne", "fancy fine"),
            ("2½ cups", "2 1/2 cups"),
            ("cafe\u{301}", "café"),
            ("z\u{336}a\u{489}lgo", "zalgo"),
            ("nul\0bell\u{7}", "nulbell"),
            ("HEYYYYYYYY!!!!!!!", "HEYYY!!!"),
            ("RaWrRrRrRr", "RaWrRr"),
            ("100000000", "100000000"),
            ("10⁻⁵ x² 2¹⁶ 10²³", "10^-5 x² 2^16 10^23"),
            ("٣ apples", "3 apples"),
            ("area πr²", "area πr²"),
            ("a\r\nb", "a\n\nb"),
        ];
        for (from, to) in rows.iter() {
            assert_eq!(scrub(from).text, *to);
        }
    }

    #[test]
    fn other_scripts_are_counted() {
        let scrubbed = scrub("the pear 梨子 is да ripe 梨");
        assert_eq!(scrubbed.text, "the pear is ripe ");
        assert_eq!(scrubbed.lost.scripts(), ["Han", "Cyrillic"]);
        let warnings: Vec<_> = scrubbed.lost.warnings().collect();
        assert_eq!(warnings, ["3 characters in Han script were not spoken", "2 characters in Cyrillic script were not spoken"]);
    }
}
