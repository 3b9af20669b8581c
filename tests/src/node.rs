//! A folder with the `openai` package of Node.js in it, made once and kept between runs.
//!
//! It lies beside the Python environment of the tests ([`crate::python`]). The version is pinned and its archive checked against a hash, by
//! the lock file; nothing of the package runs when it is installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::lock::FileLock;
use crate::python::{cache_folder, clear, run};

const PACKAGE: &str = include_str!("../node/package.json");
const LOCK: &str = include_str!("../node/package-lock.json");

/// Node.js with every package the tests need.
#[derive(Debug)]
pub struct Node {
    folder: PathBuf,
}

impl Node {
    /// The folder, made on the first call of the first test on a machine.
    ///
    /// # Panics
    /// When there is no Node.js or the package cannot be installed; the message says what is missing.
    pub fn ready() -> &'static Self {
        static READY: OnceLock<Node> = OnceLock::new();
        READY.get_or_init(|| make(&cache_folder()).unwrap_or_else(|error| panic!("no Node.js for the tests: {error}")))
    }

    /// A command that runs the text of a module.
    pub fn module(&self, text: &str) -> Command {
        let mut command = Command::new("node");
        command.args(["--input-type=module", "--eval", text]).current_dir(&self.folder).env("NO_PROXY", "127.0.0.1");
        command
    }
}

fn make(cache: &Path) -> Result<Node, String> {
    let _lock = FileLock::wait(&cache.join("node.lock"));
    let version = run(Command::new("node").arg("--version")).map_err(|error| format!("{error} (on Debian: apt-get install nodejs npm)"))?;
    let wanted = format!("{}\n{PACKAGE}\n{LOCK}", String::from_utf8_lossy(&version.stdout));
    let folder = cache.join("node");
    let stamp = folder.join("made-from.txt");
    if !fs::read_to_string(&stamp).is_ok_and(|made_from| made_from == wanted) {
        install(&folder)?;
        write(&stamp, &wanted)?;
    }
    Ok(Node { folder })
}

fn install(folder: &Path) -> Result<(), String> {
    eprintln!("installing the Node.js package of the tests into {} (once)", folder.display());
    clear(folder)?;
    fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    write(&folder.join("package.json"), PACKAGE)?;
    write(&folder.join("package-lock.json"), LOCK)?;
    let arguments = ["ci", "--ignore-scripts", "--omit=optional", "--omit=peer", "--no-audit", "--no-fund", "--loglevel=error"];
    run(Command::new("npm").args(arguments).current_dir(folder)).map(drop)
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_is_pinned_and_has_a_hash() {
        let lock: serde_json::Value = serde_json::from_str(LOCK).expect("a JSON document");
        let packages = lock["packages"].as_object().expect("packages");
        let installed: Vec<_> = packages.iter().filter(|(path, _)| !path.is_empty()).collect();
        assert!(!installed.is_empty());
        assert!(installed.iter().all(|(_, package)| package["integrity"].as_str().is_some_and(|hash| hash.starts_with("sha512-"))));
    }

    #[test]
    fn the_folder_has_the_real_client() {
        let mut command = Node::ready().module("import OpenAI from 'openai'; new OpenAI({apiKey: 'unused'})");
        run(&mut command).expect("the package can be imported");
    }
}
