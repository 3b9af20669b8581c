//! Streams: which of the three deliveries is chosen, how events are framed, and what each piece holds.

use omni_tests::base64;
use omni_tests::speech::Stream;
use omni_tests::wav::{HEADER_BYTES, Wav};
use serde_json::{Value, json};

use super::support::{asked, kind, report, server, with};

const EVENTS: &str = "text/event-stream; charset=utf-8";
const LONGER: &str = "The first sentence is here. The second one follows it.";

#[test]
fn the_delivery_is_chosen_by_two_fields() {
    let rows = [
        (json!({}), "audio/wav", false),
        (json!({"stream": false}), "audio/wav", false),
        (json!({"stream": false, "stream_format": null}), "audio/wav", false),
        (json!({"stream": true}), EVENTS, true),
        (json!({"stream": true, "stream_format": null}), EVENTS, true),
        (json!({"stream_format": "sse"}), EVENTS, true),
        (json!({"stream": false, "stream_format": "sse"}), EVENTS, true),
        (json!({"stream": true, "stream_format": "sse"}), EVENTS, true),
        (json!({"stream_format": "audio"}), "audio/wav", true),
        (json!({"stream": false, "stream_format": "audio"}), "audio/wav", true),
        (json!({"stream": true, "stream_format": "audio"}), "audio/wav", true),
        (json!({"stream": true, "response_format": "pcm"}), EVENTS, true),
        (json!({"stream_format": "audio", "response_format": "pcm"}), "audio/pcm", true),
        (json!({"stream": true, "response_format": "mp3"}), EVENTS, true),
        (json!({"stream": true, "speed": 2}), EVENTS, true),
        (json!({"stream": true, "speed": null}), EVENTS, true),
        (json!({"stream_format": "audio", "speed": 2}), "audio/wav", true),
    ];
    report(rows.into_iter().map(|(more, content_type, streams)| {
        let answer = asked(&more);
        let is_right = kind(&answer) == Some(content_type) && answer.header("transfer-encoding").is_some() == streams;
        (!is_right || answer.status != 200).then(|| format!("{more}: {} {:?}", answer.status, answer.headers))
    }));
}

#[test]
fn what_fails_before_the_first_sound_has_its_own_status_in_every_delivery() {
    for delivery in [json!({"stream": true}), json!({"stream_format": "sse"}), json!({"stream_format": "audio"})] {
        for (field, wrong, status) in [("voice", "nobody", 400), ("model", "nope", 404), ("input", "", 400), ("input", "…", 400)] {
            let mut more = delivery.clone();
            more[field] = json!(wrong);
            let answer = asked(&more);
            assert_eq!((answer.status, kind(&answer)), (status, Some("application/json")), "{more}");
            assert_eq!(answer.json()["error"]["param"], field, "{more}");
        }
    }
}

/// The events of an answer: each an `event` line, a `data` line and an empty one, nothing else.
fn events(text: &str) -> Vec<(String, Value)> {
    let frames = text.strip_suffix("\n\n").expect("the last event is ended by an empty line").split("\n\n");
    frames.map(event).collect()
}

fn event(frame: &str) -> (String, Value) {
    let lines: Vec<&str> = frame.split('\n').collect();
    let [name, data] = lines[..] else { panic!("an event has two lines: {frame:.200}") };
    let name = name.strip_prefix("event: ").unwrap_or_else(|| panic!("no name: {name}"));
    let data = data.strip_prefix("data: ").unwrap_or_else(|| panic!("no data: {data:.200}"));
    assert!(data.is_ascii(), "data is ASCII");
    (name.to_owned(), serde_json::from_str(data).expect("data is JSON"))
}

#[test]
fn events_are_framed_alike_and_one_done_is_the_last() {
    for format in ["wav", "pcm", "mp3", "flac", "opus", "aac"] {
        for ask in [json!({"stream": true}), json!({"stream_format": "sse"})] {
            let mut more = ask;
            more["response_format"] = json!(format);
            check_events(&events(&asked(&more).text()), format);
        }
    }
}

