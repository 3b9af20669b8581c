//! The batch endpoint: an item is the same request alone, in every respect; a batch is refused whole or answered in full.

use std::thread;
use std::time::Duration;

use omni_tests::artifacts::plugin;
use omni_tests::base64;
use omni_tests::checks::{self, Baseline};
use omni_tests::http::{self, Answer};
use omni_tests::raw;
use omni_tests::sentences::{SENTENCES, long_text};
use omni_tests::server::{Server, wait_until};
use omni_tests::speech::{self, Stream, ask};
use serde_json::{Value, json};

const PATH: &str = "/v1/audio/speech/batch";
const TEXT: &str = "The juice of lemons makes fine punch.";
/// How long a state may take to come. Not a measure of speed: a guard against a hang.
const PATIENCE: Duration = Duration::from_secs(60);

fn server() -> &'static Server {
    Server::shared()
}

/// The fields of all objects; later ones win.
fn joined(objects: &[&Value]) -> Value {
    let mut all = json!({});
    for (name, value) in objects.iter().flat_map(|object| object.as_object().expect("fields are an object")) {
        all[name] = value.clone();
    }
    all
}

fn batch(server: &Server, fields: &Value, items: &[Value]) -> Answer {
    http::post_json(&server.url(PATH), &joined(&[fields, &json!({"items": items})]))
}

/// The document of an answer in full, checked for what every one has.
fn document(answer: &Answer) -> Value {
    speech::check_good(answer, "application/json");
    let document = answer.json();
    assert!(document["id"].as_str().is_some_and(|id| id.starts_with("speech-batch-") && id.len() == 29), "{}", document["id"]);
    let results = document["results"].as_array().expect("a list");
    let count = |status: &str| results.iter().filter(|result| result["status"] == status).count();
    assert_eq!(document["total"], results.len());
    assert_eq!((&document["succeeded"], &document["failed"]), (&json!(count("success")), &json!(count("error"))));
    assert!(results.iter().enumerate().all(|(index, result)| result["index"] == index), "the order of the items is lost");
    document
}

fn results(answer: &Answer) -> Vec<Value> {
    document(answer)["results"].as_array().expect("a list").clone()
}

/// Fails unless a result tells what the answer to the same request alone tells.
fn check_same(rule: &str, result: &Value, alone: &Answer) {
    if alone.status != 200 {
        let error = &alone.json()["error"];
        assert_eq!((&result["error"], &result["error_details"]), (&error["message"], error), "{rule}");
        assert!(result["audio_data"].is_null() && result["usage"].is_null(), "{rule}: {result}");
        return;
    }
    let shown = joined(&[result, &json!({"audio_data": "…"})]);
    assert_eq!(result["status"], "success", "{rule}: {shown}");
    assert!(base64::decode(result["audio_data"].as_str().expect("text")) == alone.body, "{rule}: other audio than alone");
    assert_eq!(result["media_type"].as_str(), alone.header("content-type"), "{rule}");
    let number = |name: &str| alone.header(name).and_then(|value| value.parse::<u64>().ok());
    assert_eq!(result["sample_rate"].as_u64(), number("x-sample-rate"), "{rule}");
    assert_eq!(result["finish_reason"].as_str(), alone.header("x-finish-reason"), "{rule}");
    for (member, header) in [
        ("/usage/input_tokens", "x-vllm-omni-input-tokens"),
        ("/usage/output_tokens", "x-vllm-omni-output-tokens"),
        ("/usage/total_tokens", "x-vllm-omni-total-tokens"),
        ("/usage/input_token_details/text_tokens", "x-vllm-omni-input-text-tokens"),
        ("/usage/input_token_details/audio_tokens", "x-vllm-omni-input-audio-tokens"),
    ] {
        assert_eq!(result.pointer(member).and_then(Value::as_u64), number(header), "{rule}: {member} of {shown}");
    }
}

