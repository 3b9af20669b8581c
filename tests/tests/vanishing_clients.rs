//! A client that vanishes at some point of a request or a session: the work for it stops, what it held is given back, the page of metrics
//! tells what happened, and nobody else notices.

use std::ops::Sub;
use std::time::Duration;

use omni_tests::artifacts::sine_and;
use omni_tests::checks::Baseline;
use omni_tests::http::get;
use omni_tests::page::Page;
use omni_tests::raw::{self, Connection};
use omni_tests::server::{Server, wait_until};
use omni_tests::speech::{PATH, Stream, ask, request_with};
use omni_tests::websocket::{self, Frames};
use serde_json::{Value, json};

const BATCH: &str = "/v1/audio/speech/batch";
/// How long a state may take to come. Not a measure of speed: a guard against a hang.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the page of metrics counts of visits.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Told {
    /// Requests whose client left them to the engine.
    left: f64,
    /// Sequences that the first stage dropped.
    cancelled: f64,
    /// Streams that broke off because their client was gone.
    aborted: f64,
    /// Streams that were sent to their end.
    completed: f64,
    /// Requests whose client was gone before there was a status.
    unanswered: f64,
    /// Requests whose body broke off.
    cut: f64,
    /// Whatever counts as a fault of the server.
    faults: f64,
}

impl Told {
    const NOTHING: Self = Self { left: 0.0, cancelled: 0.0, aborted: 0.0, completed: 0.0, unanswered: 0.0, cut: 0.0, faults: 0.0 };
    /// A request that broke off in its body.
    const CUT: Self = Self { cut: 1.0, ..Self::NOTHING };
    /// One that was begun and had no answer yet.
    const UNANSWERED: Self = Self { left: 1.0, cancelled: 1.0, unanswered: 1.0, ..Self::NOTHING };
    /// A stream that was being sent.
    const ABORTED: Self = Self { left: 1.0, cancelled: 1.0, aborted: 1.0, ..Self::NOTHING };

    fn of(server: &Server) -> Self {
        let page = Page::of(server);
        let failed = |reason| page.sum("vllm_omni:requests_failed_total", &[("reason", reason)]);
        let aborted = |reason| page.sum("vllm_omni:speech_stream_aborted_total", &[("reason", reason)]);
        let answered = |status| page.sum("omni_host:http_requests_total", &[("status", status)]);
        let broken = ["stage_error", "timed_out", "unavailable"].into_iter().map(failed).sum::<f64>();
        let refused = ["500", "503", "504"].into_iter().map(answered).sum::<f64>();
        Self {
            left: failed("client_disconnect"),
            cancelled: page.sum("omni_host:stage_cancelled_total", &[("stage", "0")]),
            aborted: aborted("closed"),
            completed: page.sum("vllm_omni:speech_stream_completed_total", &[]),
            unanswered: answered("499"),
            cut: answered("400"),
            faults: broken + refused + aborted("error") + page.sum("omni_host:plugin_faults_total", &[]),
        }
    }
}

impl Sub for Told {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            left: self.left - before.left,
            cancelled: self.cancelled - before.cancelled,
            aborted: self.aborted - before.aborted,
            completed: self.completed - before.completed,
            unanswered: self.unanswered - before.unanswered,
            cut: self.cut - before.cut,
            faults: self.faults - before.faults,
        }
    }
}

/// A server, and what it was like when nobody had vanished.
struct Watched {
    server: Server,
    baseline: Baseline,
    told: Told,
}

impl Watched {
    /// A server after its first visitors: what is made on first use is there.
    fn start(more: &[&str], first_visits: impl FnOnce(&Server)) -> Self {
        let server = Server::start_with(&sine_and(more));
        first_visits(&server);
        until_left(&server, "the first visitors");
        let baseline = Baseline::of(&server);
        let told = Told::of(&server);
        Self { server, baseline, told }
    }

    /// Somebody comes and vanishes. The server has to be as before, and its page has to tell this of the visit.
    fn after(&mut self, what: &str, vanish: impl FnOnce(&Server), tells: Told) {
        self.after_either(what, vanish, &[tells]);
    }