fn check_events(events: &[(String, Value)], format: &str) {
    assert!(events.iter().all(|(name, data)| data["type"] == *name), "{format}: the line and the document name different events");
    let ((name, done), deltas) = events.split_last().expect("there are events");
    assert_eq!(name, "speech.audio.done", "{format}");
    assert!(!deltas.is_empty() && deltas.iter().all(|(name, _)| name == "speech.audio.delta"), "{format}");
    for (_, delta) in deltas {
        assert_eq!(delta["response_format"], format);
        assert!(!base64::decode(delta["audio"].as_str().expect("audio is text")).is_empty(), "{format}: an empty delta");
    }
    let count = |name: &str| done["usage"][name].as_u64().unwrap_or_else(|| panic!("{format}: no {name}: {done}"));
    assert_eq!(count("total_tokens"), count("input_tokens") + count("output_tokens"), "{format}");
    let details = &done["usage"]["input_token_details"];
    assert_eq!(details["text_tokens"].as_u64().zip(details["audio_tokens"].as_u64()), Some((count("input_tokens"), 0)), "{format}");
}

#[test]
fn the_data_of_events_is_compact() {
    let text = asked(&json!({"stream": true})).text();
    for line in text.lines().filter(|line| line.starts_with("data: ")) {
        assert!(line.starts_with("data: {\"type\":\"speech.audio."), "{line:.80}");
        assert!(!line["data: ".len()..].contains(' '), "{line:.80}");
    }
    assert!(!text.contains("[DONE]") && !text.contains("\nid:") && !text.contains("\n:"), "only events with a name and data");
}

fn audio_of_deltas(more: &Value) -> Vec<Vec<u8>> {
    let events = events(&asked(more).text());
    events.iter().filter_map(|(_, data)| data["audio"].as_str().map(base64::decode)).collect()
}

#[test]
fn the_first_delta_of_a_file_is_its_header_alone() {
    let deltas = audio_of_deltas(&json!({"input": LONGER, "stream": true}));
    assert_eq!(deltas[0].len(), HEADER_BYTES);
    assert!(deltas[1..].iter().all(|delta| delta.len().is_multiple_of(2) && !delta.starts_with(b"RIFF")));
    let wav = Wav::read_stream(&deltas.concat()).expect("a header with open sizes");
    assert!(wav.samples == Wav::read(&asked(&json!({"input": LONGER})).body).expect("a file").samples, "events and file differ");
}

#[test]
fn deltas_of_raw_samples_are_the_pieces_of_the_raw_stream() {
    let more = json!({"input": LONGER, "response_format": "pcm"});
    let deltas = audio_of_deltas(&json!({"input": LONGER, "response_format": "pcm", "stream": true}));
    assert!(deltas.concat() == Stream::open(server(), &with(&more)).pieces().concat(), "events and raw stream differ");
    assert!(deltas.concat() == asked(&more).body, "events and whole body differ");
}

/// Of a sample that is cut in two, a player makes noise.
#[test]
fn every_piece_holds_whole_samples_at_every_rate() {
    for rate in [8_000, 16_000, 22_050, 24_000, 44_100, 48_000] {
        let more = json!({"input": LONGER, "response_format": "pcm", "sample_rate": rate});
        let pieces = Stream::open(server(), &with(&more)).pieces();
        let mut events = more;
        events["stream_format"] = json!("sse");
        let deltas = audio_of_deltas(&events);
        for piece in pieces.iter().chain(&deltas) {
            assert!(!piece.is_empty() && piece.len().is_multiple_of(2), "{rate} Hz: a piece of {} bytes", piece.len());
        }
        assert!(pieces.concat() == deltas.concat(), "{rate} Hz: events and raw stream differ");
    }
}

#[test]
fn a_streamed_header_says_what_the_whole_one_says_but_for_the_sizes() {
    let mut stream = Stream::open(server(), &with(&json!({})));
    let mut header = stream.next_piece().expect("a header");
    let whole = asked(&json!({})).body;
    assert_eq!((&header[4..8], &header[40..44]), (&[0xFF; 4][..], &[0xFF; 4][..]));
    header[4..8].copy_from_slice(&whole[4..8]);
    header[40..44].copy_from_slice(&whole[40..44]);
    assert_eq!(header, whole[..HEADER_BYTES]);
    assert!(stream.pieces().concat() == whole[HEADER_BYTES..], "stream and file differ");
}
