//! Two servers on one place for voices: a folder, and a bucket.

use std::thread;
use std::time::Duration;

use omni_tests::artifacts;
use omni_tests::s3::{BUCKET, S3};
use omni_tests::server::{Server, wait_until};
use omni_tests::upload::{delete, listing};
use serde_json::json;

use super::prepared::prepare;
use super::support::{good, refused, say, server_on, spoken, upload_tone};

/// Not a measure of speed: a guard against a hang.
const PATIENCE: Duration = Duration::from_secs(60);

fn uploaded(server: &Server) -> Vec<String> {
    let listing = listing(server);
    let voices = listing["uploaded_voices"].as_array().expect("a list");
    voices.iter().filter_map(|voice| voice["name"].as_str()).map(str::to_owned).collect()
}

/// What one server does is heard at the other.
fn share(one: &Server, other: &Server) {
    good(&upload_tone(one, "anne", 440.0));
    assert!(spoken(other, "anne") == spoken(other, "high"), "a voice that was just uploaded elsewhere is not found");
    assert!(wait_until(PATIENCE, || uploaded(other) == ["anne"]), "it is never listed");
    good(&upload_tone(one, "anne", 110.0));
    let low = spoken(other, "low");
    assert!(wait_until(PATIENCE, || spoken(other, "anne") == low), "the old voice goes on to be heard");
    good(&delete(other, "anne"));
    assert!(wait_until(PATIENCE, || say(one, "anne", &json!({})).status == 400), "a deleted voice goes on to be heard");
    assert!(wait_until(PATIENCE, || uploaded(one).is_empty()));
}

#[test]
fn servers_share_a_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let (one, other) = (server_on(folder.path()), server_on(folder.path()));
    share(&one, &other);
    many_changes(&one, &other);
}

#[test]
fn servers_share_a_bucket() {
    let sine = artifacts::plugin("sine");
    let place = format!("s3://{BUCKET}/shared");
    let start = || {
        let arguments = ["--voices", &place, "--plugin", sine.to_str().expect("a path")];
        Server::start_within(&arguments, &S3::shared().variables())
    };
    let (one, other) = (start(), start());
    share(&one, &other);
    many_changes(&one, &other);
}

#[test]
fn a_store_that_is_away_takes_nothing_with_it_but_names_that_only_it_could_know() {
    let profiles = tempfile::tempdir().expect("a folder");
    prepare(profiles.path(), "anna", 69.0);
    prepare(profiles.path(), "berta", 45.0);
    let (sine, folder) = (artifacts::plugin("sine"), profiles.path().to_str().expect("a path"));
    let arguments = ["--voices", "s3://away/voices", "--plugin", sine.to_str().expect("a path"), "--speaker-profiles", folder];
    let [_, http, key, secret, region] = S3::shared().variables();
    let server = Server::start_within(&arguments, &[("AWS_ENDPOINT_URL", "http://127.0.0.1:9"), http, key, secret, region]);
    assert!(spoken(&server, "anna") == spoken(&server, "high"));
    assert!(spoken(&server, "anna+berta") == spoken(&server, "middle"), "a mixture of what is known here");
    for (name, status, words) in
        [("a/b", 400, "Invalid voice 'a/b'"), ("anna+nobody", 503, "cannot be looked for"), ("nobody", 503, "cannot be looked for")]
    {
        refused(&say(&server, name, &json!({})), status, words);
    }
    assert_eq!(say(&server, "alloy", &json!({})).status, 200);
    refused(&upload_tone(&server, "new", 440.0), 503, "cannot be reached");
    assert_eq!(delete(&server, "nobody").status, 503);
}

/// Both servers change the same voices at once, two hundred times, while they speak with them.
fn many_changes(one: &Server, other: &Server) {
    const NAMES: [&str; 4] = ["ada", "bea", "cid", "dan"];
    const TONES: [f64; 3] = [110.0, 220.0, 440.0];
    let known = ["low", "middle", "high"].map(|voice| spoken(one, voice));
    thread::scope(|scope| {
        for worker in 0..10_usize {
            let (server, known) = (if worker.is_multiple_of(2) { one } else { other }, &known);
            scope.spawn(move || {
                for step in 0..20_usize {
                    let name = NAMES[(worker / 2 + step) % 4];
                    if step % 5 == 4 {
                        let status = delete(server, name).status;
                        assert!(status == 200 || status == 404, "{status}");
                    } else {
                        good(&upload_tone(server, name, TONES[(worker + step) % 3]));
                    }
                    let answer = say(server, name, &json!({}));
                    let is_whole = answer.status == 400 || answer.status == 200 && known.contains(&answer.body);
                    assert!(is_whole, "{}: a voice that nobody uploaded", answer.status);
                }
            });
        }
    });
    assert!(wait_until(PATIENCE, || uploaded(one) == uploaded(other)), "the servers do not agree");
    for name in uploaded(one) {
        assert!(wait_until(PATIENCE, || spoken(one, &name) == spoken(other, &name)), "{name} sounds different");
    }
}
