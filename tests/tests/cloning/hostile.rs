//! Clips and locators made to do harm.

use std::iter::repeat_n;
use std::thread;
use std::time::Duration;

use omni_tests::server::wait_until;
use omni_tests::speech::ask;
use omni_tests::upload::{clip_of, data_url};
use serde_json::{Value, json};

use crate::support::{RATE, TEXT, check_pitch, closed, file, open, spoken_pitch, start, tone, web_dawdler, web_redirect, web_server};

/// Fails unless a locator is refused as the client's fault in `ref_audio`, with this in the message.
fn check_refused(server: &omni_tests::server::Server, what: &str, locator: &str, part: &str) {
    for stream in [Value::Null, json!("audio")] {
        let answer = ask(server, &json!({"input": TEXT, "ref_audio": locator, "stream_format": stream}));
        assert_eq!(answer.status, 400, "{what}: {}", answer.start());
        let error = answer.json()["error"].take();
        assert_eq!(error["param"], "ref_audio", "{what}: {error}");
        assert!(error["message"].as_str().is_some_and(|message| message.contains(part)), "{what}: {error}");
    }
}

#[test]
fn what_is_no_clip_is_told() {
    let silence = clip_of(repeat_n(0, 48_000), RATE);
    let mut endless = tone(2.0, 0.3);
    endless[40..44].fill(0xFF);
    let zip = [b"\x1A\x45\xDF\xA3PK\x03\x04".to_vec(), vec![9; 5000]].concat();
    for (what, bytes, part) in [
        ("nothing", Vec::new(), "it is empty"),
        ("text", b"no audio at all ".repeat(100), "Invalid or unsupported"),
        ("a web page", b"<html><body>404</body></html>".to_vec(), "Invalid or unsupported"),
        ("something like a zip in WebM", zip, "Invalid or"),
        ("half a second", tone(300.0, 0.5), "too short (0.5s)"),
        ("a minute", tone(300.0, 60.0), "too long (60.0s)"),
        ("silence", silence, "silent"),
        ("a size that lies", endless, "Invalid or"),
    ] {
        check_refused(closed(), what, &data_url(&bytes), part);
    }
}

#[test]
fn what_is_no_locator_is_told() {
    for (locator, part) in [
        ("ftp://host/a.wav", "ref_audio must be a URL"),
        ("data:audio/wav,abc", "Only base64"),
        ("data:audio/wav;base64", "missing ',' separator"),
        ("data:audio/wav;base64,$$$$", "not valid base64"),
        ("file://10.0.0.1/share/a.wav", "this machine only"),
        ("file:///etc/passwd%00.wav", "names no file"),
        ("file:", "names no file"),
    ] {
        check_refused(closed(), locator, locator, part);
    }
}

/// Spellings of one file that nobody may read.
const PASSWD: [&str; 13] = [
    "/etc/passwd",
    "//etc//passwd",
    "/etc/../etc/./passwd",
    "../../../../../../../../etc/passwd",
    "file:/etc/passwd",
    "file:///etc/passwd",
    "file:////etc/passwd",
    "FILE:///etc/passwd",
    "file://localhost/etc/passwd",
    "file://LOCALHOST/etc/passwd?a=b#c",
    "file:///%65tc/%70asswd",
    "file:///srv/%2e%2e/etc/passwd",
    "file:///proc/self/root/etc/passwd",
];

#[test]
fn files_are_read_only_where_the_operator_allows_it_however_they_are_spelt() {
    for locator in PASSWD {
        check_refused(closed(), locator, locator, "Cannot load local files");
        check_refused(&open().server, locator, locator, "must be a subpath of");
    }
    let outside = tempfile::tempdir().expect("a directory");
    let secret = file(outside.path(), "secret.wav", &tone(300.0, 2.0));
    let link = open().folder.path().join("link.wav");
    std::os::unix::fs::symlink(&secret, &link).expect("a link");
    let allowed = open().folder.path().to_str().expect("UTF-8");
    let up = format!("file://{allowed}/{}{}", "%2e%2e/".repeat(allowed.matches('/').count()), secret.trim_start_matches('/'));
    for locator in [secret.clone(), format!("file://{secret}"), link.to_str().expect("UTF-8").to_owned(), up] {
        check_refused(&open().server, &locator, &locator, "must be a subpath of");
    }
}

#[test]
fn addresses_of_this_machine_and_its_network_are_refused() {
    for host in [
        "127.0.0.1",
        "localhost",
        "0.0.0.0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "2130706433",
        "017700000001",
        "0177.0.0.1",
        "0177.0.1",
        "127.1",
        "0x7f000001",
        "0x7f.1",
        "LocalHost",
        "169.254.169.254",
        "10.0.0.1",
        "192.168.0.1",
        "[fd00::1]",
        "[fe80::1]",
        "[64:ff9b::7f00:1]",
    ] {
        check_refused(closed(), host, &format!("http://{host}/clip.wav"), "not public");
    }
}

#[test]
fn redirects_are_held_to_the_same_rules() {
    let server = start(&["--allow-private-media", "--allowed-media-domains", "127.0.0.1"]);
    for (target, part) in [("http://localhost/clip.wav", "allowed domains"), ("file:///etc/passwd", "no web address")] {
        check_refused(&server, target, &web_redirect(target.to_owned()), part);
    }
    check_refused(&server, "another host", "http://localhost:9/clip.wav", "allowed domains");
}

#[test]
fn what_the_other_server_does_wrong_is_the_clients_fault() {
    for (answer, part) in [
        ("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", "HTTP 404"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 999999999\r\n\r\n", "Maximum file size"),
        ("SSH-2.0-OpenSSH_9.6\r\n", "Failed to fetch"),
    ] {
        let url = web_server(move |stream| {
            let _ = std::io::Write::write_all(stream, answer.as_bytes());
        });
        check_refused(&open().server, answer, &url, part);
    }
}

#[test]
fn many_slow_downloads_hold_up_nobody_and_end_with_their_clients() {
    let server = start(&["--allow-private-media"]);
    let url = web_dawdler();
    let threads = server.threads();
    let files = server.open_files();
    let clients: Vec<_> = (0..20)
        .map(|_| {
            let mut connection = server.connect();
            let body = json!({"input": TEXT, "ref_audio": url}).to_string();
            connection.send(&omni_tests::raw::post("/v1/audio/speech", body.as_bytes()));
            connection
        })
        .collect();
    assert!(wait_until(Duration::from_secs(60), || server.threads() > threads), "the downloads begin");
    check_pitch("beside them", spoken_pitch(&server, &json!({"ref_audio": data_url(&tone(300.0, 1.5))})), 300.0);
    drop(clients);
    assert!(wait_until(Duration::from_secs(60), || server.open_files() <= files + 2), "the downloads end: {} files", server.open_files());
}

#[test]
fn memory_stays_bounded_under_clips_that_unfold() {
    let server = start(&[]);
    check_refused(&server, "warm up", &data_url(&tone(300.0, 60.0)), "too long");
    let before = server.rss_bytes();
    // Seven minutes of sound, which with their base64 are about what a body may hold.
    let long = data_url(&clip_of(repeat_n(257, 10 << 20), RATE));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| check_refused(&server, "a long clip", &long, "too long"));
        }
    });
    let grown = server.rss_bytes().saturating_sub(before);
    assert!(grown < 600 << 20, "{} MiB more", grown >> 20);
}
