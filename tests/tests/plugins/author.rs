//! The author's page, followed by the letter, and the template in a repository of its own: built outside the workspace, tested, loaded,
//! swapped for another build.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use omni_tests::artifacts::plugin;
use omni_tests::http;
use omni_tests::server::Server;
use serde_json::{Value, json};

use super::support::{frequency_hz, omni_host, plugins, run, sound_of, speaks};

/// Variables of the outer cargo that would make build scripts of an inner one run again.
const SET_BY_CARGO: [&str; 5] = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"];

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the workspace is there")
}

/// An author's repository in a temporary folder.
struct Repository {
    folder: tempfile::TempDir,
}

impl Repository {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a file lies in a folder")).expect("a folder can be made");
        fs::write(path, text).expect("a file can be written");
    }

    /// The page's manifest with this workspace in the place of `../omni-host`. The workspace's lock file and profiles come along only
    /// so that what is built already need not be built again.
    fn write_manifest(&self, name: &str, version: &str) {
        let root = workspace();
        let manifest = block("Cargo.toml").replace("../omni-host/plugin-api", &root.join("plugin-api").display().to_string());
        let manifest = manifest.replace("name = \"beep\"", &format!("name = \"{name}\""));
        let manifest = manifest.replace("version = \"0.1.0\"", &format!("version = \"{version}\""));
        let settings = fs::read_to_string(root.join("Cargo.toml")).expect("the workspace's manifest can be read");
        let profiles = settings.find("[profile.").map_or("", |at| &settings[at..]);
        self.write("Cargo.toml", &format!("{manifest}\n{profiles}"));
        fs::copy(root.join("Cargo.lock"), self.folder.path().join("Cargo.lock")).expect("the lock file can be copied");
    }

    /// Runs cargo in it, building into the folder the tests were built in.
    fn cargo(&self, command: &str) {
        let (target, profile) = place();
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
        cargo.args([command, "--offline", "--quiet", "--profile", &profile, "--target-dir"]).arg(target).current_dir(self.folder.path());
        for (name, _) in env::vars_os() {
            let is_set_by_cargo = SET_BY_CARGO.iter().any(|prefix| name.to_string_lossy().starts_with(prefix));
            if is_set_by_cargo {
                cargo.env_remove(&name);
            }
        }
        let ended = run(cargo);
        assert!(ended.success, "cargo {command} failed:\n{}\n{}", ended.output, ended.errors);
    }
}

/// The folder of built files: a running test lies in `<target>/<profile>/deps`.
fn built_files() -> PathBuf {
    let executable = env::current_exe().expect("a running test knows its own path");
    executable.ancestors().nth(2).expect("a test lies in <target>/<profile>/deps").to_owned()
}

/// The target folder and the profile of the running test.
fn place() -> (PathBuf, String) {
    let folder = built_files();
    let name = folder.file_name().and_then(|name| name.to_str()).expect("a profile's folder has a name");
    let profile = if name == "debug" { "dev" } else { name };
    (folder.parent().expect("a profile's folder lies in the target folder").to_owned(), profile.to_owned())
}

/// The library of a crate that was built outside the workspace.
fn built(name: &str) -> PathBuf {
    built_files().join(format!("lib{name}.so"))
}

/// The block of the page that begins with the name of a file.
fn block(file: &str) -> String {
    let page = fs::read_to_string(workspace().join("docs/write-a-family-plugin.md")).expect("the page can be read");
    let blocks = page.split("\n```").skip(1).step_by(2);
    let code = blocks.filter_map(|block| block.split_once('\n')).map(|(_, code)| code.to_owned());
    let is_named = |code: &String| code.lines().next().is_some_and(|line| line.trim_start_matches(['#', '/', ' ']) == file);
    code.into_iter().find(is_named).unwrap_or_else(|| panic!("the page has no block for {file}"))
}

/// Copies a folder with what is in it.
fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder can be made");
    for entry in fs::read_dir(from).expect("a folder can be listed") {
        let entry = entry.expect("a folder can be listed");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a file can be copied");
        }
    }
}

#[test]
fn the_page_followed_by_the_letter_gives_a_plugin_that_speaks() {
    let repository = Repository::new();
    repository.write_manifest("beep", "0.1.0");
    repository.write("src/lib.rs", &block("src/lib.rs"));
    repository.write("tests/agreement.rs", &block("tests/agreement.rs"));
    repository.cargo("test");
    repository.cargo("build");
    let server = Server::start_with(&plugins(&[built("beep")]));
    let wav = sound_of(&server, "beep", "three short words", &json!({"beep_hz": 880}));
    assert_eq!(wav.samples.len(), 3 * 4_800);
    assert!((frequency_hz(&wav) - 880.0).abs() < 20.0, "{} Hz", frequency_hz(&wav));
}

/// What a command of `omni-host plugins` prints as JSON.
fn plugins_command(arguments: &[&OsStr], folder: &Path) -> Value {
    let arguments: Vec<OsString> =
        [&[OsStr::new("plugins")], arguments, &[OsStr::new("--json")]].concat().into_iter().map(OsString::from).collect();
    let ended = omni_host(&arguments, &[("OMNI_PLUGIN_PATH", folder)]);
    assert!(ended.success, "{ended:?}");
    serde_json::from_str(&ended.output).unwrap_or_else(|error| panic!("not JSON ({error}): {}", ended.output))
}

/// The version of a library according to `plugins list`, which finds it by the search path.
fn listed_version(library: &Path) -> Value {
    let list = plugins_command(&["list".as_ref()], library.parent().expect("a library lies in a folder"));
    let entries = list.as_array().unwrap_or_else(|| panic!("not a list: {list}"));
    let entry = entries.iter().find(|entry| entry["file"].as_str().map(Path::new) == Some(library));
    entry.unwrap_or_else(|| panic!("{} is not in {list:#}", library.display()))["version"].clone()
}

/// Serves a library and gives what the server says of its plugin.
fn card(library: &Path) -> Value {
    let server = Server::start_with(&plugins(&[library]));
    speaks(&server, "sine");
    http::get(&server.url("/v1/models/sine")).json()["plugin"].clone()
}

#[test]
fn a_swapped_library_is_picked_up_by_the_next_start_and_its_version_shows() {
    let repository = Repository::new();
    copy_folder(&workspace().join("plugins/sine"), repository.folder.path());
    // The crate has another name here, so that its library does not replace the workspace's own; its tests name the crate.
    fs::remove_dir_all(repository.folder.path().join("tests")).expect("the copied tests can be removed");
    repository.write_manifest("tone", "9.8.7");
    repository.cargo("build");

    let folder = tempfile::tempdir().expect("a temporary folder");
    let library = folder.path().join("libswapped.so");
    fs::copy(plugin("sine"), &library).expect("the library can be copied");
    let before = card(&library);
    fs::remove_file(&library).expect("a library that nobody has open can be removed");
    fs::copy(built("tone"), &library).expect("the library can be copied");
    let after = card(&library);

    assert_eq!((&before["version"], &after["version"]), (&json!("0.1.0"), &json!("9.8.7")));
    assert_ne!(before["build"], after["build"]);
    assert_eq!(plugins_command(&["inspect".as_ref(), library.as_ref()], folder.path())["version"], "9.8.7");
    assert_eq!(listed_version(&library), "9.8.7");
}
