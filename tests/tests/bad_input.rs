//! What no client should send: each gets the error envelope, the right status and the name of the field, and leaves the server well.

use omni_tests::checks::{self, Baseline};
use omni_tests::http::{self, Answer};
use omni_tests::raw;
use omni_tests::server::Server;
use omni_tests::speech::{self, PATH, ask, request, request_with};
use serde_json::{Value, json};
use ureq::http::Method;

fn server() -> &'static Server {
    Server::shared()
}

/// Sends a good request with other fields and checks that it is refused.
fn refused(change: &Value, status: u16, names: &str) -> String {
    eprintln!("sending {change}");
    checks::error(&ask(server(), &request_with("A good sentence.", change)), status, names)
}

#[test]
fn a_text_with_nothing_to_speak_is_refused_and_the_input_named() {
    let empty = ["", " ", "\n\t \r\n", "\u{A0}\u{3000}", "\u{200B}\u{FEFF}"];
    let marks = ["…", "—", "*", "()", ".", "!?!?", "\"\"", "---"];
    let emoji = ["😀", "👩‍👩‍👧‍👦 🎉", "❤️", "🇩🇪"];
    let controls = ["\u{0}", "\u{1}\u{7}\u{1b}"];
    for text in empty.iter().chain(&marks).chain(&emoji).chain(&controls) {
        refused(&json!({"input": text}), 400, "input");
    }
}

#[test]
fn a_text_in_another_script_is_refused_and_script_and_language_named() {
    for (text, script) in [("你好，世界", "Han"), ("Привет, мир", "Cyrillic"), ("مرحبا بالعالم", "Arabic"), ("नमस्ते दुनिया", "Devanagari")]
    {
        let message = refused(&json!({"input": text}), 400, "input");
        assert!(message.contains(script) && message.contains("English"), "{script} and the language are not named: {message}");
    }
}

#[test]
fn an_unknown_voice_is_a_fault_of_the_request_and_an_unknown_model_is_not_found() {
    refused(&json!({"voice": "nobody"}), 400, "voice");
    refused(&json!({"voice": {"id": "nobody"}}), 400, "voice");
    let message = refused(&json!({"model": "no-such-model"}), 404, "model");
    assert!(message.contains("no-such-model"), "the model asked for is not named: {message}");
}

#[test]
fn fields_of_the_wrong_type_are_named() {
    for input in [json!(5), json!(null), json!(true), json!(["a"]), json!({"text": "a"})] {
        refused(&json!({"input": input}), 400, "input");
    }
    for (field, wrong) in [
        ("voice", json!(5)),
        ("voice", json!({"name": "heart"})),
        ("voice", json!(["heart"])),
        ("model", json!(5)),
        ("response_format", json!(5)),
        ("response_format", json!(null)),
        ("speed", json!("fast")),
        ("speed", json!([1.0])),
        ("seed", json!("lucky")),
        ("seed", json!(1.5)),
        ("stream", json!("maybe")),
        ("stream_format", json!(5)),
    ] {
        refused(&json!({field: wrong}), 400, field);
    }
}

#[test]
fn values_out_of_range_are_named() {
    for (field, wrong) in [
        ("speed", json!(0.0)),
        ("speed", json!(0.24)),
        ("speed", json!(4.01)),
        ("speed", json!(-1)),
        ("seed", json!(9_223_372_036_854_775_808_u64)),
        ("seed", json!(1e300)),
        ("response_format", json!("ogg")),
        ("response_format", json!("MP3")),
        ("stream_format", json!("foo")),
    ] {
        refused(&json!({field: wrong}), 400, field);
    }
}

#[test]
fn an_unknown_format_is_answered_with_the_list_of_formats() {
    let message = refused(&json!({"response_format": "ogg"}), 400, "response_format");
    assert!(message.contains("wav") && message.contains("pcm"), "the formats are not listed: {message}");
}

#[test]
fn an_unknown_kind_of_stream_is_refused_by_name_rather_than_answered_with_something_else() {
    refused(&json!({"stream_format": "foo"}), 400, "stream_format");
    refused(&json!({"stream": "perhaps"}), 400, "stream");
}

