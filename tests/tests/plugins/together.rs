//! Two families from two libraries in one host.

use std::sync::OnceLock;
use std::thread;

use omni_tests::artifacts::plugin;
use omni_tests::http;
use omni_tests::server::Server;
use omni_tests::speech::{Stream, ask, request_with};
use omni_tests::wav::Wav;
use omni_tests::{asr, checks};
use serde_json::json;

use super::support::{frequency_hz, listed, plugins, sound_of, states};

const TEXT: &str = "Rice is often served in round bowls.";

/// Sine first: it answers requests without a model.
fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| Server::start_with(&plugins(&[plugin("sine"), plugin("hibari")])))
}

#[test]
fn each_model_answers_under_its_name_and_the_first_without_one() {
    assert_eq!(listed(server()), ["sine", "hibari"]);
    assert!(states(server()).values().all(|state| state.state == "ready"), "{:?}", states(server()));
    let tone = sound_of(server(), "sine", TEXT, &json!({"pitch_hz": 1000}));
    assert!((850.0..1150.0).contains(&frequency_hz(&tone)), "{} Hz", frequency_hz(&tone));
    let heard = asr::hear(&sound_of(server(), "hibari", TEXT, &json!({})));
    assert!(heard.iter().any(|word| word.eq_ignore_ascii_case("served")), "{heard:?}");
    let without = ask(server(), &request_with(TEXT, &json!({})));
    let with = ask(server(), &request_with(TEXT, &json!({"model": "sine"})));
    assert!(without.status == 200 && without.body == with.body, "the first model is not the default");
}

#[test]
fn they_do_not_disturb_each_other() {
    let alone = [sound_of(server(), "sine", TEXT, &json!({})), sound_of(server(), "hibari", TEXT, &json!({}))];
    thread::scope(|scope| {
        let names = ["sine", "hibari", "sine", "hibari", "sine", "sine"];
        let speak = |name: &'static str| scope.spawn(move || (name, sound_of(server(), name, TEXT, &json!({}))));
        for speaking in names.map(speak) {
            let (name, wav) = speaking.join().expect("an answer");
            assert!(alone.contains(&wav), "{name} sounds otherwise beside others");
        }
    });
}

#[test]
fn fields_and_voices_are_those_of_the_model_that_is_asked() {
    let refused = |more, names| checks::error(&ask(server(), &request_with(TEXT, &more)), 400, names);
    refused(json!({"model": "sine", "pitch_hz": 5}), "pitch_hz");
    refused(json!({"model": "sine", "pitch_hz": "high"}), "pitch_hz");
    refused(json!({"model": "sine", "voice": "heart"}), "voice");
    refused(json!({"model": "hibari", "voice": "low"}), "voice");
    let message = refused(json!({"model": "sine", "input": "& %"}), "input");
    assert!(message.contains("letter"), "the plugin's own words are lost: {message}");
}

#[test]
fn a_voice_a_speed_and_a_cap_reach_the_plugin() {
    let speak = |more| sound_of(server(), "sine", TEXT, &more);
    let (low, high) = (speak(json!({"voice": "LOW"})), speak(json!({"voice": {"id": "high"}})));
    assert!(frequency_hz(&low) * 3.0 < frequency_hz(&high), "{} and {} Hz", frequency_hz(&low), frequency_hz(&high));
    let (plain, fast) = (speak(json!({})).seconds(), speak(json!({"speed": 2})).seconds());
    assert!((1.8..2.2).contains(&(plain / fast)), "{plain} s and {fast} s");
    assert_eq!(speak(json!({"max_new_tokens": 10})).samples.len(), 19_200);
}

#[test]
fn a_stream_of_a_plugin_is_the_whole_in_pieces() {
    let fields = json!({"model": "sine", "response_format": "pcm"});
    let pieces = Stream::open(server(), &request_with(TEXT, &fields)).pieces();
    let streamed = Wav::from_pcm(&pieces.concat(), 24_000).expect("whole samples");
    assert!(pieces.len() > 1, "one piece is no stream");
    assert!(streamed.samples == sound_of(server(), "sine", TEXT, &json!({})).samples, "stream and file differ");
}

#[test]
fn the_card_of_a_model_names_its_plugin() {
    let card = http::get(&server().url("/v1/models/sine")).json();
    assert_eq!(card["plugin"]["name"], "sine");
    assert_eq!(card["plugin"]["file"], "libsine.so");
    assert_eq!(card["plugin"]["build"].as_str().map(str::len), Some(16), "{card}");
    assert_eq!(card["request_schema"]["properties"]["pitch_hz"]["maximum"], 4000.0);
    assert_eq!(http::get(&server().url("/v1/models/nobody")).status, 404);
}

#[test]
fn a_speed_that_a_family_lacks_is_made_by_the_host() {
    let server = Server::start_with(&plugins(&[plugin("hostile")]));
    let length = |more: serde_json::Value| {
        let sound = sound_of(&server, "hostile", "Be good.", &more);
        assert!(frequency_hz(&sound) > 0.0);
        sound.samples.len()
    };
    let plain = length(json!({}));
    assert_eq!(length(json!({"speed": 2})), plain / 2);
    assert_eq!(length(json!({"speed": 0.5})), plain * 2);
}
