//! Splitting a text into what is meant as it stands and what is between `${` and `}`.

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// As it stands.
    Text(String),
    /// What is between the braces.
    Expression(String),
}

/// The parts of a text in order, or what is wrong with it.
pub(crate) fn pieces(text: &str) -> Result<Vec<Piece>, String> {
    let mut parts = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let before = &rest[..start];
        if let Some(before) = before.strip_suffix('\\') {
            plain.push_str(before);
            plain.push_str("${");
            rest = &rest[start + 2..];
            continue;
        }
        plain.push_str(before);
        let inner = &rest[start + 2..];
        let end = closing(inner).ok_or_else(|| format!("expected a '}}' for every '${{', found {}", super::node::quoted(text)))?;
        flush(&mut parts, &mut plain);
        parts.push(Piece::Expression(inner[..end].to_owned()));
        rest = &inner[end + 1..];
    }
    plain.push_str(rest);
    flush(&mut parts, &mut plain);
    Ok(parts)
}

fn flush(parts: &mut Vec<Piece>, plain: &mut String) {
    if !plain.is_empty() {
        parts.push(Piece::Text(std::mem::take(plain)));
    }
}

/// Where the brace closes that is open at the start of a text.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (index, letter) in text.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(index),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}
