//! Manifests: JSON, JSON lines, CSV.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value};

use super::super::Failure;
use super::item::Item;

/// Largest manifest.
const MAX_BYTES: u64 = 256 << 20;

/// Reads a manifest; `defaults` stand for what an item and the manifest leave open.
pub fn read(path: &Path, defaults: &Map<String, Value>) -> Result<Vec<Item>, Failure> {
    let shown = path.display();
    let failed = |reason: String| Failure(format!("manifest '{shown}': {reason}"));
    let len = fs::metadata(path).map_err(|error| failed(error.to_string()))?.len();
    if len > MAX_BYTES {
        return Err(failed(format!("it is larger than {} MiB", MAX_BYTES >> 20)));
    }
    let text = fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    let text = text.trim_start_matches('\u{feff}');
    let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default().to_ascii_lowercase();
    let rows = match end.as_str() {
        "json" => json(text, defaults),
        "jsonl" | "ndjson" => json_lines(text),
        "csv" => csv(text),
        _ => Err("expected a name that ends in .json, .jsonl or .csv".to_owned()),
    };
    let folder = path.parent().unwrap_or(Path::new("."));
    let rows = rows.map_err(failed)?;
    if rows.is_empty() {
        return Err(failed("it holds no item".to_owned()));
    }
    let items = rows.into_iter().enumerate();
    let items = items.map(|(index, row)| {
        let mut fields = defaults.clone();
        fields.extend(row);
        Item::new(index, fields, folder).map_err(|reason| failed(format!("item {}: {reason}", index + 1)))
    });
    items.collect()
}

/// A list of items, or an object whose other members stand for every item.
fn json(text: &str, defaults: &Map<String, Value>) -> Result<Vec<Map<String, Value>>, String> {
    let (items, shared) = match serde_json::from_str(text).map_err(|error| error.to_string())? {
        Value::Array(items) => (items, Map::new()),
        Value::Object(mut members) => match members.remove("items") {
            Some(Value::Array(items)) => (items, members),
            _ => return Err("expected a list of items, or an object whose 'items' is one".to_owned()),
        },
        _ => return Err("expected a list of items, or an object whose 'items' is one".to_owned()),
    };
    let merged = items.into_iter().enumerate().map(|(index, item)| {
        let mut fields = defaults.clone();
        fields.extend(shared.clone());
        fields.extend(object(index, item)?);
        Ok(fields)
    });
    merged.collect()
}

fn json_lines(text: &str) -> Result<Vec<Map<String, Value>>, String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let items = lines.map(|(index, line)| {
        let value = serde_json::from_str(line).map_err(|error| format!("line {}: {error}", index + 1))?;
        object(index, value)
    });
    items.collect()
}

fn object(index: usize, value: Value) -> Result<Map<String, Value>, String> {
    match value {
        Value::Object(fields) => Ok(fields),
        _ => Err(format!("item {}: expected an object", index + 1)),
    }
}

/// A cell that is empty leaves its field open; one that holds a JSON list or object is that, all others are text, which the API reads as
/// the type of its field.
fn csv(text: &str) -> Result<Vec<Map<String, Value>>, String> {
    let mut reader = ::csv::ReaderBuilder::new().trim(::csv::Trim::Headers).from_reader(text.as_bytes());
    let names = reader.headers().map_err(|error| error.to_string())?.clone();
    let rows = reader.records().map(|record| {
        let record = record.map_err(|error| error.to_string())?;
        let cells = names.iter().zip(&record).filter(|(_, cell)| !cell.is_empty());
        Ok(cells.map(|(name, cell)| (name.to_owned(), cell_value(cell))).collect())
    });
    rows.collect()
}

fn cell_value(cell: &str) -> Value {
    let is_nested = cell.starts_with('[') || cell.starts_with('{');
    let nested = is_nested.then(|| serde_json::from_str(cell).ok()).flatten();
    nested.unwrap_or_else(|| Value::from(cell))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read_in(folder: &Path, name: &str, text: &str) -> Result<Vec<Item>, Failure> {
        let path = folder.join(name);
        fs::write(&path, text).expect("a file");
        read(&path, json!({"voice": "flag", "model": "m"}).as_object().expect("an object"))
    }

    fn read_as(name: &str, text: &str) -> Result<Vec<Item>, Failure> {
        read_in(tempfile::tempdir().expect("a directory").path(), name, text)
    }

    #[test]
    fn every_form_gives_the_same_items() {
        let json =
            r#"{"voice": "v", "items": [{"text": "One, two.", "speed": "1.5"}, {"input": "Three", "voice": "w", "output": "c.mp3"}]}"#;
        let lines =
            "{\"voice\":\"v\",\"input\":\"One, two.\",\"speed\":\"1.5\"}\n\n{\"input\":\"Three\",\"voice\":\"w\",\"output\":\"c.mp3\"}";
        let table = "\u{feff}text, voice, speed, output\n\"One, two.\",v,1.5,\nThree,w,,c.mp3\n";
        let folder = tempfile::tempdir().expect("a directory");
        let items = read_in(folder.path(), "m.json", json).expect("a manifest");
        assert_eq!(items[0].request["input"], "One, two.");
        assert_eq!((&items[0].request["voice"], &items[0].request["model"]), (&json!("v"), &json!("m")));
        assert_eq!(items[1].output.as_deref(), Some(Path::new("c.mp3")));
        assert_eq!(read_in(folder.path(), "m.jsonl", lines).expect("a manifest"), items);
        assert_eq!(read_in(folder.path(), "m.csv", table).expect("a manifest"), items);
        assert_eq!(read_in(folder.path(), "m.json", r#"[{"input": "a"}]"#).expect("a manifest")[0].request["voice"], "flag");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        for (name, text, part) in [
            ("m.txt", "", ".json, .jsonl or .csv"),
            ("m.json", "{", "EOF"),
            ("m.json", "{}", "'items'"),
            ("m.json", "[]", "no item"),
            ("m.json", "[5]", "item 1: expected an object"),
            ("m.jsonl", "{\"input\":\"a\"}\n{", "line 2"),
            ("m.jsonl", "{\"input\":\"a\"}\n{\"voice\":\"a\"}", "item 2: there is no 'input'"),
            ("m.json", r#"[{"input": "a", "output": "../b.wav"}]"#, "item 1: 'output' leaves the directory"),
            ("m.json", r#"[{"input": "a", "output": "/b.wav"}]"#, "item 1: 'output' leaves the directory"),
            ("m.csv", "input,voice\na\n", "m.csv"),
        ] {
            let error = read_as(name, text).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
