//! Tags out of the text: breaks become pauses, block tags become paragraph ends, the others vanish.

use std::time::Duration;

/// A stretch of text, or a silence somebody asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    Text(String),
    Pause(Duration),
}

const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// A tag longer than this is text with a stray angle bracket.
const LONGEST_TAG: usize = 1000;
/// Tags that end a sentence.
const BLOCKS: &[&str] = &[
    "p",
    "s",
    "br",
    "li",
    "div",
    "tr",
    "td",
    "th",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "ul",
    "ol",
    "table",
    "section",
    "article",
    "header",
    "footer",
    "hr",
    "blockquote",
    "pre",
    "title",
    "paragraph",
    "sentence",
];
/// Elements whose content is not prose.
const HIDDEN: &[&str] = &["script", "style"];
const ENTITIES: &[(&str, &str)] = &[
    ("amp", "&"),
    ("lt", "<"),
    ("gt", ">"),
    ("quot", "\""),
    ("apos", "'"),
    ("nbsp", " "),
    ("ndash", "–"),
    ("mdash", "—"),
    ("hellip", "…"),
    ("lsquo", "‘"),
    ("rsquo", "’"),
    ("ldquo", "“"),
    ("rdquo", "”"),
    ("copy", "©"),
    ("reg", "®"),
    ("trade", "™"),
    ("deg", "°"),
    ("euro", "€"),
    ("pound", "£"),
    ("yen", "¥"),
    ("cent", "¢"),
    ("times", "×"),
    ("frac12", "½"),
    ("frac14", "¼"),
    ("frac34", "¾"),
    ("eacute", "é"),
    ("bull", "•"),
    ("middot", "·"),
    ("shy", ""),
    ("minus", "−"),
    ("divide", "÷"),
    ("plusmn", "±"),
    ("sect", "§"),
];

/// Splits a text at its breaks and drops every tag.
pub(crate) fn segments(text: &str) -> Vec<Segment> {
    let mut reader = Reader { rest: text, previous: None, out: Vec::new(), text: String::new(), unclosed: Vec::new() };
    reader.run();
    reader.end_text();
    reader.out
}

struct Reader<'t> {
    rest: &'t str,
    previous: Option<char>,
    out: Vec<Segment>,
    text: String,
    /// Closing marks already searched for in vain, so that no text is searched twice.
    unclosed: Vec<&'static str>,
}

impl<'t> Reader<'t> {
    fn run(&mut self) {
        while let Some(at) = self.rest.find(['<', '&']) {
            let (before, from) = self.rest.split_at(at);
            self.push(before);
            self.rest = from;
            let length = if from.starts_with('&') { self.entity() } else { self.tag() };
            let length = length.unwrap_or_else(|| {
                self.push(&from[..1]);
                1
            });
            self.rest = &from[length..];
        }
        let rest = self.rest;
        self.push(rest);
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.previous = text.chars().next_back().or(self.previous);
    }

    fn end_text(&mut self) {
        if !self.text.is_empty() {
            self.out.push(Segment::Text(std::mem::take(&mut self.text)));
        }
    }

    /// Consumes an entity and returns its length.
    fn entity(&mut self) -> Option<usize> {
        let window = self.rest.as_bytes().iter().take(12).position(|b| *b == b';')?;
        let name = self.rest.get(1..window)?;
        let decoded = match name.strip_prefix('#') {
            Some(number) => numeric_entity(number)?.to_string(),
            None => ENTITIES.iter().find(|(known, _)| *known == name)?.1.to_owned(),
        };
        self.push(&decoded);
        Some(window + 1)
    }

    /// Consumes a comment, a declaration or a tag and returns its length.
    fn tag(&mut self) -> Option<usize> {
        let rest = self.rest;
        if rest.starts_with("<!--") {
            return self.closed_by("-->");
        }
        if let Some(content) = rest.strip_prefix("<![CDATA[") {
            let end = self.closed_by("]]>")?;
            self.push(&content[..end - "<![CDATA[]]>".len()]);
            return Some(end);
        }
        if rest.starts_with("<?") || rest.starts_with("<!") {
            return rest.bytes().take(LONGEST_TAG).position(|b| b == b'>').map(|at| at + 1);
        }
        let tag = Tag::parse(rest)?;
        let generic = self.previous.is_some_and(char::is_alphanumeric) && tag.attributes.is_empty() && !tag.is_known();
        if generic {
            return None;
        }
        Some(self.obey(&tag))
    }

    fn obey(&mut self, tag: &Tag<'_>) -> usize {
        if tag.name == "break" && !tag.closing {
            self.end_text();
            self.out.push(Segment::Pause(break_length(tag.attributes)));
        } else if BLOCKS.contains(&tag.name.as_str()) {
            self.push("\n\n");
        } else if HIDDEN.contains(&tag.name.as_str()) && !tag.closing {
            return self.closed_by(if tag.name == "script" { "</script>" } else { "</style>" }).unwrap_or(tag.length);
        }
        tag.length
    }

    fn closed_by(&mut self, mark: &'static str) -> Option<usize> {
        if self.unclosed.contains(&mark) {
            return None;
        }
        let end = self.rest.find(mark).map(|at| at + mark.len());
        if end.is_none() {
            self.unclosed.push(mark);
        }
        end
    }
}

