//! Many clients at once, and clients that leave: what is refused is refused early and says so, the rest is answered, nothing stays.

use std::collections::HashSet;
use std::mem::replace;
use std::ops::Range;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use omni_tests::asr;
use omni_tests::checks::{self, Baseline};
use omni_tests::http::{self, Answer};
use omni_tests::metrics;
use omni_tests::raw;
use omni_tests::sentences::{SENTENCES, long_text};
use omni_tests::server::{Server, wait_until};
use omni_tests::speech::{self, PATH, Stream, ask, request, request_with};
use omni_tests::wav::Wav;
use omni_tests::websocket::{self, Frames};
use omni_tests::words;
use serde_json::{Value, json};

/// Sends all requests in the same moment, each on a connection of its own, and gives the answers in their order.
fn at_once(server: &Server, requests: &[Value]) -> Vec<Answer> {
    let start = Barrier::new(requests.len());
    thread::scope(|scope| {
        let send = |request| {
            start.wait();
            ask(server, request)
        };
        let waiting: Vec<_> = requests.iter().map(|request| scope.spawn(move || send(request))).collect();
        waiting.into_iter().map(|thread| thread.join().expect("an answer")).collect()
    })
}

/// Fails unless an answer is a refusal that says when to come again.
fn check_refusal(answer: &Answer) {
    checks::error(answer, 429, "");
    let retry_after = answer.header("retry-after").and_then(|seconds| seconds.parse::<u64>().ok());
    assert!(retry_after.is_some_and(|seconds| seconds >= 1), "no retry-after: {:?}", answer.headers);
    // Else a page would not see what it was told.
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{:?}", answer.headers);
}

#[test]
fn past_the_queue_requests_are_refused_and_all_others_complete() {
    let server = Server::start_with(&["--max-queue", "64"]);
    let text = long_text(6);
    let requests: Vec<Value> = (0..200).map(|_| request(&text)).collect();
    let expected = speech::wav_bytes(&server, &request(&text));
    flood(&server, &requests, &expected);
    let baseline = Baseline::of(&server);
    flood(&server, &requests, &expected);
    baseline.check(&server);
}

