//! A server in service: replicas of a stage, an end in the middle of work, a sudden death, and the limits of a request.

use std::thread;
use std::time::Duration;

use omni_tests::artifacts::sine_and;
use omni_tests::checks;
use omni_tests::http;
use omni_tests::server::{Server, wait_until};
use omni_tests::speech::{Stream, ask, request_with, speak_request};
use serde_json::{Value, json};

/// A server that speaks tones.
fn serve(more: &[&str]) -> Server {
    Server::start_with(&sine_and(more))
}

fn tone(text: &str, more: &Value) -> Value {
    let mut request = request_with(text, more);
    request["response_format"] = json!("pcm");
    request
}

/// The replicas of a stage, from `/ready`.
fn replicas(server: &Server, stage: &str) -> Vec<Value> {
    let body = http::get(&server.url("/ready")).json();
    let replicas = body["models"][0]["stages"].as_array().cloned().unwrap_or_default();
    replicas.into_iter().filter(|replica| replica["name"] == stage).collect()
}

#[test]
fn replicas_share_the_requests_and_sound_alike() {
    let server =
        serve(&["--stage-0-num-replicas", "2", "--stage-0-devices", "cpu", "--stage-1-num-replicas", "3", "--stage-1-devices", "cpu"]);
    assert_eq!((replicas(&server, "talker").len(), replicas(&server, "codec").len()), (2, 3));
    let text = "A text that is spoken by one replica or by another.";
    let wanted = speak_request(&server, &request_with(text, &json!({}))).samples;
    let slow = tone("A text of some length, which takes a second or so to speak at this pace.", &json!({"pace": 5}));
    let mut streams: Vec<Stream> = (0..4).map(|_| Stream::open(&server, &slow)).collect();
    streams.iter_mut().for_each(|stream| assert!(stream.next_piece().is_some()));
    let loads: Vec<u64> = replicas(&server, "talker").iter().filter_map(|replica| replica["sequences"].as_u64()).collect();
    assert_eq!(loads, [2, 2], "four requests among two replicas");
    for _ in 0..4 {
        assert_eq!(speak_request(&server, &request_with(text, &json!({}))).samples, wanted);
    }
    let bodies: Vec<Vec<u8>> = streams.iter_mut().map(|stream| stream.pieces().concat()).collect();
    assert!(bodies.iter().all(|body| *body == bodies[0] && !body.is_empty()));
}

#[test]
fn an_end_in_the_middle_of_fifty_streams_cuts_none_of_them() {
    let mut server = serve(&[]);
    let request =
        tone("A text that takes a second or two to speak at this pace, so that the end comes in the middle.", &json!({"pace": 4}));
    let wanted = ask(&server, &request).body;
    let mut streams: Vec<Stream> = (0..50).map(|_| Stream::open(&server, &request)).collect();
    let mut begun: Vec<Vec<u8>> = streams.iter_mut().map(|stream| stream.next_piece().expect("it has begun")).collect();
    server.ask_to_end();
    assert!(wait_until(Duration::from_secs(60), || http::get(&server.url("/ready")).status == 503), "it does not say that it ends");
    let refusal = ask(&server, &request);
    checks::error(&refusal, 503, "shutting down");
    assert!(refusal.header("retry-after").is_some());
    for (stream, body) in streams.iter_mut().zip(&mut begun) {
        body.extend(stream.pieces().concat());
        assert!(*body == wanted, "a stream of {} bytes where {} were due", body.len(), wanted.len());
    }
    assert!(server.wait_for_end().success());
}

#[test]
fn a_server_that_was_killed_starts_again_and_speaks_as_before() {
    let mut server = serve(&[]);
    let request = tone("The same words before and after.", &json!({}));
    let wanted = ask(&server, &request).body;
    let mut stream = Stream::open(&server, &tone("A long text that will not be finished by anybody.", &json!({"pace": 1})));
    assert!(stream.next_piece().is_some());
    server.kill();
    server.wait_for_end();
    drop(stream);
    let again = serve(&[]);
    assert_eq!(ask(&again, &request).body, wanted);
}

#[test]
fn a_request_past_its_time_is_ended_with_a_status_of_its_own() {
    let server = serve(&["--request-timeout-secs", "1"]);
    let slow = request_with(&"never ending ".repeat(50), &json!({"pace": 0.5}));
    checks::error(&ask(&server, &slow), 504, "did not end within");
    assert_eq!(ask(&server, &tone("quick", &json!({}))).status, 200);
}

#[test]
fn past_the_speech_that_was_promised_a_request_is_told_to_come_back() {
    let server = serve(&["--max-queued-audio-secs", "60"]);
    let long = "a book of words ".repeat(400);
    let mut stream = Stream::open(&server, &tone(&long, &json!({"pace": 20})));
    assert!(stream.next_piece().is_some(), "whoever is alone is let in");
    let refusal = ask(&server, &tone(&long, &json!({})));
    checks::error(&refusal, 429, "");
    assert!(refusal.header("retry-after").is_some());
    drop(stream);
    let is_free = || ask(&server, &tone("a note", &json!({}))).status == 200;
    assert!(wait_until(Duration::from_secs(60), is_free), "its place is not given back");
}

#[test]
fn a_client_that_reads_nothing_loses_its_request_and_keeps_nobody_waiting() {
    let server = serve(&["--slow-client-secs", "1", "--max-num-seqs", "1"]);
    let endless = tone(&"words without an end ".repeat(3_000), &json!({}));
    let mut stalled = Stream::open(&server, &endless);
    assert!(stalled.next_piece().is_some());
    let is_alone = || replicas(&server, "talker")[0]["sequences"] == 0;
    assert!(wait_until(Duration::from_secs(60), is_alone), "it still holds its slot");
    thread::scope(|scope| {
        let speaks = || assert_eq!(ask(&server, &tone("the next one", &json!({}))).status, 200);
        scope.spawn(speaks);
        scope.spawn(speaks);
    });
}
