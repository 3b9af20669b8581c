//! What stands inside a line: links, addresses, emphasis, code marks, emoji.

use unicode_segmentation::UnicodeSegmentation as _;

/// One line without links, addresses' paths, emphasis, code marks and emoji.
pub(super) fn inline(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let read = special(c, rest, &mut out);
        if read > 0 {
            rest = &rest[read..];
            continue;
        }
        let cluster = rest.graphemes(true).next().unwrap_or_default();
        push_cluster(cluster, &rest[cluster.len()..], &mut out);
        rest = &rest[cluster.len()..];
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Reads what starts with a character of meaning. Returns its length, 0 when it is text.
fn special(c: char, rest: &str, out: &mut String) -> usize {
    match c {
        '<' if rest.starts_with("<break") => copy_break(rest, out),
        '!' if rest.starts_with("![") => link(&rest[1..], out).map_or(0, |length| length + 1),
        '[' => link(rest, out).unwrap_or(0),
        'h' | 'H' | 'f' | 'w' | 'W' => address(rest, out),
        '\\' if rest[1..].starts_with(|c: char| c.is_ascii_punctuation()) => 1,
        '`' => 1,
        '~' if rest.starts_with("~~") => 2,
        '*' => emphasis(rest, '*', out),
        '_' => emphasis(rest, '_', out),
        _ => 0,
    }
}

fn copy_break(rest: &str, out: &mut String) -> usize {
    let Some(end) = rest.bytes().take(super::REACH).position(|b| b == b'>') else { return 0 };
    out.push_str(&rest[..=end]);
    end + 1
}

/// `[text](target)`, `[text][name]`, `[^note]`: the text, or nothing.
fn link(rest: &str, out: &mut String) -> Option<usize> {
    let close = closing(rest, '[', ']')?;
    let text = &rest[1..close];
    let after = &rest[close + 1..];
    if text.starts_with('^') {
        return Some(close + 1 + usize::from(after.starts_with(':')));
    }
    let target = match after.chars().next() {
        Some('(') => closing(after, '(', ')')? + 1,
        Some('[') => closing(after, '[', ']')? + 1,
        _ => return None,
    };
    out.push_str(&inline(text));
    Some(close + 1 + target)
}

/// Where the bracket that opens the text closes, within reach.
fn closing(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices().take_while(|(at, _)| *at < super::REACH) {
        if c == open {
            depth += 1;
        } else if c == close {
            depth -= 1;
            if depth == 0 {
                return Some(at);
            }
        }
    }
    None
}

/// A bare address is its host.
fn address(rest: &str, out: &mut String) -> usize {
    if out.ends_with(|c: char| c.is_alphanumeric() || c == '@' || c == '.') {
        return 0;
    }
    let lower: String = rest.chars().take(8).map(|c| c.to_ascii_lowercase()).collect();
    let schemes = ["https://", "http://", "ftp://", "www."];
    let Some(scheme) = schemes.iter().find(|scheme| lower.starts_with(**scheme)) else { return 0 };
    let end = rest.find(|c: char| c.is_whitespace() || "<>\"|`".contains(c)).unwrap_or(rest.len());
    let whole = rest[..end].trim_end_matches(|c: char| ".,;:!?'*_)]}".contains(c));
    let host = whole.get(scheme.len()..).unwrap_or_default();
    let host = host.split(['/', '?', '#', ':']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or(host);
    let host = host.strip_prefix("www.").unwrap_or(host);
    if !host.contains(char::is_alphanumeric) {
        return 0;
    }
    out.push_str(host);
    whole.len()
}

/// Marks that hug a word are emphasis; `5 * 3` and `snake_case` are not.
fn emphasis(rest: &str, mark: char, out: &str) -> usize {
    let length = rest.len() - rest.trim_start_matches(mark).len();
    let next = rest[length..].chars().next();
    let previous = out.chars().next_back();
    let spaced = previous.is_none_or(char::is_whitespace) && next.is_none_or(char::is_whitespace);
    let joint = previous.is_some_and(char::is_alphanumeric) && next.is_some_and(char::is_alphanumeric);
    let lone = mark == '*' && spaced && length == 1 && previous.is_some() && next.is_some();
    if lone || (mark == '_' && joint) { 0 } else { length }
}

/// Emoji go and leave a gap; a keycap leaves its digit.
fn push_cluster(cluster: &str, rest: &str, out: &mut String) {
    let first = cluster.chars().next().unwrap_or_default();
    if cluster.ends_with('\u{20E3}') {
        out.push(first);
    } else if is_emoji(first) {
        let glued = rest.starts_with(char::is_alphanumeric) && out.ends_with(char::is_alphanumeric);
        out.push_str(if glued { " " } else { "" });
    } else {
        out.push_str(cluster);
    }
}

fn is_emoji(c: char) -> bool {
    matches!(c as u32,
        0x1F000..=0x1FAFF | 0x2600..=0x27BF | 0x2B00..=0x2BFF | 0x231A..=0x231B | 0x23E9..=0x23FA | 0x25FB..=0x25FE
        | 0xFE0F | 0x200D | 0xE0020..=0xE007F)
}
