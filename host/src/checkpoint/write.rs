//! A checkpoint of random numbers, written part by part on all cores.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use omni_plugin_api::{Blueprint, TensorLayout, TextFile, WeightFile};
use serde_json::{Map, Value, json};

use super::noise::{Noise, to_bf16};

/// Numbers that a thread makes before it writes them.
const PART: u64 = 1 << 20;

/// Why a checkpoint was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The system refused.
    #[error("'{}' cannot be written: {source}", path.display())]
    Unwritable {
        /// Which file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The folder is in use.
    #[error("'{}' is there already and is not empty; nothing was written", .0.display())]
    Occupied(PathBuf),
    /// The family's blueprint cannot be followed.
    #[error("the family's blueprint {0}")]
    Blueprint(String),
}

/// Where a checkpoint goes and what it is made of.
#[derive(Debug, Clone)]
pub struct Made<'a> {
    /// The folder; made if missing, and empty.
    pub folder: &'a Path,
    /// Same seed, same numbers.
    pub seed: u64,
    /// A folder whose files are taken instead of the blueprint's texts where it has them: a real tokenizer, for example.
    pub texts_from: Option<&'a Path>,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Written {
    /// Relative to the folder.
    pub path: String,
    /// Tensors in it.
    pub tensors: usize,
    /// Numbers in them.
    pub numbers: u64,
    /// Its size.
    pub bytes: u64,
}

/// Writes a checkpoint and tells what its weights came to.
pub fn write(blueprint: &Blueprint, made: &Made<'_>) -> Result<Vec<Written>, WriteError> {
    let paths = blueprint.texts.iter().map(|text| &text.path).chain(blueprint.weights.iter().map(|file| &file.path));
    if let Some(astray) = paths.into_iter().find(|path| !is_below(path)) {
        return Err(WriteError::Blueprint(format!("names '{astray}', which leads out of the folder")));
    }
    empty(made.folder)?;
    blueprint.texts.iter().try_for_each(|text| write_text(text, made))?;
    blueprint.weights.iter().map(|file| write_weights(file, made)).collect()
}

fn is_below(path: &str) -> bool {
    !path.is_empty() && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

fn empty(folder: &Path) -> Result<(), WriteError> {
    fs::create_dir_all(folder).map_err(unwritable(folder))?;
    match fs::read_dir(folder).map_err(unwritable(folder))?.next() {
        Some(_) => Err(WriteError::Occupied(folder.to_owned())),
        None => Ok(()),
    }
}

fn unwritable(path: &Path) -> impl Fn(io::Error) -> WriteError + '_ {
    move |source| WriteError::Unwritable { path: path.to_owned(), source }
}

fn create(path: &Path) -> Result<File, WriteError> {
    path.parent().map_or(Ok(()), fs::create_dir_all).map_err(unwritable(path))?;
    File::create(path).map_err(unwritable(path))
}

fn write_text(text: &TextFile, made: &Made<'_>) -> Result<(), WriteError> {
    let path = made.folder.join(&text.path);
    let given = made.texts_from.map(|folder| folder.join(&text.path)).filter(|given| given.is_file());
    create(&path)?;
    match given {
        Some(given) => fs::copy(given, &path).map(drop),
        None => fs::write(&path, &text.content),
    }
    .map_err(unwritable(&path))
}

fn write_weights(file: &WeightFile, made: &Made<'_>) -> Result<Written, WriteError> {
    let path = made.folder.join(&file.path);
    let plan = Plan::new(file)?;
    let out = create(&path)?;
    out.set_len(plan.end).and_then(|()| out.write_all_at(&plan.head, 0)).map_err(unwritable(&path))?;
    fill(&plan, made.seed, &out).map_err(unwritable(&path))?;
    Ok(Written { path: file.path.clone(), tensors: file.tensors.len(), numbers: file.numbers(), bytes: plan.end })
}

