//! Tags and entities.

const BLOCK_TAGS: &[&str] = &[
    "p",
    "br",
    "li",
    "div",
    "tr",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "ul",
    "ol",
    "table",
    "hr",
    "blockquote",
    "pre",
    "section",
    "article",
    "s",
    "paragraph",
    "sentence",
];
#[rustfmt::skip] // One entity a line would be a page of them.
const ENTITIES: &[(&str, char)] = &[
    ("amp", '&'), ("lt", '<'), ("gt", '>'), ("quot", '"'), ("apos", '\''), ("nbsp", ' '), ("ndash", '–'), ("mdash", '—'),
    ("hellip", '…'), ("lsquo", '‘'), ("rsquo", '’'), ("ldquo", '“'), ("rdquo", '”'), ("copy", '©'), ("reg", '®'), ("trade", '™'),
    ("deg", '°'), ("euro", '€'), ("pound", '£'), ("yen", '¥'), ("cent", '¢'), ("times", '×'), ("frac12", '½'), ("frac14", '¼'),
    ("frac34", '¾'), ("eacute", 'é'), ("bull", '•'), ("middot", '·'), ("minus", '−'), ("divide", '÷'), ("plusmn", '±'),
];

/// Tags and entities. Only `<break …>` stays; block tags end a line.
pub(super) fn without_tags(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut unclosed: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['<', '&', '\r']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let read = match rest.as_bytes()[0] {
            b'&' => entity(rest, &mut out),
            b'<' => tag(rest, &mut out, &mut unclosed),
            _ => 1,
        };
        if read == 0 {
            out.push_str(&rest[..1]);
            // A bracket that opens no tag must not come to look like one once other marks are gone.
            let risky =
                rest.starts_with('<') && rest[1..].starts_with(|c: char| !c.is_whitespace() && !c.is_ascii_digit() && c != '=' && c != '-');
            out.push_str(if risky { " " } else { "" });
        }
        rest = &rest[read.max(1)..];
    }
    out + rest
}

/// Reads an entity, however often its ampersand was escaped. Returns its length, 0 for none.
fn entity(text: &str, out: &mut String) -> usize {
    let Some((mut c, length)) = named(&text[1..]) else { return 0 };
    let mut read = 1 + length;
    while c == '&' {
        let Some((inner, length)) = named(&text[read..]) else { break };
        (c, read) = (inner, read + length);
    }
    // An escaped tag is a mention of it: its name stays, its bracket must not come to look like one.
    let mention = c == '<' && text[read..].starts_with(|c: char| !c.is_whitespace() && !c.is_ascii_digit());
    out.push(if mention { ' ' } else { c });
    read
}

/// The character of `name;` and how long that is.
fn named(text: &str) -> Option<(char, usize)> {
    let end = text.bytes().take(10).position(|b| b == b';')?;
    let name = text.get(..end)?;
    let c = match name.strip_prefix('#') {
        Some(code) => code_point(code)?,
        None => ENTITIES.iter().find(|(known, _)| *known == name)?.1,
    };
    Some((c, end + 1))
}

fn code_point(code: &str) -> Option<char> {
    let number = match code.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => code.parse().ok()?,
    };
    char::from_u32(number).filter(|c| !c.is_control())
}

/// Reads a comment or a tag. Returns its length, 0 for none.
fn tag<'t>(text: &'t str, out: &mut String, unclosed: &mut Vec<&'t str>) -> usize {
    if text.starts_with("<!--") {
        return closed_by(text, "-->", unclosed);
    }
    if let Some(place) = autolink(text) {
        out.push_str(place);
        return place.len() + 2;
    }
    let Some((name, inside, length)) = parse_tag(text, out) else { return 0 };
    match name.as_str() {
        "break" => out.push_str(&text[..length]),
        "script" if !inside.starts_with('/') => return closed_by(text, "</script>", unclosed).max(length),
        "style" if !inside.starts_with('/') => return closed_by(text, "</style>", unclosed).max(length),
        _ if BLOCK_TAGS.contains(&name.as_str()) => out.push_str("\n\n"),
        _ => {}
    }
    length
}

/// `<https://example.com>` and `<jane@example.com>` are addresses in brackets.
fn autolink(text: &str) -> Option<&str> {
    let end = text.bytes().take(super::REACH).position(|b| b == b'>' || b.is_ascii_whitespace())?;
    let place = text.get(1..end).filter(|_| text.as_bytes()[end] == b'>')?;
    let address = place.contains("://") || (place.contains('@') && !place.contains(['"', '=', '<']));
    (address && !place.contains('<')).then_some(place)
}

/// A mark that is missing once is missing for the rest of the text, which is then not searched again.
fn closed_by<'t>(text: &str, mark: &'t str, unclosed: &mut Vec<&'t str>) -> usize {
    if unclosed.contains(&mark) {
        return 0;
    }
    let end = text.find(mark).map_or(0, |at| at + mark.len());
    if end == 0 {
        unclosed.push(mark);
    }
    end
}

/// Name, inside and length of a tag. `a < b` is none, nor is `Vec<String>`.
fn parse_tag<'t>(text: &'t str, before: &str) -> Option<(String, &'t str, usize)> {
    let end = text.bytes().take(super::REACH).position(|b| b == b'>')?;
    let inside = text.get(1..end)?;
    let body = inside.strip_prefix('/').unwrap_or(inside).trim_end_matches('/');
    let name_end = body.find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != ':').unwrap_or(body.len());
    let (name, attributes) = body.split_at(name_end);
    let lettered = name.starts_with(|c: char| c.is_ascii_alphabetic()) && !attributes.starts_with("://") && !name.ends_with(':');
    let well_formed = attributes.trim().is_empty() || (attributes.starts_with(char::is_whitespace) && attributes.contains('='));
    let generic = before.ends_with(char::is_alphanumeric) && name.starts_with(|c: char| c.is_ascii_uppercase());
    (lettered && well_formed && !inside.contains('<') && !generic).then(|| (name.to_ascii_lowercase(), inside, end + 1))
}