    /// The same where one of several things may have happened.
    fn after_either(&mut self, what: &str, vanish: impl FnOnce(&Server), tells: &[Told]) {
        vanish(&self.server);
        until_left(&self.server, what);
        let before = self.told;
        let is_told = wait_until(PATIENCE, || {
            self.told = Told::of(&self.server);
            tells.contains(&(self.told - before))
        });
        assert!(is_told, "{what}: expected one of {tells:?}, the page tells {:?}", self.told - before);
        self.baseline.check(&self.server);
    }
}

/// Requests inside, running or waiting.
fn inside(server: &Server) -> u64 {
    get(&server.url("/load")).json()["server_load"].as_u64().expect("a number")
}

/// Sequences that each stage knows of.
fn held(server: &Server) -> Vec<u64> {
    let ready = get(&server.url("/ready")).json();
    let stages = ready["models"][0]["stages"].as_array().cloned().unwrap_or_default();
    stages.iter().map(|stage| stage["sequences"].as_u64().expect("a number")).collect()
}

fn until_left(server: &Server, what: &str) {
    let is_empty = wait_until(PATIENCE, || inside(server) == 0 && held(server) == [0, 0]);
    assert!(is_empty, "{what}: {} requests are still inside, {:?} sequences in stages", inside(server), held(server));
}

/// Waits until the engine has so many requests, and the first stage knows of each.
fn until_begun(server: &Server, requests: u64) {
    let are_begun = || inside(server) == requests && held(server).first() == Some(&requests);
    assert!(wait_until(PATIENCE, are_begun), "{} requests are inside, not {requests}: {:?}", inside(server), held(server));
}

/// How speech is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Whole,
    Raw,
    Events,
    Batch,
}

const WAYS: [Way; 4] = [Way::Whole, Way::Raw, Way::Events, Way::Batch];

/// Speech of half a minute and more, unless nobody waits for it.
fn long() -> Value {
    request_with(&"a word and another ".repeat(60), &json!({"response_format": "pcm", "pace": 2}))
}

/// Speech that is made in a moment.
fn short() -> Value {
    request_with("a word and another one", &json!({"response_format": "pcm"}))
}

impl Way {
    fn streams(self) -> bool {
        matches!(self, Self::Raw | Self::Events)
    }

    /// What is told of one that was begun and whose client did not wait for its answer.
    fn unanswered(self) -> Told {
        Told { aborted: if self.streams() { 1.0 } else { 0.0 }, ..Told::UNANSWERED }
    }

    /// A request for this, as bytes.
    fn bytes(self, request: &Value) -> Vec<u8> {
        let mut request = request.clone();
        match self {
            Self::Whole => {}
            Self::Raw => request["stream_format"] = json!("audio"),
            Self::Events => request["stream"] = json!(true),
            Self::Batch => request = json!({"items": [request]}),
        }
        raw::post(if self == Self::Batch { BATCH } else { PATH }, request.to_string().as_bytes())
    }

    fn send(self, server: &Server, request: &Value) -> Connection {
        let mut connection = server.connect();
        connection.send(&self.bytes(request));
        connection
    }
}

/// Where the head of a request ends.
fn head_len(bytes: &[u8]) -> usize {
    bytes.windows(4).position(|end| end == b"\r\n\r\n").expect("a head") + 4
}

/// Sends so much of a request and is gone.
fn send_part(server: &Server, bytes: &[u8]) {
    server.connect().send(bytes);
}

/// Reads so many pieces of a stream and is gone.
fn read_part(server: &Server, way: Way, pieces: usize) {
    let mut connection = way.send(server, &long());
    assert_eq!(connection.read_head().status, 200);
    (0..pieces).for_each(|_| assert!(connection.read_chunk().is_some(), "it ended before its client did"));
}

/// Reads all of a stream but its end and is gone.
fn read_to_the_end(server: &Server, way: Way) {
    let len = ask(server, &short()).body.len();
    let mut connection = way.send(server, &short());
    assert_eq!(connection.read_head().status, 200);
    let mut read = 0;
    while let Some(piece) = connection.read_chunk() {
        read += piece.len();
        if read >= len && way == Way::Raw || piece.starts_with(b"event: speech.audio.done") {
            return;
        }
    }
    panic!("the end came unannounced");
}

/// Somebody of each kind, so that later ones find nothing new.
fn first_visits(server: &Server) {
    for way in WAYS {
        drop(way.send(server, &long()));
        until_left(server, "a first visitor");
        way.send(server, &short()).read_answer();
    }
}