/// Where every number of a file goes.
struct Plan<'a> {
    /// Length and header.
    head: Vec<u8>,
    parts: Vec<Part<'a>>,
    end: u64,
}

/// Some numbers of a tensor.
struct Part<'a> {
    tensor: &'a TensorLayout,
    element: Element,
    from: u64,
    count: u64,
    /// Where they go in the file.
    at: u64,
}

#[derive(Debug, Clone, Copy)]
enum Element {
    Bf16,
    F32,
}

impl Element {
    fn of(tensor: &TensorLayout) -> Result<Self, WriteError> {
        match tensor.dtype.as_str() {
            "BF16" => Ok(Self::Bf16),
            "F32" => Ok(Self::F32),
            other => Err(WriteError::Blueprint(format!("has {other} for '{}'; BF16 and F32 can be made", tensor.name))),
        }
    }

    fn bytes(self) -> u64 {
        match self {
            Self::Bf16 => 2,
            Self::F32 => 4,
        }
    }
}

impl<'a> Plan<'a> {
    fn new(file: &'a WeightFile) -> Result<Self, WriteError> {
        let mut header = Map::new();
        header.insert("__metadata__".to_owned(), json!({"format": "pt"}));
        let (mut parts, mut offset) = (Vec::new(), 0_u64);
        for tensor in &file.tensors {
            let element = Element::of(tensor)?;
            let numbers = tensor.shape.iter().try_fold(1_u64, |product, size| product.checked_mul(*size));
            let end = numbers.and_then(|numbers| numbers.checked_mul(element.bytes())).and_then(|bytes| offset.checked_add(bytes));
            let (numbers, end) = numbers.zip(end).ok_or_else(|| WriteError::Blueprint(format!("has a huge '{}'", tensor.name)))?;
            let entry = json!({"dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": [offset, end]});
            if header.insert(tensor.name.clone(), entry).is_some() {
                return Err(WriteError::Blueprint(format!("has '{}' twice", tensor.name)));
            }
            let starts = (0..numbers).step_by(PART as usize);
            parts.extend(starts.map(|from| {
                let count = PART.min(numbers - from);
                Part { tensor, element, from, count, at: offset + from * element.bytes() }
            }));
            offset = end;
        }
        let head = head(&header);
        let data = head.len() as u64;
        parts.iter_mut().for_each(|part| part.at += data);
        Ok(Self { head, parts, end: data + offset })
    }
}

/// The length and the header, padded so that the numbers begin at a multiple of eight.
fn head(header: &Map<String, Value>) -> Vec<u8> {
    let mut text = Value::Object(header.clone()).to_string().into_bytes();
    text.resize(text.len().next_multiple_of(8), b' ');
    [&(text.len() as u64).to_le_bytes()[..], &text].concat()
}

/// Makes and writes all parts; threads take the next one as they come free.
fn fill(plan: &Plan<'_>, seed: u64, out: &File) -> io::Result<()> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut bytes = Vec::new();
        while let Some(part) = plan.parts.get(next.fetch_add(1, Ordering::Relaxed)) {
            part.make(seed, &mut bytes);
            out.write_all_at(&bytes, part.at)?;
        }
        Ok(())
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let ended = running.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread ended early"))));
        ended.collect::<io::Result<()>>()
    })
}

