//! `report.jsonl`: a line for each item that was worked on, written when it is done. It is the report, and what a later run goes on from.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::super::Failure;

/// Its name in the output directory.
pub const NAME: &str = "report.jsonl";

/// What became of an item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Which item, from 0.
    pub index: usize,
    /// Its file, below the output directory.
    pub output: String,
    /// `ok` or `failed`.
    pub status: Status,
    /// What was asked: see [`super::item::Item::fingerprint`].
    pub request: String,
    /// Bytes of the file.
    #[serde(default)]
    pub bytes: usize,
    /// How long it took.
    pub seconds: f64,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What became of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It was spoken.
    Ok,
    /// It was not.
    Failed,
}

/// The journal of a run.
pub struct Journal {
    file: Mutex<File>,
    /// The files that are there, by name, with the request each was made of.
    spoken: HashMap<String, String>,
}

impl Journal {
    /// Opens the journal of a directory, from the start or where an earlier run left off.
    pub fn open(folder: &Path, restart: bool) -> Result<Self, Failure> {
        let path = folder.join(NAME);
        let failed = |error: std::io::Error| Failure(format!("'{}' cannot be written: {error}", path.display()));
        let before = if restart { String::new() } else { fs::read_to_string(&path).unwrap_or_default() };
        let mut spoken = HashMap::new();
        // A line that was cut off by the interruption is none; its item is spoken again.
        for line in before.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok()) {
            match line.status {
                Status::Ok => spoken.insert(line.output, line.request),
                Status::Failed => spoken.remove(&line.output),
            };
        }
        let mut file = OpenOptions::new().create(true).append(!restart).write(true).truncate(restart).open(&path).map_err(failed)?;
        if !before.is_empty() && !before.ends_with('\n') {
            file.write_all(b"\n").map_err(failed)?;
        }
        Ok(Self { file: Mutex::new(file), spoken })
    }

    /// Whether this file was made of this request.
    pub fn has(&self, output: &str, request: &str) -> bool {
        self.spoken.get(output).is_some_and(|made_of| made_of == request)
    }

    /// Adds a line.
    pub fn add(&self, line: &Line) -> Result<(), Failure> {
        let failed = |reason: String| Failure(format!("{NAME} cannot be written: {reason}"));
        let mut text = serde_json::to_vec(line).map_err(|error| failed(error.to_string()))?;
        text.push(b'\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&text).map_err(|error| failed(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(output: &str, status: Status, request: &str) -> Line {
        Line { index: 0, output: output.to_owned(), status, request: request.to_owned(), bytes: 1, seconds: 0.5, error: None }
    }

    #[test]
    fn a_later_run_knows_what_was_spoken_also_after_a_line_that_broke_off() {
        let folder = tempfile::tempdir().expect("a directory");
        let journal = Journal::open(folder.path(), false).expect("a journal");
        for entry in
            [line("a", Status::Ok, "1"), line("b", Status::Failed, "2"), line("c", Status::Ok, "3"), line("c", Status::Failed, "4")]
        {
            journal.add(&entry).expect("it is written");
        }
        let path = folder.path().join(NAME);
        let cut = fs::read_to_string(&path).expect("a report") + "{\"index\":5,\"outp";
        fs::write(&path, cut).expect("it is written");
        let later = Journal::open(folder.path(), false).expect("a journal");
        assert!(later.has("a", "1") && !later.has("a", "9") && !later.has("b", "2") && !later.has("c", "3"));
        later.add(&line("d", Status::Ok, "5")).expect("it is written");
        assert!(Journal::open(folder.path(), false).expect("a journal").has("d", "5"));
        assert!(!Journal::open(folder.path(), true).expect("a journal").has("d", "5"));
    }
}
