//! The caches of reference audio on the page for Prometheus: what they are asked, what they have, what they hold.

use omni_tests::artifacts::sine_and;
use omni_tests::page::Page;
use omni_tests::server::Server;
use omni_tests::speech::ask;
use omni_tests::upload::{Form, data_url, delete, tone};
use serde_json::{Value, json};

/// Hits, misses and bytes.
fn measured(server: &Server, cache: &str) -> [f64; 3] {
    let page = Page::of(server);
    ["omni_host:cache_hits_total", "omni_host:cache_misses_total", "omni_host:cache_bytes"].map(|name| page.sum(name, &[("cache", cache)]))
}

fn speak(server: &Server, fields: Value) {
    let mut request = json!({"input": "One.", "seed": 5});
    request.as_object_mut().expect("an object").extend(fields.as_object().expect("fields").clone());
    let answer = ask(server, &request);
    assert_eq!(answer.status, 200, "{}", answer.start());
}

#[test]
fn look_ups_and_bytes_are_counted_and_a_content_is_kept_once_whatever_it_is_called() {
    let server = Server::start_with(&sine_and(&[]));
    let clip = tone(330.0, 1.5, 24_000);
    let (url, bytes) = (data_url(&clip), 1.5 * 24_000.0 * 4.0);
    speak(&server, json!({"ref_audio": url}));
    let [hits, misses, vector_bytes] = measured(&server, "features");
    assert!(hits == 0.0 && misses == 1.0 && vector_bytes > 0.0, "{hits} {misses} {vector_bytes}");
    assert_eq!(measured(&server, "waveforms"), [0.0, 1.0, bytes]);

    speak(&server, json!({"ref_audio": url}));
    assert_eq!(measured(&server, "features"), [1.0, 1.0, vector_bytes]);
    assert_eq!(measured(&server, "waveforms"), [1.0, 1.0, bytes]);

    // Another transcript is another work on the same samples.
    speak(&server, json!({"ref_audio": url, "ref_text": "la"}));
    let [hits, misses, both_bytes] = measured(&server, "features");
    assert!(hits == 1.0 && misses == 2.0 && both_bytes > vector_bytes, "{hits} {misses} {both_bytes}");

    // The same sound under two names needs no work at all.
    for (name, hits) in [("anne", 2.0), ("bob", 3.0)] {
        assert_eq!(Form::of(name).clip(&clip).send(&server).status, 200);
        speak(&server, json!({"voice": name}));
        assert_eq!(measured(&server, "features"), [hits, 2.0, both_bytes], "{name}");
    }
    assert_eq!(delete(&server, "anne").status, 200);
    assert_eq!((measured(&server, "features")[2], measured(&server, "waveforms")[2]), (0.0, 0.0), "a deleted voice stays in memory");
    speak(&server, json!({"voice": "bob"}));
    assert_eq!(measured(&server, "features"), [3.0, 3.0, vector_bytes], "who has the same sound is made anew");
}
