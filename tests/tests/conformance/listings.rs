//! The listings: models, voices, and both in the shapes that Open WebUI reads.

use omni_tests::http;
use omni_tests::speech::check_good;
use serde_json::{Value, json};

use super::support::{asked, server, with};

fn list(path: &str) -> Value {
    let answer = http::get(&server().url(path));
    check_good(&answer, "application/json");
    answer.json()
}

#[test]
fn a_card_has_every_member_that_clients_read() {
    for path in ["/v1/models", "/openwebui/v1/models"] {
        let models = list(path);
        assert_eq!((&models["object"], models["data"].as_array().map(Vec::len)), (&json!("list"), Some(1)), "{path}");
        check_card(&models["data"][0]);
    }
    check_card(&list("/v1/models/hibari"));
}

fn check_card(card: &Value) {
    assert_eq!((&card["id"], &card["object"], &card["root"]), (&json!("hibari"), &json!("model"), &json!("hibari")), "{card}");
    assert!(card["created"].is_u64() && card["owned_by"].is_string(), "{card}");
    for member in ["parent", "max_model_len"] {
        assert_eq!(card.get(member), Some(&Value::Null), "{member} of {card}");
    }
    check_permission(&card["permission"][0]);
}

fn check_permission(permission: &Value) {
    assert!(permission["id"].as_str().is_some_and(|id| id.starts_with("modelperm-")), "{permission}");
    assert!(permission["created"].is_u64(), "{permission}");
    for (member, expected) in [
        ("object", json!("model_permission")),
        ("organization", json!("*")),
        ("group", Value::Null),
        ("allow_create_engine", json!(false)),
        ("allow_sampling", json!(true)),
        ("allow_logprobs", json!(true)),
        ("allow_search_indices", json!(false)),
        ("allow_view", json!(true)),
        ("allow_fine_tuning", json!(false)),
        ("is_blocking", json!(false)),
    ] {
        assert_eq!(permission.get(member), Some(&expected), "{member}");
    }
}

#[test]
fn voices_are_strings_in_order_and_every_one_speaks() {
    let voices = list("/v1/audio/voices");
    assert_eq!(voices["voices"], json!(["default", "heart"]));
    assert_eq!(voices["uploaded_voices"], json!([]));
    for name in voices["voices"].as_array().expect("a list") {
        check_good(&asked(&json!({"voice": name})), "audio/wav");
    }
}

#[test]
fn below_the_other_address_voices_are_objects() {
    let voices = list("/openwebui/v1/audio/voices")["voices"].clone();
    assert_eq!(voices, json!([{"id": "default", "name": "default"}, {"id": "heart", "name": "heart"}]));
}

#[test]
fn models_that_speak_are_objects_with_ids() {
    for path in ["/v1/audio/models", "/openwebui/v1/audio/models"] {
        let models = list(path)["models"].clone();
        assert!(models.as_array().is_some_and(|models| models.iter().all(|model| model["id"] == "hibari")), "{path}: {models}");
    }
}

#[test]
fn the_other_address_speaks_the_same() {
    for more in [json!({}), json!({"response_format": "pcm"}), json!({"stream": true}), json!({"stream_format": "audio"})] {
        let answer = http::post_json(&server().url("/openwebui/v1/audio/speech"), &with(&more));
        assert!(answer.body == asked(&more).body, "{more}: {}", answer.start());
    }
    let refused = http::post_json(&server().url("/openwebui/v1/audio/speech"), &with(&json!({"speed": 9})));
    assert_eq!(refused.json(), asked(&json!({"speed": 9})).json());
}

#[test]
fn the_state_of_the_server_is_told() {
    assert_eq!(list("/health"), json!({"status": "healthy"}));
    assert_eq!(list("/ready")["status"], "ready");
    assert_eq!(list("/ready")["models"][0]["model"], "hibari");
    assert!(list("/version")["version"].is_string());
}