#[test]
fn an_item_is_the_same_request_alone() {
    let seed = json!({"seed": speech::SEED});
    for (rule, fields, item, alone) in [
        ("what the batch says reaches an item", json!({"voice": "heart"}), json!({}), json!({"voice": "heart"})),
        ("an item may say all itself", json!({}), json!({"speed": 1.5, "voice": "heart"}), json!({"speed": 1.5, "voice": "heart"})),
        ("its own value wins", json!({"speed": 2, "seed": 1}), json!({"speed": 1, "seed": 7}), json!({"speed": 1, "seed": 7})),
        ("null leaves it to the batch", json!({"speed": 2}), json!({"speed": null, "voice": null}), json!({"speed": 2})),
        ("a format of its own", json!({"response_format": "wav"}), json!({"response_format": "pcm"}), json!({"response_format": "pcm"})),
        ("the format of the batch", json!({"response_format": "pcm"}), json!({"response_format": null}), json!({"response_format": "pcm"})),
        ("a compressed format", json!({}), json!({"response_format": "flac"}), json!({"response_format": "flac"})),
        ("a lossy format", json!({"response_format": "opus"}), json!({}), json!({"response_format": "opus"})),
        ("a voice as an object", json!({"voice": {"id": "heart"}}), json!({}), json!({"voice": "heart"})),
        ("a voice by its other name", json!({"voice": "nobody"}), json!({"speaker": "heart"}), json!({"voice": "heart"})),
        ("no voice in particular", json!({}), json!({"voice": "default"}), json!({})),
        ("one of the known names", json!({"voice": "alloy"}), json!({}), json!({"voice": "alloy"})),
        ("a model of its own", json!({}), json!({"model": "hibari"}), json!({"model": "hibari"})),
        ("markup kept", json!({"text_cleanup": false}), json!({"input": "a **b**"}), json!({"input": "a **b**", "text_cleanup": false})),
        ("streaming means nothing", json!({"stream": true}), json!({"stream_format": "sse", "stream": 5}), json!({})),
        ("unknown fields mean nothing", json!({"glow": 1}), json!({"warmth": [2]}), json!({})),
        ("a rate", json!({"sample_rate": 8001}), json!({}), json!({"sample_rate": 8001})),
        ("nothing to speak", json!({}), json!({"input": "…"}), json!({"input": "…"})),
        ("an empty text", json!({}), json!({"input": ""}), json!({"input": ""})),
        ("a voice that nobody has", json!({"voice": "nobody"}), json!({}), json!({"voice": "nobody"})),
        ("a model that is not there", json!({}), json!({"model": "no-such-model"}), json!({"model": "no-such-model"})),
        ("a voice to clone", json!({"ref_audio": "data:,"}), json!({}), json!({"ref_audio": "data:,"})),
        ("times of words", json!({"word_timestamps": true}), json!({}), json!({"word_timestamps": true})),
        ("references", json!({}), json!({"references": [{"audio_path": "x"}]}), json!({"ref_audio": "x"})),
    ] {
        let text = json!({"input": TEXT});
        let alone = ask(server(), &joined(&[&text, &seed, &alone]));
        let results = results(&batch(server(), &joined(&[&seed, &fields]), &[joined(&[&text, &item])]));
        assert_eq!(results.len(), 1, "{rule}");
        check_same(rule, &results[0], &alone);
    }
}