fn flood(server: &Server, requests: &[Value], expected: &[u8]) {
    let answers = at_once(server, requests);
    let (spoken, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
    eprintln!("{} spoken, {} refused", spoken.len(), refused.len());
    refused.iter().for_each(|answer| check_refusal(answer));
    assert!(spoken.iter().all(|answer| answer.body == expected), "an answer is not the one its request has alone");
    assert!(spoken.len() >= 64, "{} spoken although 64 fit the queue", spoken.len());
    assert!(!refused.is_empty(), "nothing was refused: the queue has no bound");
}

#[test]
fn everyone_gets_their_own_words_among_a_hundred_at_once() {
    let server = Server::start_with(&["--max-queue", "128"]);
    let texts: Vec<String> = (0..50).map(|number| format!("Parcel {} is ready.", 40 + number)).collect();
    let requests: Vec<Value> = texts.iter().flat_map(|text| [request(text), request(text)]).collect();
    let answers = at_once(&server, &requests);
    for (request, answer) in requests.iter().zip(&answers) {
        speech::check_good(answer, "audio/wav");
        assert!(answer.body == speech::wav_bytes(&server, request), "{request} has another answer in company");
    }
    let different: HashSet<&[u8]> = answers.iter().map(|answer| answer.body.as_slice()).collect();
    assert_eq!(different.len(), texts.len(), "two texts share an answer");
    for at in (0..answers.len()).step_by(14) {
        words::assert_heard_only(&asr::hear(&Wav::read(&answers[at].body).expect("a good file")), &texts[at / 2]);
    }
}

#[test]
fn bursts_of_a_dozen_sentences_are_spoken_or_refused_and_spoken_later() {
    let server = Server::start_with(&["--max-queue", "8"]);
    let requests: Vec<Value> = SENTENCES[..12].iter().map(|sentence| request(sentence)).collect();
    let alone: Vec<Vec<u8>> = requests.iter().map(|request| speech::wav_bytes(&server, request)).collect();
    burst(&server, &requests, &alone);
    let baseline = Baseline::of(&server);
    for _ in 1..10 {
        burst(&server, &requests, &alone);
    }
    baseline.check(&server);
}

fn burst(server: &Server, requests: &[Value], alone: &[Vec<u8>]) {
    for ((answer, request), alone) in at_once(server, requests).into_iter().zip(requests).zip(alone) {
        if answer.status != 200 {
            check_refusal(&answer);
        }
        let body = if answer.status == 200 { answer.body } else { speech::wav_bytes(server, request) };
        assert!(body == *alone, "{request} has another answer in a burst");
    }
}

#[test]
fn clients_that_leave_are_forgotten_and_counted() {
    let server = Server::start();
    let text = long_text(20);
    leave_many(&server, &text, 5);
    let baseline = Baseline::of(&server);
    let cut_before = cut_streams(&server);
    let left = leave_many(&server, &text, 25);
    baseline.check(&server);
    let is_idle = || metrics::sum(&server, "vllm_omni:num_requests_running", "") == 0.0;
    assert!(wait_until(http::PATIENCE, is_idle), "a request of somebody who left still runs");
    let (cut, least) = (cut_streams(&server) - cut_before, left.iter().filter(|left| **left == Left::AfterSound).count());
    // A session that was left before its first sound may have been begun or not.
    let most = left.iter().filter(|left| matches!(left, Left::AfterSound | Left::Waiting)).count();
    assert!((least as f64..=most as f64).contains(&cut), "{cut} streams counted as cut, expected {least} to {most}");
    assert!(!server.log().contains("panicked"), "{}", server.log());
}

/// Streams whose client left, as the server counts them.
fn cut_streams(server: &Server) -> f64 {
    metrics::sum(server, "vllm_omni:speech_stream_aborted_total", "reason=\"closed\"")
}

/// When a client left.
#[derive(Clone, Copy, PartialEq)]
enum Left {
    /// In the middle of a stream.
    AfterSound,
    /// While its stream was to begin.
    Waiting,
    /// Before the end of its request, or of an answer that is no stream.
    Elsewhere,
}

/// Eight clients at a time, each leaving several times.
fn leave_many(server: &Server, text: &str, times: usize) -> Vec<Left> {
    thread::scope(|scope| {
        let workers: Vec<_> = (0..8).map(|worker| scope.spawn(move || leave_often(server, text, worker..worker + times))).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a client that leaves")).collect()
    })
}

fn leave_often(server: &Server, text: &str, ways: Range<usize>) -> Vec<Left> {
    ways.map(|way| leave(server, text, way)).collect()
}

/// Asks for speech and closes the connection: after a piece of a stream of each kind, which resets it, since more is on its way; after
/// nothing of a complete body; or in the middle of the request.
fn leave(server: &Server, text: &str, way: usize) -> Left {
    let post = raw::post(PATH, request(text).to_string().as_bytes());
    match way % 6 {
        0 => drop(Stream::open(server, &request_with(text, &json!({"response_format": "pcm"}))).next_piece().expect("a piece")),
        1 => leave_events(server, text),
        2 => leave_session(server, text, true),
        3 => leave_session(server, text, false),
        4 => server.connect().send(&post),
        _ => server.connect().send(&post[..200]),
    }
    [Left::AfterSound, Left::AfterSound, Left::AfterSound, Left::Waiting].get(way % 6).copied().unwrap_or(Left::Elsewhere)
}

fn leave_events(server: &Server, text: &str) {
    let mut connection = server.connect();
    connection.send(&raw::post(PATH, request_with(text, &json!({"stream": true})).to_string().as_bytes()));
    assert_eq!(connection.read_head().status, 200);
    assert!(connection.read_chunk().is_some_and(|event| event.starts_with(b"event: speech.audio.delta\n")));
}

fn leave_session(server: &Server, text: &str, after_sound: bool) {
    let mut session = Frames::open_with(server, &json!({"response_format": "pcm", "stream_audio": true}));
    session.send(&websocket::text(text));
    session.send(&websocket::done());
    if after_sound {
        session.read_until("binary");
    }
}

/// Measured by the server's own work: once the client is gone, no more is done for it.
#[test]
fn work_stops_when_its_client_leaves() {
    let server = Server::start();
    let text = long_text(70);
    let pcm = request_with(&text, &json!({"response_format": "pcm"}));
    let before = server.cpu_ticks();
    Stream::open(&server, &pcm).pieces();
    let whole_work = server.cpu_ticks() - before;
    assert!(whole_work >= 20, "too little work to tell: {whole_work} ticks");

    let before = server.cpu_ticks();
    let mut stream = Stream::open(&server, &pcm);
    stream.next_piece().expect("a first piece");
    drop(stream);
    let mut last = server.cpu_ticks();
    let is_idle = wait_until(Duration::from_secs(120), || {
        thread::sleep(Duration::from_millis(500));
        let now = server.cpu_ticks();
        replace(&mut last, now) == now
    });
    assert!(is_idle, "the server is still at work");
    let work_done = server.cpu_ticks() - before;
    assert!(work_done * 2 < whole_work, "{work_done} of {whole_work} ticks of work for a client that had left");
}
