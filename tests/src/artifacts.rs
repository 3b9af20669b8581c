//! The files under test: the server's binary and the plugins' libraries, built in the profile the tests run in.
//!
//! Cargo does not hand a test the path of another package's binary or dynamic library, so the tests ask it to build the workspace
//! into the folder they were built in themselves. After `cargo test --workspace` this compiles nothing that was not there.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::lock::FileLock;

/// Names a folder with ready-made files: the tests then build nothing and try those.
pub const READY_MADE: &str = "OMNI_TEST_BIN_DIR";

/// Variables that `cargo test` sets for a test and that would make build scripts of an inner cargo run again.
const SET_BY_CARGO: [&str; 6] = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_", "CARGO_TARGET_TMPDIR"];

/// The server's binary.
pub fn omni_host() -> PathBuf {
    file("omni-host")
}

/// The library of a plugin, by its family's name: `plugin("sine")` is `libsine.so`.
pub fn plugin(family: &str) -> PathBuf {
    file(&format!("lib{family}.so"))
}

/// Arguments of a server that speaks tones: the family without weights, which has two stages.
pub fn sine_and(more: &[&str]) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = vec!["--plugin".into(), plugin("sine").into()];
    arguments.extend(more.iter().map(OsString::from));
    arguments
}

fn file(name: &str) -> PathBuf {
    let path = folder().join(name);
    assert!(path.is_file(), "{} was not built", path.display());
    path
}

/// The folder of the built files; the first call of a process builds them.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| match env::var_os(READY_MADE) {
        Some(folder) => PathBuf::from(folder),
        None => build(),
    })
}

fn build() -> PathBuf {
    let place = Place::of_running_test();
    let _lock = FileLock::wait(&place.target.join("omni-tests.lock"));
    let status = place.cargo().status().expect("cargo can be started");
    assert!(status.success(), "building the workspace failed: {status}");
    place.target.join(&place.profile_folder)
}

/// Where the running test was built, read from its own path: `<target>/<profile>/deps/<test>`.
#[derive(Debug, PartialEq)]
struct Place {
    target: PathBuf,
    profile_folder: String,
}

impl Place {
    fn of_running_test() -> Self {
        let executable = env::current_exe().expect("a running test knows its own path");
        Self::of(&executable).unwrap_or_else(|| panic!("{} is not in <target>/<profile>/deps", executable.display()))
    }

    fn of(executable: &Path) -> Option<Self> {
        let deps = executable.parent()?;
        let profile = deps.parent().filter(|_| deps.ends_with("deps"))?;
        let profile_folder = profile.file_name()?.to_str()?.to_owned();
        Some(Self { target: profile.parent()?.to_path_buf(), profile_folder })
    }

    fn profile(&self) -> &str {
        if self.profile_folder == "debug" { "dev" } else { &self.profile_folder }
    }

    fn cargo(&self) -> Command {
        let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
        command.args(["build", "--workspace", "--locked", "--quiet", "--profile", self.profile(), "--target-dir"]);
        command.arg(&self.target).current_dir(env!("CARGO_MANIFEST_DIR"));
        for (name, _) in env::vars_os() {
            let name_text = name.to_string_lossy();
            if SET_BY_CARGO.iter().any(|prefix| name_text.starts_with(prefix)) {
                command.env_remove(&name);
            }
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_test_names_folder_and_profile() {
        let place = Place::of(Path::new("/t/debug/deps/load-1a2b")).expect("a test's path");
        assert_eq!(place, Place { target: "/t".into(), profile_folder: "debug".into() });
        assert_eq!(place.profile(), "dev");
        let optimised = Place::of(Path::new("/t/release/deps/load-1a2b")).expect("a test's path");
        assert_eq!(optimised.profile(), "release");
    }

    #[test]
    fn a_path_outside_a_build_folder_is_no_place() {
        assert_eq!(Place::of(Path::new("/usr/bin/load")), None);
    }
}
