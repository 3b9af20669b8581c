//! `omni-host voices`: on a store without a server, and on a server.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use omni_tests::artifacts::omni_host;
use omni_tests::upload::tone;
use serde_json::Value;

use super::support::{server_on, spoken};

/// Runs a command; without another place its voices are those of a folder that does not exist.
fn voices(arguments: &[&str]) -> Output {
    let mut command = Command::new(omni_host());
    command.arg("voices").args(arguments).env("SPEAKER_SAMPLES_DIR", "/nowhere/at/all");
    command.stdin(Stdio::null()).output().expect("omni-host runs")
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A place for voices, by its option.
struct Place<'a>([&'a str; 2]);

impl Place<'_> {
    fn good(&self, arguments: &[&str]) -> String {
        let output = voices(&[arguments, &self.0].concat());
        assert!(output.status.success(), "{arguments:?}: {}", said(&output));
        String::from_utf8(output.stdout).expect("text")
    }

    fn refused(&self, arguments: &[&str], words: &str) {
        let output = voices(&[arguments, &self.0].concat());
        assert!(!output.status.success() && said(&output).contains(words), "{arguments:?}: {}", said(&output));
    }

    fn names(&self) -> Vec<String> {
        let listed: Value = serde_json::from_str(&self.good(&["list", "--json"])).expect("JSON");
        let mut names: Vec<String> =
            listed.as_array().expect("a list").iter().filter_map(|voice| voice["name"].as_str()).map(str::to_owned).collect();
        // Several commands within a second are not told apart.
        names.sort_unstable();
        names
    }
}

/// Files to make voices of: a clip of 440 Hz, and the vectors of 110 Hz and 440 Hz.
struct Files {
    clip: String,
    low: String,
    high: String,
}

fn files(folder: &Path) -> Files {
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, bytes).expect("a file");
        path.to_str().expect("a path").to_owned()
    };
    Files {
        clip: write("clip.wav", &tone(440.0, 2.0, 24_000)),
        low: write("low.json", b"[45, 0.5]"),
        high: write("high.json", b"[69, 0.5]"),
    }
}

#[test]
fn a_store_is_worked_on_without_a_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let (stored, exported) = (folder.path().join("voices"), folder.path().join("anne.safetensors"));
    let (at, exported) = (stored.to_str().expect("a path"), exported.to_str().expect("a path"));
    let (files, place) = (files(folder.path()), Place(["--voices", at]));
    assert_eq!(place.good(&["list"]), "no uploaded voices\n");
    assert_eq!(place.good(&["add", "Anne", &files.clip, "--ref-text", "La la.", "--consent", "form-17"]), "stored Anne\n");
    place.good(&["add", "bottom", &files.low]);
    place.good(&["add", "top", &files.high]);
    place.good(&["mix", "bottom+top", "--name", "between"]);
    place.refused(&["mix", "bottom+Anne", "--name", "odd"], "of which only a model can make a vector: mix it on a server with --url");
    assert_eq!(place.names(), ["Anne", "between", "bottom", "top"]);
    let table = place.good(&["list"]);
    assert!(table.contains("form-17") && table.contains("La la.") && table.contains("vector of 2"), "{table}");

    place.good(&["export", "anne", exported]);
    assert_eq!(place.good(&["rm", "anne", "top"]), "deleted anne\ndeleted top\n");
    place.refused(&["rm", "anne"], "there is no voice 'anne'");
    place.refused(&["export", "anne", exported], "there is no voice 'anne'");
    assert_eq!(place.good(&["import", exported]), "stored Anne\n");
    place.refused(&["import", &files.clip], "the file cannot be used");
    place.refused(&["add", "../up", &files.clip], "is no name of a voice");
    place.refused(&["add", "x", &files.low.replace("low", "gone")], "cannot be read");
    let server = server_on(&stored);
    assert!(spoken(&server, "anne") == spoken(&server, "high") && spoken(&server, "between") == spoken(&server, "middle"));

    let by_variable = Command::new(omni_host()).args(["voices", "list"]).env("SPEAKER_SAMPLES_DIR", at).output().expect("it runs");
    assert!(said(&by_variable).contains("between"), "{}", said(&by_variable));
}

#[test]
fn a_server_is_worked_on_from_elsewhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let (elsewhere, exported) = (folder.path().join("elsewhere"), folder.path().join("bob.safetensors"));
    let (elsewhere, exported) = (elsewhere.to_str().expect("a path"), exported.to_str().expect("a path"));
    let (files, server) = (files(folder.path()), server_on(&folder.path().join("voices")));
    let (url, other) = (server.url(""), Place(["--voices", elsewhere]));
    let place = Place(["--url", &url]);
    place.good(&["add", "Anne", &files.clip]);
    place.good(&["add", "bottom", &files.low]);
    place.good(&["mix", "anne+bottom", "--name", "between"]);
    other.good(&["add", "Bob", &files.clip, "--ref-text", "La la."]);
    other.good(&["export", "bob", exported]);
    assert_eq!(place.good(&["import", exported]), "stored Bob\n");
    assert_eq!(place.names(), ["Anne", "Bob", "between", "bottom"]);
    assert!(place.good(&["list"]).contains("La la."));
    assert!(spoken(&server, "anne") == spoken(&server, "high") && spoken(&server, "between") == spoken(&server, "middle"));
    assert_eq!(place.good(&["rm", "ANNE"]), "deleted ANNE\n");
    place.refused(&["rm", "anne"], "404: Voice 'anne' not found");
    place.refused(&["add", "high", &files.clip], "400: Voice name 'high' is reserved");
    place.refused(&["export", "bob", exported], "a server hands no voices out");
    Place(["--url", "http://127.0.0.1:9"]).refused(&["list"], "no answer from");
}
