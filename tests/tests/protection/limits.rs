//! Clients that are slow, silent, too many or speak no HTTP: each is told so where the protocol allows it, and holds nothing up.

use std::io::Read;
use std::net::TcpStream;
use std::thread::sleep;
use std::time::Duration;

use omni_tests::artifacts::sine_and;
use omni_tests::http::{Answer, PATIENCE, get};
use omni_tests::page::Page;
use omni_tests::server::{Server, wait_until};
use omni_tests::speech::{self, PATH, request_with};
use omni_tests::{checks, raw};
use serde_json::json;

/// Sends bytes on a connection of their own and reads the answer, after which the connection must end.
fn answer_to(server: &Server, bytes: &[u8]) -> Answer {
    let mut connection = server.connect();
    connection.send_while_reading(bytes.to_vec());
    let answer = connection.read_answer();
    assert_eq!(connection.read_rest(), b"", "more than one answer");
    answer
}

#[test]
fn what_is_no_http_is_answered_with_the_envelope_and_an_id() {
    let server = Server::start_with(&sine_and(&["--max-head-bytes", "8192"]));
    let header = |name: &str| format!("GET /health HTTP/1.1\r\nhost: test\r\n{name}\r\n\r\n").into_bytes();
    let long = |len: usize| header(&format!("x-long: {}", "a".repeat(len)));
    let many: String = (0..400).map(|number| format!("x-{number}: 1\r\n")).collect();
    for (what, bytes, status) in [
        ("no HTTP at all", b"hello there\r\n\r\n".to_vec(), 400),
        ("a TLS greeting", [&[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3][..], &[7; 64]].concat(), 400),
        ("a version nobody speaks", b"GET /health HTTP/9.9\r\nhost: test\r\n\r\n".to_vec(), 400),
        ("a header without a colon", header("x-odd"), 400),
        ("a name with a space", header("x odd: 1"), 400),
        ("a length that is no number", header("content-length: many"), 400),
        ("two lengths", header("content-length: 3\r\ncontent-length: 4"), 400),
        ("a head too large", long(20_000), 431),
        ("a head much too large", long(600_000), 431),
        ("too many headers", header(many.trim_end()), 431),
    ] {
        let answer = answer_to(&server, &bytes);
        eprintln!("{what}: {} {}", answer.status, answer.start());
        checks::error(&answer, status, "");
        assert_eq!(answer.header("connection"), Some("close"), "{what}");
    }
    assert!(Page::of(&server).sum("omni_host:http_requests_total", &[("route", "malformed"), ("status", "431")]) == 3.0);
    assert_eq!(get(&server.url("/health")).status, 200);
}

#[test]
fn a_broken_body_is_the_requests_fault() {
    let server = Server::start_with(&sine_and(&[]));
    let head = format!("POST {PATH} HTTP/1.1\r\nhost: test\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n");
    for chunk in ["zz\r\n{}\r\n", "2\r\n{}xx", "fffffffffffffffff\r\n"] {
        let answer = answer_to(&server, format!("{head}{chunk}").as_bytes());
        checks::error(&answer, 400, "body");
    }
}

#[test]
fn a_slow_head_is_cut_off_and_told_why() {
    let server = Server::start_with(&sine_and(&["--head-timeout-secs", "1"]));
    let mut connection = server.connect();
    connection.send(b"GET /health HTTP/1.1\r\nhost: test\r\n");
    // A byte now and then does not help.
    let mut trickle = server.connect();
    trickle.send(b"GET /health HTTP/1.1\r\n");
    for _ in 0..5 {
        trickle.send(b"x");
        sleep(Duration::from_millis(100));
    }
    for connection in [&mut connection, &mut trickle] {
        checks::error(&connection.read_answer(), 408, "head");
        assert_eq!(connection.read_rest(), b"");
    }
    assert_eq!(Page::of(&server).sum("omni_host:connections_cut_total", &[("reason", "slow_head")]), 2.0);
}

#[test]
fn a_slow_body_is_cut_off_and_told_why() {
    let server = Server::start_with(&sine_and(&["--body-timeout-secs", "1", "--head-timeout-secs", "1"]));
    let mut connection = server.connect();
    let whole = raw::post(PATH, &[b' '; 100]);
    connection.send(&whole[..whole.len() - 50]);
    checks::error(&connection.read_answer(), 408, "body");
}

#[test]
fn an_idle_connection_is_closed_without_a_word_and_a_busy_one_kept() {
    let server = Server::start_with(&sine_and(&["--idle-timeout-secs", "1"]));
    assert_eq!(server.connect().read_rest(), b"", "nothing was asked");
    let mut connection = server.connect();
    for _ in 0..3 {
        connection.send(b"GET /health HTTP/1.1\r\nhost: test\r\n\r\n");
        assert_eq!(connection.read_answer().status, 200);
        sleep(Duration::from_millis(300));
    }
    assert_eq!(connection.read_rest(), b"");
    assert_eq!(Page::of(&server).sum("omni_host:connections_cut_total", &[("reason", "idle")]), 2.0);
}

#[test]
fn past_the_limit_of_connections_clients_are_told_to_come_again() {
    let server = Server::start_with(&sine_and(&["--max-connections", "3"]));
    let ask = |connection: &mut raw::Connection| {
        connection.send(b"GET /health HTTP/1.1\r\nhost: test\r\n\r\n");
        connection.read_answer()
    };
    // What asked whether the server is ready has to be gone first.
    let mut held = Vec::new();
    let is_full = wait_until(PATIENCE, || {
        let mut connection = server.connect();
        let answer = ask(&mut connection);
        if answer.status == 200 {
            held.push(connection);
        }
        held.len() == 3
    });
    assert!(is_full, "only {} connections were taken", held.len());
    let refused = ask(&mut server.connect());
    checks::error(&refused, 503, "connections");
    assert_eq!(refused.header("retry-after"), Some("1"));
    drop(held);
    assert!(wait_until(PATIENCE, || ask(&mut server.connect()).status == 200), "closed connections still count");
}

#[test]
fn a_client_that_does_not_read_loses_its_place() {
    let server = Server::start_with(&sine_and(&["--reader-timeout-secs", "1"]));
    // More sound than all buffers between the two hold.
    let text = "All work and no play. ".repeat(1_000);
    let request = request_with(&text, &json!({"response_format": "pcm", "stream_format": "audio", "sample_rate": 48_000}));
    let mut socket = TcpStream::connect(server.address()).expect("the server accepts");
    std::io::Write::write_all(&mut socket, &raw::post(PATH, request.to_string().as_bytes())).expect("the server reads");
    let mut first = [0; 12];
    socket.read_exact(&mut first).expect("the beginning of an answer");
    assert_eq!(&first, b"HTTP/1.1 200");
    let inside = || get(&server.url("/load")).json()["server_load"] == 0;
    assert!(wait_until(PATIENCE, inside), "it still holds its place");
    assert_eq!(Page::of(&server).sum("omni_host:connections_cut_total", &[("reason", "slow_reader")]), 1.0);
    speech::speak(&server, "Hello.");
}
