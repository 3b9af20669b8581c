//! What of a checkpoint would load.

use std::collections::BTreeMap;
use std::path::Path;

use omni_plugin_api::{CheckpointLayout, TensorLayout, WeightFile};
use serde::Serialize;

use super::header::{Header, TensorEntry};
use super::values;

/// Faults of a kind that the page for people spells out.
const TOLD: usize = 12;

/// A checkpoint compared with what its family expects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckpointReport {
    /// Its folder.
    pub folder: String,
    /// Files beside the weights that are not there.
    pub missing_files: Vec<String>,
    /// The weights.
    pub files: Vec<FileReport>,
}

/// One file of weights.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct FileReport {
    /// Relative to the folder.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// Tensors that the family needs and that are there as expected.
    pub loads: usize,
    /// Tensors that the family knows and does not use.
    pub unused: usize,
    /// Numbers in the tensors that load.
    pub numbers: u64,
    /// Element types of the tensors that load, and how many have each.
    pub dtypes: BTreeMap<String, usize>,
    /// Why nothing of it can be read.
    pub unreadable: Option<String>,
    /// What is wrong, by tensor.
    pub faults: Vec<TensorFault>,
}

/// One tensor's fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum TensorFault {
    /// Needed and not there.
    #[error("missing     {name} {shape:?}")]
    Missing {
        /// Its name.
        name: String,
        /// The shape it should have.
        shape: Vec<u64>,
    },
    /// There and not known.
    #[error("unexpected  {name} {shape:?}")]
    Unexpected {
        /// Its name.
        name: String,
        /// The shape it has.
        shape: Vec<u64>,
    },
    /// Of another shape.
    #[error("misshapen   {name} {found:?}, expected {expected:?}")]
    Shape {
        /// Its name.
        name: String,
        /// The shape it should have.
        expected: Vec<u64>,
        /// The shape it has.
        found: Vec<u64>,
    },
    /// It holds NaN or infinities.
    #[error("not finite  {name}: {count} of its numbers")]
    NotFinite {
        /// Its name.
        name: String,
        /// How many.
        count: u64,
    },
    /// Its numbers cannot be read.
    #[error("unreadable  {name}: {reason}")]
    Unreadable {
        /// Its name.
        name: String,
        /// Why.
        reason: String,
    },
}

/// Compares the files in `folder` with `layout`. Headers are read, and all numbers as well if `reads_values`.
pub fn compare(folder: &Path, layout: &CheckpointLayout, reads_values: bool) -> CheckpointReport {
    let missing_files = layout.files.iter().filter(|file| !folder.join(file).is_file()).cloned().collect();
    let files = layout.weights.iter().map(|file| compare_file(folder, file, reads_values)).collect();
    CheckpointReport { folder: folder.display().to_string(), missing_files, files }
}

fn compare_file(folder: &Path, expected: &WeightFile, reads_values: bool) -> FileReport {
    let mut report = FileReport { path: expected.path.clone(), ..FileReport::default() };
    let header = match Header::read_sharded(&folder.join(&expected.path)) {
        Ok(header) => header,
        Err(error) => {
            report.unreadable = Some(error.to_string());
            return report;
        }
    };
    report.bytes = header.file_bytes;
    let known: BTreeMap<&str, &TensorLayout> = expected.tensors.iter().map(|tensor| (tensor.name.as_str(), tensor)).collect();
    for (name, tensor) in &known {
        report.tensor(tensor, header.tensors.get(*name));
    }
    for (name, entry) in header.tensors.iter().filter(|(name, _)| !known.contains_key(name.as_str())) {
        report.faults.push(TensorFault::Unexpected { name: name.clone(), shape: entry.shape.clone() });
    }
    if reads_values {
        report.faults.extend(header.tensors.iter().filter_map(|(name, entry)| values::fault(name, entry)));
    }
    report
}

impl FileReport {
    fn tensor(&mut self, expected: &TensorLayout, found: Option<&TensorEntry>) {
        let name = expected.name.clone();
        match found {
            None if expected.is_required => self.faults.push(TensorFault::Missing { name, shape: expected.shape.clone() }),
            None => {}
            Some(entry) if entry.shape != expected.shape => {
                self.faults.push(TensorFault::Shape { name, expected: expected.shape.clone(), found: entry.shape.clone() });
            }
            Some(_) if !expected.is_required => self.unused += 1,
            Some(entry) => {
                self.loads += 1;
                self.numbers = self.numbers.saturating_add(expected.numbers());
                *self.dtypes.entry(entry.dtype.clone()).or_default() += 1;
            }
        }
    }

    fn is_good(&self) -> bool {
        self.unreadable.is_none() && self.faults.is_empty()
    }

    fn text(&self) -> String {
        if let Some(reason) = &self.unreadable {
            return format!("  {} {reason}", self.path);
        }
        let types: Vec<String> = self.dtypes.iter().map(|(dtype, count)| format!("{count} {dtype}")).collect();
        let unused = if self.unused > 0 { format!(", {} known and unused", self.unused) } else { String::new() };
        let mut text = format!("  {}: {} tensors load ({}), {} numbers{unused}", self.path, self.loads, types.join(", "), self.numbers);
        self.faults.iter().take(TOLD).for_each(|fault| text.push_str(&format!("\n    {fault}")));
        if self.faults.len() > TOLD {
            text.push_str(&format!("\n    and {} more; --json has them all", self.faults.len() - TOLD));
        }
        text
    }
}

impl CheckpointReport {
    /// Whether all of it loads.
    pub fn is_good(&self) -> bool {
        self.missing_files.is_empty() && self.files.iter().all(FileReport::is_good)
    }

    /// How many things are wrong.
    pub fn faults(&self) -> usize {
        let of_file = |file: &FileReport| file.faults.len() + usize::from(file.unreadable.is_some());
        self.missing_files.len() + self.files.iter().map(of_file).sum::<usize>()
    }

    /// The report for people.
    pub fn text(&self) -> String {
        let missing = self.missing_files.iter().map(|file| format!("  {file} is not there"));
        let verdict = if self.is_good() { "  all of it loads".to_owned() } else { format!("  {} faults: it does not load", self.faults()) };
        let lines = std::iter::once(format!("checkpoint {}", self.folder)).chain(missing);
        lines.chain(self.files.iter().map(FileReport::text)).chain([verdict]).collect::<Vec<_>>().join("\n")
    }
}
