//! Values in Python notation, in which the reference prints what it was sent.

use serde_json::Value;

/// Longest string shown, in characters.
const MAX_STRING: usize = 200;

/// A value as the reference's validation messages show it: containers by their size, long strings cut.
pub fn shown(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => quoted(&cut(text)),
        Value::Array(items) => format!("<list of {} items>", items.len()),
        Value::Object(members) => object_of(members.len()),
    }
}

/// An object with this many members.
pub fn object_of(members: usize) -> String {
    format!("<dict of {members} items>")
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_STRING) {
        Some((end, _)) => format!("{}...[truncated]", &text[..end]),
        None => text.to_owned(),
    }
}

/// A string literal: single quotes, unless only those occur in it.
pub fn quoted(text: &str) -> String {
    let mark = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut literal = String::from(mark);
    for letter in text.chars() {
        match letter {
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            '\t' => literal.push_str("\\t"),
            '\\' => literal.push_str("\\\\"),
            _ if letter == mark => literal.extend(['\\', mark]),
            _ if letter.is_control() => literal.push_str(&format!("\\x{:02x}", u32::from(letter))),
            _ => literal.push(letter),
        }
    }
    literal.push(mark);
    literal
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_look_as_in_python() {
        for (value, wanted) in [
            (json!(null), "None"),
            (json!(true), "True"),
            (json!(4.5), "4.5"),
            (json!("a'b"), r#""a'b""#),
            (json!("a'b\"c\n\u{1}"), r#"'a\'b"c\n\x01'"#),
            (json!([1, 2]), "<list of 2 items>"),
            (json!({"a": 1}), "<dict of 1 items>"),
        ] {
            assert_eq!(shown(&value), wanted);
        }
        assert_eq!(shown(&json!("ä".repeat(201))).chars().count(), 200 + "...[truncated]".len() + 2);
    }
}
