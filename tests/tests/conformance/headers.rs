//! Headers: request ids, other origins, caches, lengths and counts of tokens.

use omni_tests::http::{self, Answer};
use omni_tests::speech::{self, PATH};
use serde_json::{Value, json};
use ureq::http::Method;

use super::support::{asked, server, with};

const EXPOSED: [&str; 9] = [
    "x-request-id",
    "x-sample-rate",
    "x-finish-reason",
    "retry-after",
    "x-vllm-omni-input-tokens",
    "x-vllm-omni-output-tokens",
    "x-vllm-omni-total-tokens",
    "x-vllm-omni-input-text-tokens",
    "x-vllm-omni-input-audio-tokens",
];
/// A good path, one that is not there, and one that takes another method.
const PATHS: [&str; 4] = ["/health", "/v1/models", "/nothing", PATH];

fn get_with(path: &str, name: &str, value: &str) -> Answer {
    http::send(Method::GET, &server().url(path), &[(name, value)], b"")
}

fn id(answer: &Answer) -> String {
    answer.header("x-request-id").expect("every answer has an id").to_owned()
}

fn is_fresh(id: &str) -> bool {
    id.strip_prefix("speech-").is_some_and(|hex| hex.len() == 16 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')))
}

#[test]
fn a_request_id_comes_back_on_every_answer() {
    let longest = "a".repeat(128);
    for path in PATHS {
        for sent in ["trace-7", "0", "Root=1-67891233-abcdef012345678912345678", "with spaces / and: marks", &longest] {
            assert_eq!(id(&get_with(path, "x-request-id", sent)), sent, "{path}");
        }
    }
    let headers = [("content-type", "application/json"), ("x-request-id", "mine")];
    for more in [json!({}), json!({"stream": true}), json!({"stream_format": "audio"}), json!({"speed": 9}), json!({"model": "nope"})] {
        let answer = http::send(Method::POST, &server().url(PATH), &headers, with(&more).to_string().as_bytes());
        assert_eq!(id(&answer), "mine", "{more}");
    }
}

#[test]
fn without_a_sane_id_there_is_a_fresh_one() {
    let too_long = "a".repeat(129);
    for path in PATHS {
        assert!(is_fresh(&id(&http::get(&server().url(path)))), "{path}");
        for sent in ["", &too_long, "tab\tinside"] {
            assert!(is_fresh(&id(&get_with(path, "x-request-id", sent))), "{path}: {sent:?}");
        }
    }
    assert!(is_fresh(&id(&asked(&json!({})))) && is_fresh(&id(&asked(&json!({"stream": true})))));
}

fn preflight(path: &str, method: &str, headers: &str) -> Answer {
    let asked =
        [("origin", "https://page.example"), ("access-control-request-method", method), ("access-control-request-headers", headers)];
    http::send(Method::OPTIONS, &server().url(path), &asked, b"")
}

#[test]
fn a_page_of_any_origin_may_ask() {
    for (path, method) in [(PATH, "POST"), ("/v1/audio/speech/batch", "POST"), ("/v1/models", "GET"), ("/v1/audio/voices", "DELETE")] {
        for headers in ["content-type", "authorization,content-type", "x-stainless-os,x-request-id"] {
            let answer = preflight(path, method, headers);
            let value = |name: &str| answer.header(name).unwrap_or_default().to_lowercase();
            assert!(matches!(answer.status, 200 | 204), "{path}: {}", answer.status);
            assert_eq!(value("access-control-allow-origin"), "*", "{path}");
            assert!(value("access-control-allow-methods").contains(&method.to_lowercase()), "{path}: {:?}", answer.headers);
            assert_eq!(value("access-control-allow-headers"), headers, "{path}");
            assert_eq!(answer.header("access-control-allow-credentials"), None, "{path}");
            assert!(answer.body.is_empty(), "{path}: {}", answer.start());
        }
    }
}

#[test]
fn a_page_may_read_our_headers_on_every_answer() {
    for (what, answer) in [
        ("audio", asked(&json!({}))),
        ("events", asked(&json!({"stream": true}))),
        ("a refusal", asked(&json!({"speed": 9}))),
        ("nothing there", http::get(&server().url("/nothing"))),
        ("a wrong method", http::get(&server().url(PATH))),
        ("a list", http::get(&server().url("/v1/models"))),
    ] {
        let exposed = answer.header("access-control-expose-headers").unwrap_or_default();
        let missing: Vec<&str> = EXPOSED.into_iter().filter(|name| !exposed.split(',').any(|other| other.trim() == *name)).collect();
        assert!(missing.is_empty(), "{what}: {missing:?} are not exposed");
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{what}");
    }
}

#[test]
fn a_stream_is_not_kept_and_has_no_length_and_no_counts() {
    for format in ["wav", "pcm", "mp3", "flac", "opus", "aac"] {
        for stream in ["audio", "sse"] {
            let answer = asked(&json!({"response_format": format, "stream_format": stream}));
            assert_eq!(answer.status, 200, "{}", answer.start());
            assert_eq!(answer.header("cache-control"), Some("no-store"), "{format} {stream}");
            assert_eq!(answer.header("x-accel-buffering"), Some("no"), "{format} {stream}");
            assert_eq!(answer.header("transfer-encoding"), Some("chunked"), "{format} {stream}");
            assert_eq!(answer.header("content-length"), None, "{format} {stream}");
            assert_eq!(answer.header("x-vllm-omni-total-tokens"), None, "{format} {stream}");
            assert_eq!(answer.header("x-sample-rate").map(str::len), Some(5), "{format} {stream}");
        }
    }
}

/// The number in a header.
fn count(answer: &Answer, name: &str) -> u64 {
    answer.header(name).and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{name} is no number: {:?}", answer.headers))
}

#[test]
fn the_counts_of_a_complete_body_add_up() {
    for format in ["wav", "pcm", "mp3", "flac", "opus", "aac"] {
        let answer = asked(&json!({"response_format": format}));
        let text = count(&answer, "x-vllm-omni-input-text-tokens");
        let input = count(&answer, "x-vllm-omni-input-tokens");
        assert!(text > 0 && count(&answer, "x-vllm-omni-output-tokens") > 0, "{format}");
        assert_eq!(count(&answer, "x-vllm-omni-input-audio-tokens"), 0, "{format}: there is no clip");
        assert_eq!(input, text, "{format}");
        assert_eq!(count(&answer, "x-vllm-omni-total-tokens"), input + count(&answer, "x-vllm-omni-output-tokens"), "{format}");
        assert_eq!(answer.header("content-disposition"), None, "{format}");
        assert_eq!(count(&answer, "content-length"), answer.body.len() as u64, "{format}");
    }
}

#[test]
fn more_text_has_more_tokens_and_events_count_the_same() {
    let (short, long) = (asked(&json!({})), asked(&json!({"input": "Hi there, my good old friend."})));
    for name in ["x-vllm-omni-input-tokens", "x-vllm-omni-output-tokens"] {
        assert!(count(&long, name) > count(&short, name), "{name}");
    }
    let events = asked(&json!({"stream": true})).text();
    let done = events.lines().rfind(|line| line.starts_with("data: ")).expect("a last event");
    let done: Value = serde_json::from_str(&done["data: ".len()..]).expect("JSON");
    assert_eq!(done["usage"]["total_tokens"], count(&short, "x-vllm-omni-total-tokens"));
    assert_eq!(done["usage"]["input_token_details"]["text_tokens"], count(&short, "x-vllm-omni-input-text-tokens"));
}

#[test]
fn every_answer_in_json_has_a_true_length() {
    for path in ["/health", "/ready", "/version", "/v1/models", "/v1/models/hibari", "/v1/audio/models", "/v1/audio/voices"] {
        speech::check_good(&http::get(&server().url(path)), "application/json");
    }
    for answer in [http::get(&server().url("/nothing")), asked(&json!({"speed": 9})), asked(&json!({"model": "nope"}))] {
        assert_eq!(answer.header("content-length"), Some(answer.body.len().to_string().as_str()));
    }
}
