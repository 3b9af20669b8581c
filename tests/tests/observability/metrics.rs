//! The page for Prometheus: what is promised is there, with the right figures, and nothing that a client chose.

use std::collections::BTreeSet;
use std::thread;

use omni_tests::artifacts::{self, sine_and};
use omni_tests::http::{self, get};
use omni_tests::page::{Page, promised};
use omni_tests::sentences::long_text;
use omni_tests::server::{Server, wait_until};
use omni_tests::speech::{self, PATH, Stream, ask, request, request_with};
use serde_json::{Value, json};
use ureq::http::Method;

const DASHBOARD: &str = include_str!("../../../deploy/grafana/omni-host.json");
const TEXT: &str = "Nine words are spoken here, more or less, today.";
const SINE: (&str, &str) = ("model_name", "sine");

/// Requests of every kind: whole, streamed, to two models, wrong, cut off by their client, and to places that do not exist.
fn exercise(server: &Server) {
    for model in ["sine", "hibari"] {
        let of_model = |more: Value| {
            let mut request = request_with(TEXT, &more);
            request["model"] = json!(model);
            request
        };
        speech::speak_request(server, &of_model(json!({})));
        Stream::open(server, &of_model(json!({"response_format": "pcm"}))).pieces();
        let events = ask(server, &of_model(json!({"stream": true, "response_format": "pcm"})));
        assert_eq!(events.status, 200, "{}", events.start());
    }
    for wrong in [json!({"model": "evil-model"}), json!({"voice": "evil-voice"}), json!({"response_format": "evil-format"})] {
        assert!(matches!(ask(server, &request_with("Hello.", &wrong)).status, 400 | 404));
    }
    http::send(Method::GET, &server.url("/v1/evil-path"), &[("x-request-id", "evil-id"), ("authorization", "Bearer evil-key")], b"");
    http::send(Method::GET, &server.url("/v1/models/evil-model"), &[], b"");
    let text = long_text(200);
    drop(Stream::open(server, &request_with(&text, &json!({"model": "hibari", "response_format": "pcm"}))));
}

fn server() -> Server {
    let hibari = artifacts::plugin("hibari");
    Server::start_with(&sine_and(&["--plugin", hibari.to_str().expect("a plain path")]))
}

#[test]
fn the_page_holds_what_is_promised_and_nothing_that_a_client_chose() {
    let server = server();
    exercise(&server);
    let is_left = || Page::of(&server).sum("vllm_omni:requests_failed_total", &[("reason", "client_disconnect")]) == 1.0;
    assert!(wait_until(http::PATIENCE, is_left), "the client that left was not counted");
    let page = Page::of(&server);
    check_names(&page);
    check_figures(&page);
    assert!(!page.text().contains("evil"), "{}", page.text());
}

fn check_names(page: &Page) {
    let promised = promised();
    for (name, family) in page.families() {
        let (kind, labels) = promised.get(name).unwrap_or_else(|| panic!("{name} is on the page and not in docs/metrics.md"));
        assert_eq!(family["type"], *kind, "{name}");
        assert!(family["about"].as_str().is_some_and(|about| !about.is_empty()), "{name} is not described");
        for sample in family["samples"].as_array().expect("a list") {
            let found: BTreeSet<&str> = sample["labels"].as_object().expect("an object").keys().map(String::as_str).collect();
            let found: BTreeSet<&str> = found.into_iter().filter(|label| *label != "le").collect();
            assert_eq!(found, labels.iter().copied().collect(), "{name}");
        }
    }
    let shown: BTreeSet<&str> = page.families().map(|(name, _)| name).collect();
    let by_chance = ["omni_host:cache_", "omni_host:plugin_observed", "omni_host:plugin_level", "vllm_omni:audio_skipped_requests_total"];
    let missing: Vec<_> = promised.keys().filter(|name| !shown.contains(*name)).collect();
    assert!(missing.iter().all(|name| by_chance.iter().any(|prefix| name.starts_with(prefix))), "not on the page: {missing:?}");
}

