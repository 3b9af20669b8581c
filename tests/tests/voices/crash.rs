//! The end of a process at any moment: whatever was acknowledged is there afterwards, whole.
//!
//! A child, this binary once more, stores, replaces and deletes voices and says before and after each what it does. It is killed after a random
//! time, five hundred times over, and then everything is read.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use omni_host::voices::{LocalStore, Rules, VoiceStore, Voices};

use super::suite::{clip, host, mark_of};

const FOLDER: &str = "OMNI_TEST_CRASH_FOLDER";
const SEED: &str = "OMNI_TEST_CRASH_SEED";
const NAMES: [&str; 4] = ["anne", "bob", "cleo", "dora"];
const ROUNDS: usize = 500;
/// A machine that is too busy for all rounds ends with those it could do.
const LONGEST: Duration = Duration::from_secs(45);

fn voices_in(folder: &Path) -> Voices {
    host(&|| -> Box<dyn VoiceStore> { Box::new(LocalStore::new(folder)) }, Rules::default())
}

/// A cheap source of numbers that are the same for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// The child. As a test of its own it does nothing.
#[test]
#[ignore = "the child of the test below"]
fn writer() {
    let (Ok(folder), Ok(seed)) = (std::env::var(FOLDER), std::env::var(SEED)) else { return };
    let (voices, mut dice) = (voices_in(Path::new(&folder)), Dice(seed.parse().expect("a seed")));
    let say = |line: String| {
        let mut output = std::io::stdout().lock();
        writeln!(output, "{line}").and_then(|()| output.flush()).expect("the parent listens");
    };
    loop {
        let (name, mark) = (NAMES[dice.below(4) as usize], dice.below(1000) as usize + 1);
        let mark = if dice.below(4) == 0 { 0 } else { mark };
        say(format!("begin {name} {mark}"));
        match mark {
            0 => drop(voices.remove(name).expect("it is deleted, or not there")),
            mark => drop(voices.register(&clip(name, mark)).expect("it is stored")),
        }
        say(format!("done {name} {mark}"));
    }
}

/// What may be under a name: what was acknowledged last, or what was under way.
type Expected = BTreeMap<&'static str, Vec<Option<usize>>>;

/// What the child said in a line: before its first word the test runner has put the name of the test.
fn said(line: String) -> Option<String> {
    let words = line.rsplit("... ").next()?;
    (words.starts_with("begin ") || words.starts_with("done ")).then(|| words.to_owned())
}

/// Has a child write for a while, kills it, and notes what it said.
fn write_and_kill(folder: &Path, seed: u64, expected: &mut Expected) {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command.args(["--ignored", "--exact", "crash::writer", "--nocapture", "--test-threads=1"]);
    command.env(FOLDER, folder).env(SEED, seed.to_string()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the child starts");
    let mut lines = BufReader::new(child.stdout.take().expect("its output is a pipe")).lines().map_while(Result::ok).filter_map(said);
    let first = lines.next();
    thread::sleep(Duration::from_micros(Dice(seed).below(12_000)));
    child.kill().and_then(|()| child.wait()).expect("the child is killed");
    for line in first.into_iter().chain(lines) {
        let mut words = line.split(' ');
        let (Some(what), Some(name), Some(Ok(mark))) = (words.next(), words.next(), words.next().map(str::parse::<usize>)) else {
            continue;
        };
        let name = NAMES.into_iter().find(|known| *known == name).expect("a known name");
        let mark = Some(mark).filter(|mark| *mark > 0);
        match what {
            "begin" => expected.entry(name).or_insert_with(|| vec![None]).push(mark),
            _ => drop(expected.insert(name, vec![mark])),
        }
    }
}

#[test]
fn a_process_that_is_killed_loses_nothing_and_tears_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut expected, started) = (Expected::new(), Instant::now());
    for round in 0..ROUNDS {
        if started.elapsed() > LONGEST {
            break;
        }
        write_and_kill(folder.path(), round as u64, &mut expected);
        let voices = voices_in(folder.path());
        for (name, may_be) in &mut expected {
            let is = mark_of(&voices, name);
            assert!(may_be.contains(&is), "round {round}: {name} is {is:?}, expected one of {may_be:?}");
            *may_be = vec![is];
        }
    }
    assert!(expected.len() == NAMES.len(), "too little was written: {expected:?}");
}