#[test]
fn a_fault_refuses_the_whole_batch_and_names_its_place() {
    let good = json!({"input": TEXT});
    let many = |count: usize| vec![good.clone(); count];
    for (body, param, names) in [
        (json!({}), "body.items", "Field required"),
        (json!({"items": []}), "body.items", "at least 1 item"),
        (json!({"items": "Hello."}), "body.items", "valid list"),
        (json!({"items": null}), "body.items", "valid list"),
        (json!({"items": ["Hello."]}), "body.items.0", "valid dictionary"),
        (json!({"items": [good, {}]}), "body.items.1.input", "Field required"),
        (json!({"items": [good, good, {"input": 5}]}), "body.items.2.input", "valid string"),
        (json!({"items": [{"input": null}]}), "body.items.0.input", "valid string"),
        (json!({"items": [{"input": "a", "speed": 9}]}), "body.items.0.speed", "less than or equal to 4"),
        (json!({"items": [{"input": "a", "response_format": "WAV"}]}), "body.items.0.response_format", "Input should be"),
        (json!({"items": [{"input": "a", "voice": {}}]}), "body.items.0.voice", "must contain 'id'"),
        (json!({"items": [{"input": "a", "seed": 1.5}]}), "body.items.0.seed", "valid integer"),
        (json!({"items": [good], "speed": 0}), "body.speed", "greater than or equal to 0.25"),
        (json!({"items": [good], "voice": 5}), "body.voice", "valid string"),
        (json!({"items": many(33)}), "body.items", "Batch contains 33 items, exceeding the maximum of 32."),
    ] {
        let answer = http::post_json(&server().url(PATH), &body);
        checks::error(&answer, 400, names);
        assert_eq!((&answer.json()["error"]["param"], &answer.json()["error"]["type"]), (&json!(param), &json!("Bad Request")), "{body}");
    }
    checks::error(&batch(server(), &json!({"model": "no-such-model"}), std::slice::from_ref(&good)), 404, "no-such-model");
    checks::error(&http::post(&server().url(PATH), b"{\"items\": [}"), 400, "JSON decode error");
    checks::error(&http::post(&server().url(PATH), b"[]"), 400, "valid dictionary");
    let plain = http::send(ureq::http::Method::POST, &server().url(PATH), &[("content-type", "text/plain")], b"{}");
    checks::error(&plain, 400, "application/json");
    checks::error(&http::get(&server().url(PATH)), 405, "");
}

#[test]
fn some_items_fail_and_all_others_are_spoken() {
    let texts = ["One.", "", SENTENCES[0], "…", "Five is the last of them, and the longest of all, so that it is ready after all others."];
    let items: Vec<Value> = texts.iter().map(|text| json!({"input": text})).collect();
    let document = document(&batch(server(), &json!({"seed": speech::SEED}), &items));
    assert_eq!((&document["succeeded"], &document["failed"]), (&json!(3), &json!(2)));
    for (text, result) in texts.iter().zip(document["results"].as_array().expect("a list")) {
        check_same(text, result, &ask(server(), &json!({"input": text, "seed": speech::SEED})));
    }
    for member in ["/input_tokens", "/output_tokens", "/total_tokens", "/input_token_details/text_tokens"] {
        let of = |usage: &Value| usage.pointer(member).and_then(Value::as_u64).unwrap_or_default();
        let sum: u64 = document["results"].as_array().expect("a list").iter().map(|result| of(&result["usage"])).sum();
        assert!(sum > 0 && of(&document["usage"]) == sum, "{member}: {sum} and {}", document["usage"]);
    }
}

#[test]
fn a_batch_of_failures_only_is_still_an_answer() {
    let document = document(&batch(server(), &json!({"voice": "nobody"}), &[json!({"input": "a"}), json!({"input": "b"})]));
    assert_eq!((&document["succeeded"], &document["usage"]["total_tokens"]), (&json!(0), &json!(0)));
    assert_eq!(document["results"][1]["error_details"]["param"], "voice");
}

#[test]
fn a_batch_may_have_thirty_two_items() {
    let items: Vec<Value> = (0..32).map(|number| json!({"input": format!("Parcel {number}.")})).collect();
    let results = results(&batch(server(), &json!({"seed": speech::SEED}), &items));
    assert!(results.iter().all(|result| result["status"] == "success"));
    check_same("the last one", &results[31], &ask(server(), &json!({"input": "Parcel 31.", "seed": speech::SEED})));
}

