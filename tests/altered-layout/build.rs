//! Writes the interface's objects with one argument altered, deep inside: family, model, stage, `feed`, `last`.

use std::path::Path;
use std::{env, fs};

const OBJECTS: &str = "../../plugin-api/src/abi/objects.rs";
const REAL: &str = "last: bool";
const ALTERED: &str = "last: u32";

fn main() {
    println!("cargo::rerun-if-changed={OBJECTS}");
    let text = fs::read_to_string(OBJECTS).expect("the interface's objects can be read");
    assert_eq!(text.matches(REAL).count(), 1, "{OBJECTS} no longer has the one argument '{REAL}' to alter");
    let folder = env::var_os("OUT_DIR").expect("cargo names the output folder");
    // A file that is included may not begin with documentation of a module.
    let lines = text.lines().filter(|line| !line.starts_with("//!"));
    let altered = lines.collect::<Vec<_>>().join("\n").replace(REAL, ALTERED);
    fs::write(Path::new(&folder).join("objects.rs"), altered).expect("the output folder can be written to");
    // The layout of a type names its package. This crate must pass for the interface itself.
    println!("cargo::rustc-env=CARGO_PKG_NAME=omni-plugin-api");
}
