//! Servers with plugins, what they say of their models, and the command line.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use omni_tests::http::{self, Answer};
use omni_tests::server::{Server, wait_until};
use omni_tests::speech::{self, ask, request_with};
use omni_tests::wav::Wav;
use omni_tests::{artifacts, checks};
use serde_json::{Value, json};

/// How long a command may take. Not a measure of speed: a guard against a hang.
const PATIENCE: Duration = Duration::from_secs(900);

/// Where a model stands, from `/ready`.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// `loading`, `ready`, `failed` or `unhealthy`.
    pub state: String,
    /// Why, for the last two.
    pub reason: String,
}

/// Arguments that load these libraries, in this order.
pub fn plugins<P: AsRef<Path>>(libraries: &[P]) -> Vec<OsString> {
    libraries.iter().flat_map(|library| ["--plugin".into(), library.as_ref().into()]).collect()
}

/// The same with more arguments.
pub fn plugins_and<P: AsRef<Path>>(libraries: &[P], more: &[&str]) -> Vec<OsString> {
    plugins(libraries).into_iter().chain(more.iter().map(OsString::from)).collect()
}

/// A copy of the hostile plugin that goes wrong in a way of its own while it loads.
pub fn hostile_that(folder: &Path, mischief: &str) -> PathBuf {
    let copy = folder.join(format!("libhostile+{mischief}.so"));
    std::fs::copy(artifacts::plugin("hostile"), &copy).expect("the library can be copied");
    copy
}

/// Asks one model to speak a text.
pub fn say(server: &Server, model: &str, text: &str) -> Answer {
    ask(server, &request_with(text, &json!({"model": model})))
}

/// Has one model speak and gives the sound.
pub fn sound_of(server: &Server, model: &str, text: &str, more: &Value) -> Wav {
    let mut request = request_with(text, more);
    request["model"] = json!(model);
    speech::speak_request(server, &request)
}

/// Fails unless a request fails as the plugin's fault, by name and without repeating itself. Gives the number of the stage at fault.
pub fn fails(server: &Server, model: &str, text: &str, names: &str) -> Option<u64> {
    let answer = say(server, model, text);
    let message = checks::error(&answer, 500, names);
    assert_eq!(message.matches("Speech generation failed").count(), 1, "{message}");
    let error = &answer.json()["error"];
    assert_eq!(error["request_id"].as_str(), answer.header("x-request-id"), "{error}");
    assert!(error.get("error_stage_id").is_some(), "{error}");
    error["error_stage_id"].as_u64()
}

/// Fails unless a model speaks.
pub fn speaks(server: &Server, model: &str) {
    let wav = sound_of(server, model, "All is well.", &json!({}));
    assert!(wav.samples.iter().any(|sample| *sample != 0), "{model} speaks silence");
}

/// What `/ready` says of every model.
pub fn states(server: &Server) -> BTreeMap<String, State> {
    let body = http::get(&server.url("/ready")).json();
    let models = body["models"].as_array().unwrap_or_else(|| panic!("no models in {body}"));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    models.iter().map(|model| (text(&model["model"]), State { state: text(&model["state"]), reason: text(&model["reason"]) })).collect()
}

/// Where one model stands.
pub fn state(server: &Server, model: &str) -> State {
    let states = states(server);
    states.get(model).cloned().unwrap_or_else(|| panic!("{model} is not among {states:?}"))
}

/// Names in `/v1/models`, in order.
pub fn listed(server: &Server) -> Vec<String> {
    let body = http::get(&server.url("/v1/models")).json();
    let cards = body["data"].as_array().unwrap_or_else(|| panic!("no data in {body}"));
    cards.iter().filter_map(|card| card["id"].as_str()).map(str::to_owned).collect()
}

/// Mean frequency of a tone: how often the wave rises through zero in the seconds in which it sounds.
pub fn frequency_hz(tone: &Wav) -> f64 {
    let rises = tone.samples.windows(2).filter(|pair| pair[0] < 0 && pair[1] >= 0).count();
    let sounding = tone.samples.chunks(100).filter(|part| part.iter().any(|sample| *sample != 0)).count() * 100;
    rises as f64 * f64::from(tone.rate) / sounding as f64
}

/// What a command left behind.
#[derive(Debug)]
pub struct Ended {
    /// Whether it succeeded.
    pub success: bool,
    /// What it printed.
    pub output: String,
    /// What it complained about.
    pub errors: String,
}

/// Runs `omni-host` to its end.
pub fn omni_host(arguments: &[OsString], variables: &[(&str, &Path)]) -> Ended {
    let mut command = Command::new(artifacts::omni_host());
    command.args(arguments).envs(variables.iter().copied());
    run(command)
}

/// Runs a command to its end.
///
/// # Panics
/// When it does not end.
pub fn run(mut command: Command) -> Ended {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
    let output = collect(child.stdout.take().expect("its output is a pipe"));
    let errors = collect(child.stderr.take().expect("its errors are a pipe"));
    let success = wait(&mut child);
    let text = |reader: thread::JoinHandle<String>| reader.join().expect("the reader does not panic");
    Ended { success, output: text(output), errors: text(errors) }
}

fn wait(child: &mut Child) -> bool {
    let mut status = None;
    let in_time = wait_until(PATIENCE, || {
        status = child.try_wait().expect("the state of a child can be asked");
        status.is_some()
    });
    if !in_time {
        child.kill().expect("a running child can be ended");
    }
    status.unwrap_or_else(|| panic!("the command did not end")).success()
}

fn collect(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).expect("a pipe can be read");
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