#[test]
fn a_body_that_is_no_json_object_is_refused() {
    let deep = [vec![b'['; 100_000], vec![b']'; 100_000]].concat();
    let bodies: [(&[u8], &str); 12] = [
        (b"", ""),
        (b"{", "json"),
        (b"{\"input\": \"Hello\"", "json"),
        (b"{\"input\":}", "json"),
        (b"{\"input\": \"Hello\"} trailing", "json"),
        (b"{\"input\": \"a\nb\"}", "json"),
        (b"{\"input\": \"Hello\", \"speed\": NaN}", "json"),
        (b"{\"input\": \"\\ud800\"}", "json"),
        (b"{\"input\": \"Hello \\udc00 there\"}", "json"),
        (b"{\"input\": \"\xff\xfe\"}", ""),
        (b"[\"Hello\"]", "object"),
        (&deep, ""),
    ];
    for (body, names) in bodies {
        eprintln!("sending {:.80}", String::from_utf8_lossy(body));
        checks::error(&http::post(&server().url(PATH), body), 400, names);
    }
    checks::error(&http::post(&server().url(PATH), b"{}"), 400, "input");
}

#[test]
fn a_body_of_another_type_is_refused() {
    let body = request("Hello.").to_string();
    let send = |headers: &[(&str, &str)]| http::send(Method::POST, &server().url(PATH), headers, body.as_bytes());
    for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonp"] {
        checks::error(&send(&[("content-type", kind)]), 400, "application/json");
    }
    speech::check_good(&send(&[("content-type", "Application/JSON; charset=utf-8")]), "audio/wav");
}

#[test]
fn a_bad_body_says_what_was_expected_and_leaves_the_connection_usable() {
    let mut connection = server().connect();
    let mut send = |body: &[u8]| -> Answer {
        connection.send(&raw::post(PATH, body));
        connection.read_answer()
    };
    checks::error(&send(br#""{\"input\":\"Hello\"}""#), 400, "object");
    for broken in [&b"{\"input\": \"Hello\nthere\"}"[..], b"{\"input\":}"] {
        let answer = send(broken);
        let message = checks::error(&answer, 400, "json");
        let place = format!("{message} {}", answer.json()["error"]["param"]);
        assert!(place.bytes().any(|byte| byte.is_ascii_digit()), "the place is not named: {place}");
    }
    speech::check_good(&send(request("Hello.").to_string().as_bytes()), "audio/wav");
}

#[test]
fn ten_megabytes_of_text_are_refused_and_leave_nothing_behind() {
    let server = Server::start();
    let baseline = Baseline::of(&server);
    let text = "All work and no play. ".repeat(10 * 1024 * 1024 / 22);
    for _ in 0..2 {
        let mut connection = server.connect();
        connection.send_while_reading(raw::post(PATH, request(&text).to_string().as_bytes()));
        let answer = connection.read_answer();
        assert!(matches!(answer.status, 400 | 413), "{} {}", answer.status, answer.start());
        checks::error(&answer, answer.status, "");
    }
    baseline.check(&server);
}

#[test]
fn a_control_character_between_words_is_not_a_fault() {
    let clean = speech::speak(server(), "Hello world.");
    for text in ["Hello\u{0} world.", "Hello \u{7}world.", "Hello world.\u{0}"] {
        assert!(speech::speak(server(), text) == clean, "{text:?} is read differently");
    }
}

#[test]
fn fields_nobody_knows_and_nulls_that_mean_nothing_are_passed_over() {
    let plain = speech::wav_bytes(server(), &request("Hello."));
    for more in [json!({"who": "knows"}), json!({"model": null, "voice": null, "speed": null, "stream_format": null}), json!({"model": ""})]
    {
        assert!(speech::wav_bytes(server(), &request_with("Hello.", &more)) == plain, "{more} changes the answer");
    }
}

#[test]
fn no_bad_request_makes_the_server_panic() {
    let server = Server::start();
    let baseline = Baseline::of(&server);
    let bodies: [&[u8]; 5] = [b"", b"null", b"{\"input\": \"\\u0000\"}", b"{\"input\": \"\\ud83d\"}", b"\x00\x01\x02"];
    for body in bodies {
        let answer = http::post(&server.url(PATH), body);
        assert!((400..500).contains(&answer.status), "{:?}: {} {}", body, answer.status, answer.start());
    }
    baseline.check(&server);
    let log = server.log();
    assert!(!log.contains("panicked"), "{log}");
}