struct Tag<'t> {
    name: String,
    attributes: &'t str,
    closing: bool,
    length: usize,
}

impl<'t> Tag<'t> {
    /// `<name attributes>` with nothing between the bracket and the name; `a < b` is no tag.
    fn parse(text: &'t str) -> Option<Self> {
        let closing = text.starts_with("</");
        let start = if closing { 2 } else { 1 };
        let end = tag_end(text, start)?;
        let inside = text[start..end].trim_end_matches('/');
        let name_end = inside.find(|c: char| !c.is_ascii_alphanumeric() && !"-:_".contains(c)).unwrap_or(inside.len());
        let (name, attributes) = inside.split_at(name_end);
        let attributes = attributes.trim();
        let well_formed = name.starts_with(|c: char| c.is_ascii_alphabetic())
            && (attributes.is_empty() || (inside[name_end..].starts_with(char::is_whitespace) && attributes.contains('=')));
        well_formed.then(|| Self { name: name.to_ascii_lowercase(), attributes, closing, length: end + 1 })
    }

    fn is_known(&self) -> bool {
        const INLINE: &[&str] = &[
            "b", "i", "u", "em", "strong", "a", "span", "sub", "sup", "code", "small", "mark", "speak", "voice", "prosody", "emphasis",
            "phoneme", "say-as", "audio", "w", "token", "lang", "desc", "lexicon", "metadata", "html", "body", "head", "img",
        ];
        let name = self.name.as_str();
        name == "break" || BLOCKS.contains(&name) || HIDDEN.contains(&name) || INLINE.contains(&name)
    }
}

/// Where the tag's closing bracket is; a bracket inside quotes does not count.
fn tag_end(text: &str, start: usize) -> Option<usize> {
    let mut quote = None;
    for (at, b) in text.bytes().enumerate().take(LONGEST_TAG).skip(start) {
        match (quote, b) {
            (None, b'>') => return Some(at),
            (None, b'<') => return None,
            (None, b'"' | b'\'') => quote = Some(b),
            (Some(open), b) if open == b => quote = None,
            _ => {}
        }
    }
    None
}

fn numeric_entity(number: &str) -> Option<char> {
    let code = match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => number.parse().ok()?,
    };
    char::from_u32(code)
}

/// `time="500ms"`, `time="1.5s"`, or a strength by name.
fn break_length(attributes: &str) -> Duration {
    if let Some(time) = attribute(attributes, "time").and_then(parse_time) {
        return time.min(LONGEST_PAUSE);
    }
    Duration::from_millis(match attribute(attributes, "strength").unwrap_or("medium") {
        "none" => 0,
        "x-weak" => 100,
        "weak" => 200,
        "strong" => 750,
        "x-strong" => 1250,
        _ => 400,
    })
}

fn attribute<'t>(attributes: &'t str, name: &str) -> Option<&'t str> {
    let value = attributes.split_once(name)?.1.trim_start().strip_prefix('=')?.trim_start();
    match value.chars().next()? {
        quote @ ('"' | '\'') => value[1..].split(quote).next(),
        _ => value.split_whitespace().next(),
    }
}

fn parse_time(text: &str) -> Option<Duration> {
    let text = text.trim();
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 0.001),
        None => (text.strip_suffix('s')?, 1.0),
    };
    let seconds: f64 = number.trim().parse::<f64>().ok()? * unit;
    Duration::try_from_secs_f64(seconds.min(LONGEST_PAUSE.as_secs_f64())).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(of: &str) -> String {
        segments(of)
            .into_iter()
            .map(|segment| match segment {
                Segment::Text(text) => text,
                Segment::Pause(time) => format!("[{}]", time.as_millis()),
            })
            .collect()
    }

    #[test]
    fn tags_vanish_and_breaks_stay() {
        let rows = [
            (r#"<speak>Wait. <break time="500ms"/> Go.</speak>"#, "Wait. [500] Go."),
            (r"a<break time='1.5s'></break>b", "a[1500]b"),
            (r#"<break strength="strong"/>"#, "[750]"),
            (r#"<break time="99s"/>"#, "[10000]"),
            (r#"<break time="-1s"/>"#, "[400]"),
            ("<break/>", "[400]"),
            ("a < b and 5 > 3", "a < b and 5 > 3"),
            ("if a <b and c> d", "if a <b and c> d"),
            ("Vec<String> x", "Vec<String> x"),
            ("<p>One</p><p>Two</p>", "\n\nOne\n\n\n\nTwo\n\n"),
            ("bold<b>er</b>", "bolder"),
            ("<!-- no -->yes<!-- open", "yes<!-- open"),
            ("<![CDATA[a < b]]>", "a < b"),
            ("<style>p { x: y }</style>seen", "seen"),
            (r#"<a href="x>y">link</a>"#, "link"),
            ("AT&amp;T &#65;&#x42; &bogus; &", "AT&T AB &bogus; &"),
            ("x << y", "x << y"),
        ];
        for (from, to) in rows {
            assert_eq!(text(from), to, "{from}");
        }
    }
}