#[test]
fn at_any_point_of_a_request() {
    let mut watched = Watched::start(&[], first_visits);
    for way in WAYS {
        let bytes = way.bytes(&long());
        let head = head_len(&bytes);
        let at = |point: &str| format!("{way:?}, {point}");
        watched.after(&at("within its head"), |server| send_part(server, &bytes[..head - 10]), Told::NOTHING);
        watched.after(&at("after its head"), |server| send_part(server, &bytes[..head]), Told::CUT);
        watched.after(&at("within its body"), |server| send_part(server, &bytes[..bytes.len() - 10]), Told::CUT);
        let unanswered = |server: &Server| {
            let connection = way.send(server, &long());
            until_begun(server, 1);
            drop(connection);
        };
        watched.after(&at("before its answer"), unanswered, way.unanswered());
        if way.streams() {
            watched.after(&at("after the head of its answer"), |server| read_part(server, way, 0), Told::ABORTED);
            watched.after(&at("after its first audio"), |server| read_part(server, way, 1), Told::ABORTED);
            watched.after(&at("amid its audio"), |server| read_part(server, way, 6), Told::ABORTED);
            let completed = Told { completed: 1.0, ..Told::NOTHING };
            let almost = Told { aborted: 1.0, ..Told::NOTHING };
            let ends = [completed, almost, Told { left: 1.0, ..almost }];
            watched.after_either(&at("just before its end"), |server| read_to_the_end(server, way), &ends);
        } else {
            let read_head = |server: &Server| assert_eq!(way.send(server, &short()).read_head().status, 200);
            watched.after(&at("after the head of its answer"), read_head, Told::NOTHING);
        }
    }
}

#[test]
fn while_it_waits_for_its_turn() {
    let mut watched = Watched::start(&["--max-num-seqs", "1"], first_visits);
    for way in WAYS {
        let visit = |server: &Server| {
            let mut before = Stream::open(server, &long());
            assert!(before.next_piece().is_some());
            let waiting = way.send(server, &long());
            until_begun(server, 2);
            drop(waiting);
            until_begun(server, 1);
            assert!(before.next_piece().is_some(), "the one in front noticed");
        };
        let waited = way.unanswered();
        let both = Told { left: 2.0, cancelled: 2.0, aborted: waited.aborted + 1.0, ..waited };
        watched.after(&format!("{way:?}, in the queue"), visit, both);
    }
}

/// A session that sounds, with this text.
fn session(server: &Server, text: &Value) -> Frames {
    let mut fields = text.clone();
    fields["stream_audio"] = json!(true);
    fields.as_object_mut().expect("fields").remove("input");
    let mut session = Frames::open_with(server, &fields);
    session.send(&websocket::text(text["input"].as_str().expect("a text")));
    session.send(&websocket::done());
    session
}

#[test]
fn at_any_step_of_a_session() {
    let speak = |server: &Server| {
        session(server, &short()).read_until("audio.done");
        session(server, &long()).read_until("binary");
    };
    let mut watched = Watched::start(&[], speak);
    let config = json!({"response_format": "pcm", "stream_audio": true});
    watched.after("before its configuration", |server| drop(Frames::open(server)), Told::NOTHING);
    let half = [websocket::head(true, websocket::TEXT, 100, true), b"masked and not complete".to_vec()].concat();
    watched.after("within a frame", |server| Frames::open(server).send_bytes(&half), Told::NOTHING);
    watched.after("after its configuration", |server| drop(Frames::open_with(server, &config)), Told::NOTHING);
    let half_text = |server: &Server| Frames::open_with(server, &config).send(&websocket::text("The first half of a"));
    watched.after("amid its text", half_text, Told::NOTHING);
    let silent = |server: &Server| {
        let session = session(server, &long());
        until_begun(server, 1);
        drop(session);
    };
    watched.after("before its audio", silent, Told::ABORTED);
    let sounding = |server: &Server| drop(session(server, &long()).read_until("binary"));
    watched.after("while audio flows", sounding, Told::ABORTED);
    let spoken = |server: &Server| drop(session(server, &short()).read_until("audio.done"));
    watched.after("before it closes", spoken, Told { completed: 1.0, ..Told::NOTHING });
}
