//! Traces: a real collector gets the spans of a request, below the client's own, and a bad one changes nothing.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::process::{Child, ChildStdout, Stdio};

use omni_tests::artifacts::sine_and;
use omni_tests::http;
use omni_tests::python::Python;
use omni_tests::server::Server;
use omni_tests::speech::{self, PATH, request, request_with};
use serde_json::{Value, json};
use ureq::http::Method;

const COLLECTOR: &str = include_str!("../../python/collector.py");
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

/// A collector in a process of its own.
struct Collector {
    process: Child,
    output: BufReader<ChildStdout>,
    endpoint: String,
}

impl Collector {
    fn start() -> Self {
        let mut command = Python::ready().command();
        let command = command.args(["-c", COLLECTOR]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("Python runs");
        let mut output = BufReader::new(process.stdout.take().expect("its output is a pipe"));
        let mut port = String::new();
        output.read_line(&mut port).expect("its port");
        Self { process, output, endpoint: format!("http://127.0.0.1:{}", port.trim()) }
    }

    /// Ends it and gives the spans that it got.
    fn spans(mut self) -> Vec<Value> {
        drop(self.process.stdin.take());
        let mut report = String::new();
        self.output.read_to_string(&mut report).expect("its report");
        assert!(self.process.wait().expect("it ends").success());
        serde_json::from_str(&report).expect("JSON")
    }
}

/// Speaks within the client's trace.
fn speak_traced(server: &Server, request: &Value) {
    let traceparent = format!("00-{TRACE}-{PARENT}-01");
    let headers = [("content-type", "application/json"), ("traceparent", traceparent.as_str())];
    let answer = http::send(Method::POST, &server.url(PATH), &headers, request.to_string().as_bytes());
    assert_eq!(answer.status, 200, "{}", answer.start());
}

fn named<'a>(spans: &'a [Value], name: &str) -> Vec<&'a Value> {
    spans.iter().filter(|span| span["name"] == name).collect()
}

#[test]
fn a_collector_sees_a_request_through_admission_each_stage_and_encoding() {
    let collector = Collector::start();
    let endpoint = collector.endpoint.clone();
    let mut server =
        Server::start_within(&sine_and(&[]), &[("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint), ("HTTP_PROXY", "http://127.0.0.1:9")]);
    speak_traced(&server, &request("Hello there."));
    speak_traced(&server, &request_with("Hello there.", &json!({"stream": true, "response_format": "pcm"})));
    // What has not been sent yet is sent at the end.
    server.ask_to_end();
    assert_eq!(server.wait_for_end().code(), Some(0), "{}", server.log());
    let spans = collector.spans();
    let ours: Vec<Value> = spans.iter().filter(|span| span["trace"] == TRACE).cloned().collect();
    let requests = named(&ours, &format!("POST {PATH}"));
    assert_eq!(requests.len(), 2, "{ours:?}");
    requests.into_iter().for_each(|request| check_request(&ours, request));
    // Neither the probes' answers nor anything else brings spans of other kinds: the exporter is not traced itself.
    let known: BTreeSet<&str> = ["admission", "stage", "encode"].into();
    let is_known = |name: &str| known.contains(name) || name.starts_with("POST /v1") || name.starts_with("GET /");
    assert!(spans.iter().all(|span| is_known(span["name"].as_str().expect("a name"))), "{spans:?}");
    assert!(spans.iter().all(|span| span["service"] == "omni-host" && span["events"] == 0), "{spans:?}");
}

fn check_request(spans: &[Value], request: &Value) {
    let attributes = &request["attributes"];
    let told = json!([request["parent"], request["kind"], attributes["http.route"], attributes["http.response.status_code"]]);
    assert_eq!(told, json!([PARENT, 2, PATH, 200]), "{request}");
    let parts: Vec<Value> = spans.iter().filter(|span| span["parent"] == request["id"]).cloned().collect();
    assert_eq!((named(&parts, "admission").len(), named(&parts, "encode").len()), (1, 1), "{parts:?}");
    let stages = named(&parts, "stage");
    let places: BTreeSet<&str> = stages.iter().map(|stage| stage["attributes"]["stage"].as_str().expect("a stage")).collect();
    assert_eq!((stages.len(), places), (2, ["0", "1"].into()), "{parts:?}");
    assert!(
        stages.iter().all(|stage| stage["attributes"]["model"] == "sine" && stage["attributes"]["units"].as_i64() > Some(0)),
        "{stages:?}"
    );
    let time = |span: &Value, end: &str| span[end].as_u64().expect("a time");
    for part in &parts {
        assert!(time(part, "start") >= time(request, "start") && time(part, "end") <= time(request, "end"), "{part} in {request}");
    }
}

#[test]
fn a_collector_that_never_answers_holds_nothing_up() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let endpoint = format!("http://{}/v1/traces", silent.local_addr().expect("its address"));
    let mut server = Server::start_with(&sine_and(&["--otlp-traces-endpoint", &endpoint]));
    for _ in 0..20 {
        speech::speak(&server, "Hello.");
    }
    server.ask_to_end();
    assert_eq!(server.wait_for_end().code(), Some(0), "{}", server.log());
}