fn check_figures(page: &Page) {
    for model in ["sine", "hibari"] {
        let of = ("model_name", model);
        assert_eq!(page.sum("vllm_omni:requests_success_total", &[of, ("finished_reason", "stop")]), 3.0, "{model}");
        assert_eq!(page.sum("vllm_omni:audio_ttfp_s_count", &[of]), 3.0, "{model}");
        assert_eq!(page.sum("vllm_omni:audio_rtf_count", &[of]), 3.0, "{model}");
        assert_eq!(page.sum("vllm_omni:speech_stream_completed_total", &[of]), 2.0, "{model}");
        assert!(page.sum("vllm_omni:audio_duration_s_sum", &[of]) > 3.0, "{model}");
        assert!(page.sum("vllm_omni:prompt_tokens_total", &[of]) > 0.0, "{model}");
        assert!(page.sum("omni_host:stage_step_seconds_count", &[of, ("stage", "0")]) >= 3.0, "{model}");
    }
    // The two stages of one family, and all its steps of one request each.
    assert_eq!(page.sum("vllm:request_success_total", &[SINE, ("stage", "0")]), 3.0);
    assert_eq!(page.sum("vllm:request_success_total", &[SINE, ("stage", "1")]), 3.0);
    assert_eq!(page.sum("vllm_omni:e2e_request_latency_s_bucket", &[SINE, ("le", "+Inf")]), 3.0);
    let said = "Nine words are spoken here, more or less, today.".chars().filter(|char| char.is_alphanumeric()).count() as f64;
    assert_eq!(page.sum("omni_host:plugin_count_total", &[SINE, ("name", "characters")]), 3.0 * said);
    assert_eq!(page.sum("omni_host:models", &[("state", "ready")]), 2.0);
    assert_eq!(page.sum("vllm_omni:speech_stream_aborted_total", &[("reason", "closed")]), 1.0);
    assert_eq!(page.sum("omni_host:http_requests_total", &[("route", PATH), ("status", "200")]), 7.0);
    assert_eq!(page.sum("omni_host:http_requests_total", &[("route", PATH), ("status", "400")]), 2.0);
    assert_eq!(page.sum("omni_host:http_requests_total", &[("route", "unknown"), ("status", "404")]), 1.0);
    assert_eq!(page.sum("omni_host:http_requests_total", &[("route", "/v1/models/{*id}"), ("status", "404")]), 1.0);
    assert!(page.sum("omni_host:http_response_bytes_total", &[("route", PATH)]) > 100_000.0);
    assert!(page.sum("process_resident_memory_bytes", &[]) > 1e6);
}

#[test]
fn figures_hold_while_many_speak_and_nothing_stays_behind() {
    let server = Server::start_with(&sine_and(&["--max-queue", "4"]));
    let text = long_text(2);
    let ask_one = || ask(&server, &request(&text)).status;
    let statuses: Vec<u16> = thread::scope(|scope| {
        let asking: Vec<_> = (0..60).map(|_| scope.spawn(ask_one)).collect();
        for _ in 0..5 {
            let page = Page::of(&server);
            assert!(page.sum("vllm_omni:num_requests_waiting", &[SINE]) <= 4.0);
        }
        asking.into_iter().map(|asked| asked.join().expect("an answer")).collect()
    });
    let count = |status| statuses.iter().filter(|other| **other == status).count() as f64;
    assert_eq!(count(200) + count(429), 60.0, "{statuses:?}");
    let is_quiet = || Page::of(&server).sum("omni_host:http_requests_in_flight", &[]) == 1.0;
    assert!(wait_until(http::PATIENCE, is_quiet), "requests in flight are left although only the page was asked for");
    let page = Page::of(&server);
    assert_eq!(page.sum("vllm_omni:requests_success_total", &[SINE]), count(200));
    assert_eq!(page.sum("omni_host:requests_refused_total", &[("reason", "queue_full")]), count(429));
    assert_eq!(page.sum("vllm_omni:num_requests_running", &[]) + page.sum("vllm_omni:num_requests_waiting", &[]), 0.0);
    assert_eq!(page.sum("vllm:num_requests_waiting", &[]), 0.0);
    assert_eq!(get(&server.url("/load")).json(), json!({"server_load": 0}));
}

#[test]
fn a_server_that_measures_nothing_has_an_empty_page_and_speaks() {
    let server = Server::start_with(&sine_and(&["--disable-log-stats"]));
    speech::speak(&server, "Hello.");
    assert_eq!(Page::of(&server).families().count(), 0);
}

#[test]
fn the_dashboard_shows_only_what_is_measured() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).expect("JSON");
    let mut queries = Vec::new();
    collect(&dashboard, "expr", &mut queries);
    assert!(queries.len() >= 15, "{} queries", queries.len());
    let promised = promised();
    let used: BTreeSet<String> = queries.iter().flat_map(|query| names_in(query)).collect();
    for name in &used {
        let family = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        let (kind, _) = promised.get(family).unwrap_or_else(|| panic!("nobody measures {name}"));
        assert_eq!(family != name, *kind == "histogram", "{name} is a {kind}");
    }
    assert!(used.len() >= 20, "{used:?}");
}

/// Every string under this key, however deep.
fn collect(value: &Value, key: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, member)| match member {
            Value::String(text) if name == key => found.push(text.clone()),
            other => collect(other, key, found),
        }),
        Value::Array(items) => items.iter().for_each(|item| collect(item, key, found)),
        _ => {}
    }
}

/// Names of metrics in a query: the words with a colon in them, and the process's.
fn names_in(query: &str) -> Vec<String> {
    let words = query.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_' || letter == ':'));
    words.filter(|word| word.contains("omni_host:") || word.contains("vllm") || word.starts_with("process_")).map(str::to_owned).collect()
}
