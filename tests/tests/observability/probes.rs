//! Readiness: what each stage of a model does.

use omni_tests::artifacts::sine_and;
use omni_tests::http::get;
use omni_tests::server::Server;
use omni_tests::speech;
use serde_json::json;

#[test]
fn readiness_tells_what_each_stage_does() {
    let server = Server::start_with(&sine_and(&[]));
    speech::speak(&server, "Hello.");
    let ready = get(&server.url("/ready")).json();
    assert_eq!(ready["status"], "ready", "{ready}");
    let model = &ready["models"][0];
    assert_eq!((&model["model"], &model["load"]["running"], &model["load"]["waiting"]), (&json!("sine"), &json!(0), &json!(0)), "{ready}");
    let stages = model["stages"].as_array().expect("a list");
    let places: Vec<_> = stages.iter().map(|stage| (stage["stage"].as_u64(), stage["replica"].as_u64())).collect();
    assert_eq!(places, [(Some(0), Some(0)), (Some(1), Some(0))], "{ready}");
    assert!(stages.iter().all(|stage| stage["call"].is_null() && stage["quiet_ms"].is_u64() && stage["name"].is_string()), "{ready}");
}
