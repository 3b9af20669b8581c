//! The server as containers run it: as the first process, which no signal ends by default; and as a user who may write nowhere.
//!
//! A namespace of the kernel is all of a container that matters here. Where none may be made, there is nothing to test.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use omni_tests::artifacts::{omni_host, plugin};
use omni_tests::checks;
use omni_tests::http::{self, Answer};
use omni_tests::sentences::long_text;
use omni_tests::server::{Server, wait_until};
use omni_tests::speech::{self, PATH, RATE, Stream};
use omni_tests::upload::{Form, listing, tone};
use omni_tests::wav::Wav;
use serde_json::{Value, json};
use ureq::http::Method;

/// How long a state may take to come. Not a measure of speed: a guard against a hang.
const PATIENCE: Duration = Duration::from_secs(60);
/// What a process ends with that a second SIGTERM ended at once.
const TERMINATED: i32 = 128 + 15;
/// Makes everything read-only but a fresh `/mnt`, and goes on as a user that exists nowhere. `$0` is the program.
const READ_ONLY: &str = "mount --make-rprivate / && mount -o remount,bind,ro / && mount -t tmpfs none /mnt && \
                         exec setpriv --reuid=10001 --regid=10001 --clear-groups --no-new-privs -- \"$0\" \"$@\"";

/// `unshare` with these arguments; none where it is not allowed.
fn unshare(arguments: &[&str]) -> Option<Command> {
    let tries = [&[][..], &["--user", "--map-root-user"]];
    let allowed = tries.into_iter().find(|more| {
        let mut probe = Command::new("unshare");
        probe.args(*more).args(arguments).arg("true").stdout(Stdio::null()).stderr(Stdio::null());
        probe.status().is_ok_and(|status| status.success())
    });
    let Some(more) = allowed else {
        eprintln!("unshare {arguments:?} is not allowed on this machine: nothing to test");
        return None;
    };
    let mut command = Command::new("unshare");
    command.args(more).args(arguments);
    Some(command)
}

/// A server that is process 1 of its own world; its template speaks as slowly as it is asked to.
fn first_process() -> Option<Server> {
    let mut command = unshare(&["--pid", "--fork", "--kill-child"])?;
    command.arg(omni_host());
    let library = plugin("sine");
    let mut server = Server::launch_by(command, &["--plugin", library.to_str().expect("a plain path")]);
    server.wait_until_ready();
    Some(server)
}

/// A stream that takes as long as it sounds.
fn paced(sentences: usize) -> Value {
    json!({"input": long_text(sentences), "response_format": "pcm", "pace": 1, "seed": speech::SEED})
}

#[test]
fn the_first_process_ends_when_it_is_asked_to() {
    let Some(mut server) = first_process() else { return };
    server.ask_to_end();
    assert_eq!(server.wait_for_end().code(), Some(0), "{}", server.log());
}

#[test]
fn the_first_process_finishes_what_it_says_and_refuses_what_is_new() {
    let Some(mut server) = first_process() else { return };
    let mut stream = Stream::open(&server, &paced(2));
    let mut sound = stream.next_piece().expect("a first piece");
    server.ask_to_end();
    let refusal = first_refusal(&server);
    checks::error(&refusal, 503, "");
    assert!(refusal.header("retry-after").and_then(|seconds| seconds.parse::<u64>().ok()) >= Some(1), "{:?}", refusal.headers);
    sound.extend(stream.pieces().concat());
    let whole = Wav::from_pcm(&sound, RATE).expect("whole samples");
    assert!(whole.seconds() > 1.0, "the stream was cut after {} s", whole.seconds());
    assert_eq!(server.wait_for_end().code(), Some(0), "{}", server.log());
}

/// The first answer that is no speech: the signal takes a moment to arrive.
fn first_refusal(server: &Server) -> Answer {
    let body = json!({"input": "Hi."}).to_string();
    let mut refusal = None;
    wait_until(PATIENCE, || {
        let answer = http::try_send(Method::POST, &server.url(PATH), &[("content-type", "application/json")], body.as_bytes());
        refusal = answer.ok().filter(|answer| answer.status != 200);
        refusal.is_some()
    });
    refusal.expect("new requests are refused while the last one is finished")
}

#[test]
fn a_second_signal_ends_the_first_process_at_once() {
    let Some(mut server) = first_process() else { return };
    let mut stream = Stream::open(&server, &paced(60));
    stream.next_piece().expect("a first piece");
    server.ask_to_end();
    first_refusal(&server);
    server.ask_to_end();
    assert_eq!(server.wait_for_end().code(), Some(TERMINATED), "{}", server.log());
}

#[test]
fn a_server_that_may_write_nowhere_speaks_and_says_that_it_stores_no_voice() {
    let Some(mut command) = unshare(&["--mount"]) else { return };
    // The user must be able to reach the program.
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder outside of home");
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("a folder for everybody");
    let program = folder.path().join("omni-host");
    fs::copy(omni_host(), &program).expect("a copy of the program");
    command.args(["sh", "-c", READ_ONLY]).arg(&program).env("HOME", "/nonexistent").env("TMPDIR", "/mnt").current_dir("/");
    command.env("SPEAKER_SAMPLES_DIR", "/nonexistent/voices");
    let mut server = Server::launch_by::<&str>(command, &[]);
    server.wait_until_ready();
    assert!(!speech::speak(&server, "Hello world.").samples.is_empty());
    let log = server.log();
    let warning = log.lines().find(|line| line.contains("no voice can be uploaded")).unwrap_or_else(|| panic!("no warning:\n{log}"));
    assert!(warning.contains("/nonexistent/voices") && warning.contains("SPEAKER_SAMPLES_DIR"), "{warning}");
    let upload = Form::of("anne").clip(&tone(440.0, 2.0, 24_000)).send(&server);
    checks::error(&upload, 500, "Failed to save voice file");
    assert_eq!(listing(&server)["uploaded_voices"], json!([]));
    server.ask_to_end();
    assert_eq!(server.wait_for_end().code(), Some(0), "{}", server.log());
}
