//! Pages of metrics, as Prometheus reads them, and the list they are promised to follow.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use crate::http::get;
use crate::python::Python;
use crate::server::Server;

const PARSER: &str = include_str!("../python/metrics.py");
const LIST: &str = include_str!("../../docs/metrics.md");

/// A page of metrics.
#[derive(Debug)]
pub struct Page(Value);

impl Page {
    /// Asks for the page and has Prometheus' own parser read it.
    ///
    /// # Panics
    /// When that cannot read it.
    pub fn of(server: &Server) -> Self {
        let answer = get(&server.url("/metrics"));
        assert_eq!(answer.status, 200, "{}", answer.start());
        assert!(answer.header("content-type").is_some_and(|kind| kind.starts_with("text/plain; version=0.0.4")), "{:?}", answer.headers);
        Self::read(&answer.text())
    }

    fn read(text: &str) -> Self {
        let mut command = Python::ready().command();
        let command = command.args(["-c", PARSER]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut parser = command.spawn().expect("Python runs");
        parser.stdin.take().expect("its input is a pipe").write_all(text.as_bytes()).expect("it reads");
        let output = parser.wait_with_output().expect("it ends");
        assert!(output.status.success(), "no page for Prometheus: {}\n{text}", String::from_utf8_lossy(&output.stderr));
        Self(serde_json::from_slice(&output.stdout).expect("JSON"))
    }

    /// Families by name.
    ///
    /// # Panics
    /// When the parser did not do its work.
    pub fn families(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.as_object().expect("an object").iter().map(|(name, family)| (name.as_str(), family))
    }

    /// The sum of the samples of this name whose labels include these.
    ///
    /// # Panics
    /// When a sample has no number.
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let samples = self.families().flat_map(|(_, family)| family["samples"].as_array().expect("a list"));
        let has = |sample: &Value| labels.iter().all(|(label, value)| sample["labels"][label] == *value);
        let values = samples.filter(|sample| sample["name"] == name && has(sample));
        values.map(|sample| sample["value"].as_f64().unwrap_or_else(|| panic!("{sample}"))).sum()
    }

    /// Everything on it.
    pub fn text(&self) -> String {
        self.0.to_string()
    }
}

/// The promised families: their types and labels, by name.
///
/// # Panics
/// When the list is not the table it should be.
pub fn promised() -> BTreeMap<&'static str, (&'static str, Vec<&'static str>)> {
    let rows = LIST.lines().filter_map(|line| line.strip_prefix("| `"));
    let row = |row: &'static str| {
        let (name, rest) = row.split_once("` | ").expect("a name");
        let mut cells = rest.split(" | ");
        let (kind, labels) = (cells.next().expect("a type"), cells.next().expect("labels"));
        (name, (kind, labels.split(", ").filter(|label| !label.is_empty()).collect()))
    };
    rows.map(row).collect()
}
