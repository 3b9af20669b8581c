//! Playing a WAV file through whatever player the machine has.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Failure, Outcome};

/// Players in the order they are tried, with what makes them quiet and windowless.
const PLAYERS: [(&str, &[&str]); 6] = [
    ("pw-play", &[]),
    ("paplay", &[]),
    ("aplay", &["-q"]),
    ("ffplay", &["-nodisp", "-autoexit", "-loglevel", "error"]),
    ("play", &["-q"]),
    ("afplay", &[]),
];

/// A player of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Player {
    program: PathBuf,
    arguments: &'static [&'static str],
}

/// The players of this machine, best first; an error where there is none.
pub fn players() -> Result<Vec<Player>, Failure> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = players_in(&std::env::split_paths(&path).collect::<Vec<_>>());
    if found.is_empty() {
        let names = PLAYERS.map(|(name, _)| name).join(", ");
        return Err(Failure(format!("this machine has no player to play the audio with (tried {names}); save it with -o FILE")));
    }
    Ok(found)
}

fn players_in(folders: &[PathBuf]) -> Vec<Player> {
    let find = |name: &str| folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file());
    PLAYERS.iter().filter_map(|(name, arguments)| Some(Player { program: find(name)?, arguments })).collect()
}

/// Plays a WAV file: with the first player, and where that one fails with the next.
pub fn play(players: &[Player], wav: &[u8]) -> Outcome {
    let file = Temporary::with(wav).map_err(|error| Failure(format!("the audio cannot be put aside for the player: {error}")))?;
    let mut failures = Vec::new();
    for player in players {
        match player.play(&file.path) {
            Ok(()) => return Ok(()),
            Err(reason) => failures.push(reason),
        }
    }
    Err(Failure(format!("the audio could not be played; save it with -o FILE\n  {}", failures.join("\n  "))))
}

impl Player {
    fn play(&self, file: &Path) -> Result<(), String> {
        let name = self.program.display();
        let run = Command::new(&self.program).args(self.arguments).arg(file).stdin(Stdio::null()).stdout(Stdio::null()).output();
        let ended = run.map_err(|error| format!("{name}: {error}"))?;
        if ended.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&ended.stderr);
        Err(format!("{name}: {}, {}", ended.status, said.lines().next().unwrap_or("no reason given")))
    }
}

/// A file that only its owner can read and that goes with its value.
struct Temporary {
    path: PathBuf,
}

impl Temporary {
    fn with(bytes: &[u8]) -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("omni-host-{:016x}.wav", fastrand::u64(..)));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let temporary = Self { path };
        file.write_all(bytes)?;
        Ok(temporary)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // What cannot be removed is left to the system's own cleaning of its folder.
        drop(std::fs::remove_file(&self.path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A folder of players, each a shell script.
    fn folder(scripts: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, script) in scripts {
            let path = folder.path().join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a file");
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("its rights");
        }
        folder
    }

    #[test]
    fn the_next_player_plays_where_the_first_fails() {
        let out = tempfile::tempdir().expect("a folder");
        let copy = out.path().join("copy");
        let folder = folder(&[("aplay", &format!("cp \"$2\" {}", copy.display())), ("pw-play", "echo no server >&2; exit 1")]);
        let players = players_in(&[folder.path().to_owned()]);
        assert_eq!(players.len(), 2);
        assert_eq!(play(&players, b"audio"), Ok(()));
        assert_eq!(std::fs::read(copy).expect("what was played"), b"audio");
        let failure = play(&players[..1], b"audio").expect_err("the only player fails");
        assert!(failure.0.contains("no server") && failure.0.contains("-o FILE"), "{failure}");
    }
}