/// A server with 64 places and nobody waiting, whose speech can be told to take as long as it sounds.
fn small_server() -> Server {
    let library = plugin("sine");
    let places_alone = ["--max-queue", "0", "--max-queued-audio-secs", "0"];
    Server::start_with(&[&["--plugin", library.to_str().expect("a plain path")], &places_alone[..]].concat())
}

/// Streams that hold a place each for as long as they live.
fn hold(server: &Server, places: usize) -> Vec<Stream> {
    let request = json!({"input": long_text(60), "response_format": "pcm", "pace": 1});
    thread::scope(|scope| {
        let opening: Vec<_> = (0..places).map(|_| scope.spawn(|| Stream::open(server, &request))).collect();
        opening.into_iter().map(|stream| stream.join().expect("a stream")).collect()
    })
}

#[test]
fn a_batch_is_refused_whole_without_a_place_and_needs_only_one() {
    let server = small_server();
    let fields = json!({"seed": speech::SEED, "pitch_hz": 300});
    let items: Vec<Value> = SENTENCES[..8].iter().map(|text| json!({"input": text})).collect();
    let alone: Vec<Answer> = items.iter().map(|item| ask(&server, &joined(&[&fields, item]))).collect();
    let mut held = hold(&server, 64);
    let refusal = batch(&server, &fields, &items);
    checks::error(&refusal, 429, "");
    assert!(refusal.header("retry-after").and_then(|seconds| seconds.parse::<u64>().ok()) >= Some(1), "{:?}", refusal.headers);
    held.pop();
    let mut answer = refusal;
    let is_let_in = wait_until(PATIENCE, || {
        answer = batch(&server, &fields, &items);
        answer.status != 429
    });
    assert!(is_let_in, "the place did not become free");
    for ((item, result), alone) in items.iter().zip(results(&answer)).zip(alone) {
        check_same(&item.to_string(), &result, &alone);
    }
    checks::error(&ask(&server, &json!({"input": "Hello.", "model": "nobody"})), 404, "nobody");
}

#[test]
fn all_items_of_a_client_that_leaves_are_forgotten() {
    let server = small_server();
    leave(&server, 4);
    let baseline = Baseline::of(&server);
    leave(&server, 8);
    baseline.check(&server);
    assert!(!server.log().contains("panicked"), "{}", server.log());
}

/// Leaves a batch that has taken the four places which are free; so many of its items must have been told so by then.
fn leave(server: &Server, items_left: usize) {
    let held = hold(server, 60);
    let items: Vec<Value> = (0..8).map(|_| json!({"input": long_text(60)})).collect();
    let mut leaver = server.connect();
    leaver.send(&raw::post(PATH, json!({"items": items, "pace": 1}).to_string().as_bytes()));
    let is_full = || ask(server, &json!({"input": "Hello."})).status == 429;
    assert!(wait_until(PATIENCE, is_full), "the batch does not take the four places that are free");
    drop(leaver);
    let left = || server.log().lines().filter(|line| line.contains("client left") && line.contains("delivery=\"whole\"")).count();
    assert!(wait_until(PATIENCE, || left() == items_left && !is_full()), "{} of {items_left} items have ended", left());
    drop(held);
}

#[test]
fn a_server_that_is_asked_to_end_finishes_a_batch() {
    let mut server = Server::start();
    speech::speak(&server, TEXT);
    let items: Vec<Value> = (0..8).map(|_| json!({"input": long_text(4)})).collect();
    let before = server.cpu_ticks();
    let mut connection = server.connect();
    connection.send(&raw::post(PATH, json!({"items": items}).to_string().as_bytes()));
    assert!(wait_until(PATIENCE, || server.cpu_ticks() > before + 10), "the batch does not begin");
    server.ask_to_end();
    let results = results(&connection.read_answer());
    assert!(results.iter().all(|result| result["status"] == "success"), "the batch was cut");
    assert_eq!(server.wait_for_end().code(), Some(0), "{}", server.log());
}