impl Part<'_> {
    fn make(&self, seed: u64, bytes: &mut Vec<u8>) {
        let noise = Noise::new(seed, &self.tensor.name, self.tensor.fill);
        let values = (self.from..self.from + self.count).map(|place| noise.at(place));
        bytes.clear();
        match self.element {
            Element::Bf16 => bytes.extend(values.flat_map(|value| to_bf16(value).to_le_bytes())),
            Element::F32 => bytes.extend(values.flat_map(f32::to_le_bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::{TensorFault, compare};
    use omni_plugin_api::{CheckpointLayout, Fill};

    fn tensor(name: &str, shape: &[u64], dtype: &str) -> TensorLayout {
        let fill = Fill::Normal { mean: 0.0, deviation: 0.1 };
        TensorLayout { name: name.into(), shape: shape.into(), dtype: dtype.into(), is_required: true, fill }
    }

    fn blueprint() -> Blueprint {
        let large = tensor("b", &[3, PART / 2 + 5], "F32");
        let weights = vec![WeightFile { path: "sub/model.safetensors".into(), tensors: vec![tensor("a", &[4, 5], "BF16"), large] }];
        Blueprint { texts: vec![TextFile { path: "config.json".into(), content: "{}".into() }], weights }
    }

    fn make(folder: &Path, seed: u64) -> Vec<u8> {
        write(&blueprint(), &Made { folder, seed, texts_from: None }).expect("it is written");
        fs::read(folder.join("sub/model.safetensors")).expect("a file")
    }

    #[test]
    fn what_is_written_loads_and_depends_on_the_seed_alone() {
        let folders = [(); 3].map(|()| tempfile::tempdir().expect("a folder"));
        let [one, two, other] = [(&folders[0], 1), (&folders[1], 1), (&folders[2], 2)].map(|(folder, seed)| make(folder.path(), seed));
        assert!(one == two && one != other && one.len() == other.len());
        let layout = CheckpointLayout { files: vec!["config.json".into()], weights: blueprint().weights };
        let report = compare(folders[0].path(), &layout, true);
        assert!(report.is_good(), "{}", report.text());
        assert_eq!((report.files[0].loads, report.files[0].numbers), (2, 20 + 3 * (PART / 2 + 5)));
    }

    #[test]
    fn every_fault_is_told_by_name() {
        let folder = tempfile::tempdir().expect("a folder");
        make(folder.path(), 1);
        let tensors = vec![tensor("a", &[5, 4], "BF16"), tensor("c", &[2], "BF16")];
        let weights = vec![WeightFile { path: "sub/model.safetensors".into(), tensors }, WeightFile { path: "x".into(), tensors: vec![] }];
        let report = compare(folder.path(), &CheckpointLayout { files: vec!["vocab.json".into()], weights }, false);
        let (a, b, c) = ("a".to_owned(), "b".to_owned(), "c".to_owned());
        let faults = vec![
            TensorFault::Shape { name: a, expected: vec![5, 4], found: vec![4, 5] },
            TensorFault::Missing { name: c, shape: vec![2] },
            TensorFault::Unexpected { name: b, shape: vec![3, PART / 2 + 5] },
        ];
        assert_eq!(report.files[0].faults, faults);
        assert_eq!(report.faults(), 5, "with a file and the weights in x: {}", report.text());
        assert!(report.text().contains("vocab.json is not there") && report.text().contains("5 faults"), "{}", report.text());
    }

    #[test]
    fn texts_can_come_from_a_folder_and_nothing_is_overwritten() {
        let (given, folder) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        fs::write(given.path().join("config.json"), r#"{"real": true}"#).expect("a file");
        let made = Made { folder: folder.path(), seed: 1, texts_from: Some(given.path()) };
        write(&blueprint(), &made).expect("it is written");
        assert!(fs::read_to_string(folder.path().join("config.json")).expect("a file").contains("real"));
        assert!(matches!(write(&blueprint(), &made), Err(WriteError::Occupied(_))));
    }

    #[test]
    fn a_blueprint_that_leads_astray_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let made = Made { folder: folder.path(), seed: 1, texts_from: None };
        let refused = |change: &dyn Fn(&mut Blueprint)| {
            let mut changed = blueprint();
            change(&mut changed);
            write(&changed, &made).expect_err("it is refused").to_string()
        };
        assert!(refused(&|blueprint| blueprint.texts[0].path = "../config.json".into()).contains("leads out"));
        assert!(refused(&|blueprint| blueprint.weights[0].path = "/tmp/x".into()).contains("leads out"));
        assert!(refused(&|blueprint| blueprint.weights[0].tensors[0].dtype = "F8".into()).contains("F8"));
    }
}
