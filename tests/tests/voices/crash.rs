//! The end of a process at any moment: whatever was acknowledged is there afterwards, whole.
//!
//! A child, this binary once more, stores, replaces and deletes voices and says before and after each what it does. It is killed after a random
//! time, five hundred times over, and each time everything is read. The same happens to servers that clients upload to.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use omni_host::voices::{LocalStore, Rules, VoiceStore, Voices};
use omni_tests::http;
use omni_tests::upload::{Form, VOICES, tone};
use serde_json::json;
use ureq::http::Method;

use super::suite::{clip, host, mark_of};
use super::support::{say, server_on, spoken};

const FOLDER: &str = "OMNI_TEST_CRASH_FOLDER";
const SEED: &str = "OMNI_TEST_CRASH_SEED";
const NAMES: [&str; 4] = ["anne", "bob", "cleo", "dora"];
const ROUNDS: usize = 500;

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

/// How often a child was killed in the middle of what.
#[derive(Debug, Default)]
struct Interrupted {
    first_uploads: usize,
    overwrites: usize,
    deletions: usize,
}

impl Interrupted {
    /// Counts what was to be made of a voice that may have been one of these before.
    fn count(&mut self, before: &[Option<usize>], wanted: Option<usize>) {
        let was_there = before.iter().any(Option::is_some);
        match wanted {
            Some(_) if was_there => self.overwrites += 1,
            Some(_) => self.first_uploads += 1,
            None if was_there => self.deletions += 1,
            None => {}
        }
    }
}

/// What the child said in a line: before its first word the test runner has put the name of the test.
fn said(line: String) -> Option<String> {
    let words = line.rsplit("... ").next()?;
    (words.starts_with("begin ") || words.starts_with("done ")).then(|| words.to_owned())
}

/// Has a child write for a while, kills it, and notes what it said.
fn write_and_kill(folder: &Path, seed: u64, expected: &mut Expected, interrupted: &mut Interrupted) {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command.args(["--ignored", "--exact", "crash::writer", "--nocapture", "--test-threads=1"]);
    command.env(FOLDER, folder).env(SEED, seed.to_string()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the child starts");
    let mut lines = BufReader::new(child.stdout.take().expect("its output is a pipe")).lines().map_while(Result::ok).filter_map(said);
    let first = let_some_pass(&mut lines, &mut Dice(seed ^ 0x5EED));
    child.kill().and_then(|()| child.wait()).expect("the child is killed");
    let mut under_way = None;
    for line in first.into_iter().chain(lines) {
        let mut words = line.split(' ');
        let (Some(what), Some(name), Some(Ok(mark))) = (words.next(), words.next(), words.next().map(str::parse::<usize>)) else {
            continue;
        };
        let name = NAMES.into_iter().find(|known| *known == name).expect("a known name");
        let mark = Some(mark).filter(|mark| *mark > 0);
        let may_be = expected.entry(name).or_insert_with(|| vec![None]);
        if what == "begin" {
            under_way = Some((may_be.clone(), mark));
            may_be.push(mark);
        } else {
            under_way = None;
            *may_be = vec![mark];
        }
    }
    if let Some((before, wanted)) = under_way {
        interrupted.count(&before, wanted);
    }
}

/// Lets a child complete a few changes and get some way into the next one, however fast the machine is: as far as a random part of the time that
/// the last one took. Gives what it said.
fn let_some_pass(lines: &mut impl Iterator<Item = String>, dice: &mut Dice) -> Vec<String> {
    let (mut left, mut begun, mut took) = (dice.below(5), Instant::now(), Duration::from_millis(2));
    let mut said = Vec::new();
    for line in lines {
        let is_begin = line.starts_with("begin ");
        said.push(line);
        if is_begin && left == 0 {
            thread::sleep(took.mul_f64(dice.below(100) as f64 / 100.0));
            break;
        }
        match is_begin {
            true => begun = Instant::now(),
            false => (left, took) = (left.saturating_sub(1), begun.elapsed()),
        }
    }
    said
}

#[test]
fn a_process_that_is_killed_loses_nothing_and_tears_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut expected, mut interrupted) = (Expected::new(), Interrupted::default());
    for round in 0..ROUNDS {
        write_and_kill(folder.path(), round as u64, &mut expected, &mut interrupted);
        let voices = voices_in(folder.path());
        for (name, may_be) in &mut expected {
            let is = mark_of(&voices, name);
            assert!(may_be.contains(&is), "round {round}: {name} is {is:?}, expected one of {may_be:?}");
            *may_be = vec![is];
        }
    }
    let Interrupted { first_uploads, overwrites, deletions } = interrupted;
    assert!(first_uploads > 0 && overwrites > 0 && deletions > 0, "not everything was interrupted: {interrupted:?}");
}

/// Each of these is changed by one client, which goes on until nobody answers.
const VOICES_OF_CLIENTS: [&str; 4] = ["ada", "bea", "cid", "dan"];
const TONES: [f64; 3] = [110.0, 220.0, 440.0];
const SERVERS: u64 = 12;

/// What a client knows when its server is gone: the tone that was acknowledged last, and the one that was under way.
fn change_until_the_end(url: &str, name: &str, mut is: Option<usize>, dice: &mut Dice) -> [Option<usize>; 2] {
    loop {
        let wanted = Some(dice.below(4) as usize).filter(|tone| *tone < TONES.len());
        let answer = match wanted {
            Some(at) => {
                let body = Form::of(name).clip(&tone(TONES[at], 1.2, 8000)).body();
                http::try_send(Method::POST, url, &[("content-type", &Form::kind())], &body)
            }
            None => http::try_send(Method::DELETE, &format!("{url}/{name}"), &[], b""),
        };
        let Ok(answer) = answer else { return [is, wanted] };
        assert!(answer.status == 200 || (wanted.is_none() && answer.status == 404), "{name}: {}", answer.start());
        is = wanted;
    }
}

#[test]
fn a_server_that_is_killed_keeps_what_it_answered() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut expected = VOICES_OF_CLIENTS.map(|_| [None, None]);
    for round in 0..SERVERS {
        let mut server = server_on(folder.path());
        let known = ["low", "middle", "high"].map(|voice| spoken(&server, voice));
        for (name, may_be) in VOICES_OF_CLIENTS.iter().zip(&mut expected) {
            let answer = say(&server, name, &json!({}));
            let is = known.iter().position(|body| *body == answer.body);
            assert!(is.is_some() || answer.status == 400, "round {round}: {name} is nothing that was uploaded: {}", answer.start());
            assert!(may_be.contains(&is), "round {round}: {name} is {is:?}, expected one of {may_be:?}");
            *may_be = [is, is];
        }
        let url = server.url(VOICES);
        thread::scope(|scope| {
            for (number, (name, may_be)) in VOICES_OF_CLIENTS.iter().zip(&mut expected).enumerate() {
                let (url, mut dice) = (&url, Dice(round * 10 + number as u64));
                scope.spawn(move || *may_be = change_until_the_end(url, name, may_be[0], &mut dice));
            }
            thread::sleep(Duration::from_millis(100 + Dice(round).below(300)));
            server.kill();
        });
    }
}
