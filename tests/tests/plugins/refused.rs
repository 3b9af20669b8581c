//! Libraries that cannot be served are refused by name with a reason; the others serve.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use omni_tests::artifacts::plugin;
use omni_tests::checks;
use omni_tests::http;
use omni_tests::server::Server;

use super::support::{hostile_that, listed, omni_host, plugins, plugins_and, say, speaks, states};

/// Under which name a refused plugin stands in `/ready`, and a part of the reason.
type Refusal = (PathBuf, Option<&'static str>, &'static str);

fn text_file(folder: &Path) -> PathBuf {
    let path = folder.join("libnotes.so");
    fs::write(&path, "This is no library.\n").expect("a temporary file can be written");
    path
}

/// Libraries that do not even describe themselves stand under their path, the others under their family's name.
fn refusals(folder: &Path) -> Vec<Refusal> {
    let hostile = |mischief| hostile_that(folder, mischief);
    vec![
        (text_file(folder), None, "cannot be opened as a plugin library"),
        (folder.join("libnowhere.so"), None, "libnowhere.so"),
        (plugin("altered_version"), None, "interface 99.0.0"),
        (plugin("altered_layout"), None, "feed > argument 3: this host has bool, the library u32"),
        (hostile("panic-on-load"), None, "told to panic while it is made"),
        (hostile("panic-on-describe"), None, "told to panic in describe"),
        (hostile("rate-zero"), None, "sample rate of 0"),
        (hostile("duplicate-name"), None, "'sine'"),
        (hostile("panic-on-open"), Some("hostile-panic-on-open"), "told to panic in open"),
        (hostile("fail-on-load"), Some("hostile-fail-on-load"), "told to fail in open"),
        (hostile("panic-on-open-stage"), Some("hostile-panic-on-open-stage"), "told to panic in open_stage"),
        (hostile("hang-on-load"), Some("hostile-hang-on-load"), "did not load within 2 s"),
    ]
}

#[test]
fn every_refusal_has_its_reason_and_the_good_plugins_serve() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let refusals = refusals(folder.path());
    let mut libraries = vec![plugin("sine")];
    libraries.extend(refusals.iter().map(|(library, ..)| library.clone()));
    libraries.push(plugin("hostile"));
    let server = Server::start_with(&plugins_and(&libraries, &["--load-timeout-secs", "2"]));
    let states = states(&server);
    for (library, name, reason) in &refusals {
        let name = name.map_or_else(|| library.display().to_string(), str::to_owned);
        let state = states.get(&name).unwrap_or_else(|| panic!("{name} is not among {states:#?}"));
        assert_eq!(state.state, "failed", "{name}");
        assert!(state.reason.contains(reason), "{name}: {}", state.reason);
        assert!(server.log().contains(reason), "the log does not say '{reason}':\n{}", server.log());
    }
    assert_eq!(listed(&server), ["sine", "hostile"]);
    speaks(&server, "sine");
    speaks(&server, "hostile");
    checks::error(&say(&server, "hostile-fail-on-load", "Hello."), 503, "told to fail in open");
    checks::error(&say(&server, "nobody", "Hello."), 404, "nobody");
}

#[test]
fn a_second_plugin_of_a_family_is_refused_and_both_files_are_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let second = hostile_that(folder.path(), "duplicate-name");
    let server = Server::start_with(&plugins(&[plugin("sine"), second.clone()]));
    let state = states(&server).remove(&second.display().to_string()).expect("the second is listed under its path");
    assert!(state.reason.contains("libhostile+duplicate-name.so") && state.reason.contains("libsine.so"), "{state:?}");
    assert_eq!(http::get(&server.url("/v1/models/sine")).json()["plugin"]["file"], "libsine.so");
}

#[test]
fn a_server_with_nothing_to_serve_ends_and_says_why() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let libraries = [text_file(folder.path()), hostile_that(folder.path(), "fail-on-load")];
    let arguments = ["serve", "--port", "0"].map(OsString::from).into_iter().chain(plugins(&libraries));
    let ended = omni_host(&arguments.collect::<Vec<_>>(), &[]);
    assert!(!ended.success, "{ended:?}");
    assert!(ended.errors.contains("libnotes.so") && ended.errors.contains("told to fail in open"), "{}", ended.errors);
}

/// The complaint of `plugins inspect` about a library it refuses.
fn inspect_refuses(library: &Path) -> String {
    let arguments = [OsString::from("plugins"), "inspect".into(), library.into()];
    let ended = omni_host(&arguments, &[]);
    assert!(!ended.success, "{ended:?}");
    assert!(ended.errors.contains(&library.display().to_string()), "the file is not named: {}", ended.errors);
    ended.errors
}

#[test]
fn another_interface_version_is_refused_with_both_versions() {
    let message = inspect_refuses(&plugin("altered_version"));
    assert!(message.contains("interface 99.0.0, this host speaks 0."), "{message}");
}

#[test]
fn another_layout_is_refused_with_the_innermost_difference_in_two_lines() {
    let message = inspect_refuses(&plugin("altered_layout"));
    assert!(message.contains("its layout differs"), "{message}");
    assert!(message.contains("family > open > open_stage > feed > argument 3: this host has bool, the library u32"), "{message}");
    assert!(message.trim().lines().count() <= 2 && message.len() < 600, "{message}");
}

#[test]
fn a_text_file_and_a_missing_one_are_refused_by_name() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    assert!(inspect_refuses(&text_file(folder.path())).contains("plugin library"));
    inspect_refuses(&folder.path().join("libnowhere.so"));
}
