//! The uploaded voices as a table.

use serde_json::Value;

use super::{Outcome, output};

/// Longest text of a column in characters.
const WIDEST: usize = 40;

/// Prints the voices.
pub fn list(voices: &[Value], as_json: bool) -> Outcome {
    if as_json {
        return output::print(&Value::from(voices.to_vec()).to_string());
    }
    if voices.is_empty() {
        return output::print("no uploaded voices");
    }
    let rows: Vec<[String; 4]> = voices.iter().map(row).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths = [width(0), width(1), width(2)];
    let lines: Vec<String> = rows
        .iter()
        .map(|[name, kind, consent, text]| {
            let [first, second, third] = widths;
            format!("{name:first$}  {kind:second$}  {consent:third$}  {text}").trim_end().to_owned()
        })
        .collect();
    output::print(&lines.join("\n"))
}

fn row(voice: &Value) -> [String; 4] {
    let text = |member: &str| voice[member].as_str().unwrap_or_default().chars().take(WIDEST).collect::<String>();
    let kind = match voice["embedding_dim"].as_u64() {
        Some(dim) => format!("vector of {dim}"),
        None => text("mime_type"),
    };
    [text("name"), kind, text("consent"), text("ref_text")]
}
