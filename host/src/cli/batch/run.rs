//! The items at work: as many at once as was asked, each file complete or absent.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::super::{Failure, remote};
use super::item::Item;
use super::journal::{Journal, Line, Status};
use crate::audio::Format;

/// How often an item is sent again to a server that is busy.
const TRIES: usize = 20;
/// Longest wait before that.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// What is to be done.
pub struct Plan {
    folder: PathBuf,
    journal: Journal,
    todo: Vec<Task>,
    skipped: usize,
}

struct Task {
    item: Item,
    output: PathBuf,
    format: Format,
    fingerprint: String,
}

/// What was done.
#[derive(Debug, Default)]
pub struct Summary {
    /// Items that were spoken.
    pub spoken: usize,
    /// Items that an earlier run spoke.
    pub skipped: usize,
    /// Items that failed.
    pub failed: usize,
    /// How long it took.
    pub seconds: f64,
    /// What went wrong first.
    pub first_failure: String,
}

impl Plan {
    /// Decides what is left to do, and refuses two items with one file before anything is spoken.
    pub fn new(items: Vec<Item>, format: Format, folder: &Path, restart: bool) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| Failure(format!("'{}' cannot be made: {error}", folder.display()));
        fs::create_dir_all(folder).map_err(failed)?;
        let journal = Journal::open(folder, restart)?;
        let (mut names, mut todo, mut skipped) = (HashSet::new(), Vec::new(), 0);
        for item in items {
            let (output, format) = item.target(format);
            if !names.insert(output.clone()) {
                return Err(Failure(format!("item {}: '{}' is the file of another item, too", item.index + 1, output.display())));
            }
            let fingerprint = item.fingerprint(format);
            if journal.has(&output.to_string_lossy(), &fingerprint) && folder.join(&output).is_file() {
                skipped += 1;
            } else {
                todo.push(Task { item, output, format, fingerprint });
            }
        }
        Ok(Self { folder: folder.to_owned(), journal, todo, skipped })
    }

    /// Does it.
    pub fn run(&self, server: &str, concurrency: usize) -> Result<Summary, Failure> {
        let bar = bar(self.todo.len() + self.skipped);
        bar.set_position(self.skipped as u64);
        bar.reset_eta();
        let begun = Instant::now();
        let work = Work { plan: self, server, bar: &bar, next: AtomicUsize::new(0), summary: Mutex::default() };
        let ended: Vec<_> = thread::scope(|scope| {
            let lanes: Vec<_> = (0..concurrency.min(self.todo.len())).map(|_| scope.spawn(|| work.lane())).collect();
            lanes.into_iter().map(|lane| lane.join().unwrap_or_else(|_| Err(Failure("a lane of the batch was lost".to_owned())))).collect()
        });
        bar.finish_and_clear();
        ended.into_iter().collect::<Result<(), _>>()?;
        let summary = work.summary.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(Summary { skipped: self.skipped, seconds: begun.elapsed().as_secs_f64(), ..summary })
    }
}

fn bar(items: usize) -> ProgressBar {
    let template = "{bar:40} {pos}/{len}  {per_sec}  {eta} left{msg}";
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(items as u64).with_style(style)
}

/// What all lanes share.
struct Work<'a> {
    plan: &'a Plan,
    server: &'a str,
    bar: &'a ProgressBar,
    next: AtomicUsize,
    summary: Mutex<Summary>,
}

impl Work<'_> {
    /// Works off what nobody else has taken.
    fn lane(&self) -> Result<(), Failure> {
        while let Some(task) = self.plan.todo.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            let begun = Instant::now();
            let outcome = self.speak(task);
            self.plan.journal.add(&line(task, &outcome, begun.elapsed()))?;
            self.count(task, outcome.err());
        }
        Ok(())
    }

    fn count(&self, task: &Task, failure: Option<String>) {
        let mut summary = self.summary.lock().unwrap_or_else(PoisonError::into_inner);
        match failure {
            None => summary.spoken += 1,
            Some(reason) => {
                summary.failed += 1;
                if summary.first_failure.is_empty() {
                    summary.first_failure = format!("item {}: {reason}", task.item.index + 1);
                }
                self.bar.set_message(format!("  {} failed", summary.failed));
            }
        }
        self.bar.inc(1);
    }

    /// Speaks an item into its file and gives the file's length.
    fn speak(&self, task: &Task) -> Result<usize, String> {
        let body = task.item.body(task.format)?;
        let audio = patiently(|| remote::ask(self.server, &body))?;
        save(&self.plan.folder.join(&task.output), &audio)
            .map_err(|error| format!("'{}' cannot be written: {error}", task.output.display()))?;
        Ok(audio.len())
    }
}

/// Asks again while the server is busy, as late as it says.
fn patiently(ask: impl Fn() -> Result<Vec<u8>, remote::Refusal>) -> Result<Vec<u8>, String> {
    let mut tries = 0;
    loop {
        tries += 1;
        match ask() {
            Ok(audio) => return Ok(audio),
            Err(refusal) => match refusal.retry_after {
                Some(wait) if tries < TRIES => thread::sleep(wait.min(LONGEST_WAIT)),
                _ => return Err(refusal.message),
            },
        }
    }
}

/// Writes a file that is complete whenever it is there.
fn save(path: &Path, audio: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    fs::write(&part, audio)?;
    fs::rename(&part, path)
}

fn line(task: &Task, outcome: &Result<usize, String>, took: Duration) -> Line {
    let status = if outcome.is_ok() { Status::Ok } else { Status::Failed };
    Line {
        index: task.item.index,
        output: task.output.to_string_lossy().into_owned(),
        status,
        request: task.fingerprint.clone(),
        bytes: outcome.as_ref().copied().unwrap_or_default(),
        seconds: (took.as_secs_f64() * 1000.0).round() / 1000.0,
        error: outcome.as_ref().err().cloned(),
    }
}
