//! Times of words, with an aligner that spreads the words evenly: the host as a library, its own server on a real socket.

use std::future::pending;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::thread;

use omni_host::engine::align::{Aligner, Spoken, WordTime};
use omni_host::engine::{Engine, EngineSettings};
use omni_host::http::{App, Guard, Limits, router, run};
use omni_host::observe;
use omni_host::plugin::PluginSpec;
use omni_tests::artifacts::plugin;
use omni_tests::base64;
use omni_tests::checks;
use omni_tests::http::{self, Answer};
use omni_tests::speech::{PATH, SEED, check_good};
use omni_tests::websocket::{Frames, Report, close, config, done, text};
use serde_json::{Value, json};

const TEXT: &str = "Good morning everyone.";
/// What no aligner finds.
const LOST: &str = "Nothing of this is found.";

/// Gives each word an equal share of the clip, and one millisecond more than there is.
#[derive(Debug)]
struct Even;

impl Aligner for Even {
    fn align(&self, spoken: &Spoken<'_>) -> Result<Vec<WordTime>, String> {
        if spoken.text == LOST {
            return Err("nothing is found".to_owned());
        }
        let words: Vec<&str> = spoken.text.split_whitespace().collect();
        let share = spoken.millis() / words.len() as u64 + 1;
        let times = (0..).zip(words).map(|(at, word)| WordTime { word: word.to_owned(), start_ms: at * share, end_ms: (at + 1) * share });
        Ok(times.collect())
    }
}

/// The address of a server with that aligner, which lives as long as the tests.
fn address() -> SocketAddr {
    static ADDRESS: OnceLock<SocketAddr> = OnceLock::new();
    *ADDRESS.get_or_init(|| {
        let (tell, told) = std::sync::mpsc::channel();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let engine = Engine::new(EngineSettings { aligner: Some(Arc::new(Even)), ..EngineSettings::default() });
                let spec: PluginSpec = plugin("sine").to_str().expect("a plain path").parse().expect("a plugin");
                engine.load(vec![spec], observe::progress());
                engine.loaded().await;
                let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
                tell.send(listener.local_addr().expect("an address")).expect("somebody waits");
                run(listener, router(App::new(engine), Guard::default()), Limits::default(), pending()).await;
            });
        });
        told.recv().expect("the server starts")
    })
}

/// Fields with one more, or another value for one of them.
fn with(fields: &Value, name: &str, value: Value) -> Value {
    let mut fields = fields.clone();
    fields[name] = value;
    fields
}

fn asked(more: &Value) -> Answer {
    let request = json!({"input": TEXT, "seed": SEED, "word_timestamps": true});
    let more = more.as_object().expect("fields are an object");
    let body = more.iter().fold(request, |body, (name, value)| with(&body, name, value.clone()));
    http::post_json(&format!("http://{}{PATH}", address()), &body)
}

/// Fails unless these are the words of a text, one after the other within the clip.
fn check_words(words: &Value, text: &str, clip_ms: u64) {
    let words = words.as_array().unwrap_or_else(|| panic!("no words: {words}"));
    assert_eq!(words.iter().filter_map(|word| word["word"].as_str()).collect::<Vec<_>>().join(" "), text);
    let times: Vec<u64> =
        words.iter().flat_map(|word| [&word["start_ms"], &word["end_ms"]]).map(|ms| ms.as_u64().expect("a time")).collect();
    assert!(times.is_sorted() && times.last() == Some(&clip_ms), "{times:?} in {clip_ms} ms");
}

fn clip_ms(samples: usize, rate: usize) -> u64 {
    ((samples * 1000 + rate / 2) / rate) as u64
}

#[test]
fn a_complete_body_tells_its_words_in_a_header_whatever_its_form() {
    for more in [json!({}), json!({"speed": 2}), json!({"sample_rate": 8000}), json!({"sample_rate": 44_100, "speed": 0.5})] {
        let pcm = with(&more, "response_format", json!("pcm"));
        let plain = asked(&with(&pcm, "word_timestamps", json!(false)));
        let rate: usize = plain.header("x-sample-rate").and_then(|rate| rate.parse().ok()).expect("a rate");
        assert_eq!(plain.header("x-word-timestamps"), None, "nobody asked for words");
        for format in ["pcm", "wav", "mp3", "opus"] {
            let answer = asked(&with(&more, "response_format", json!(format)));
            check_good(&answer, answer.header("content-type").unwrap_or_default());
            let words = serde_json::from_str(answer.header("x-word-timestamps").expect("words")).expect("JSON");
            check_words(&words, TEXT, clip_ms(plain.body.len() / 2, rate));
            assert!(format != "pcm" || answer.body == plain.body, "asking for words changes the sound");
        }
    }
}

#[test]
fn words_that_do_not_fit_are_counted_and_words_that_are_not_found_are_left_out() {
    let many = asked(&json!({"input": "word ".repeat(200)}));
    assert_eq!((many.status, many.header("x-word-timestamps")), (200, None));
    let told = many.header("x-word-timestamps-omitted").expect("a reason");
    assert!(told.starts_with("oversize; bytes=") && told.ends_with("; limit=4096"), "{told}");
    let lost = asked(&json!({"input": LOST}));
    check_good(&lost, "audio/wav");
    assert!(!lost.headers.iter().any(|(name, _)| name.starts_with("x-word-timestamps")), "{:?}", lost.headers);
}

#[test]
fn streams_over_http_and_an_item_of_a_batch() {
    for more in [json!({"stream": true}), json!({"stream_format": "audio"})] {
        checks::error(&asked(&more), 400, "WebSocket /v1/audio/speech/stream");
    }
    let batch =
        json!({"items": [{"input": TEXT}, {"input": TEXT, "word_timestamps": false}], "word_timestamps": true, "response_format": "pcm"});
    let results = http::post_json(&format!("http://{}{PATH}/batch", address()), &batch).json()["results"].take();
    let audio = base64::decode(results[0]["audio_data"].as_str().expect("audio"));
    check_words(&results[0]["word_timestamps"], TEXT, clip_ms(audio.len() / 2, 24_000));
    assert_eq!(results[1].get("word_timestamps"), None);
}

fn session(fields: &Value, texts: &[&str]) -> Report {
    let mut session = Frames::open_at(address());
    session.send(&config(fields));
    texts.iter().for_each(|unit| session.send(&text(unit)));
    session.send(&done());
    session.send(&close());
    session.read_out()
}

fn streaming(word_timestamps: bool) -> Value {
    json!({"response_format": "pcm", "stream_audio": true, "split_granularity": "sentence", "seed": SEED, "word_timestamps": word_timestamps})
}

#[test]
fn a_session_sends_chunks_and_the_last_of_each_unit_has_the_words() {
    let plain = session(&streaming(false), &[TEXT, " Second one."]);
    let report = session(&streaming(true), &[TEXT, " Second one."]);
    assert_eq!(report.of("binary"), Vec::<&Value>::new());
    for (index, unit) in plain.units().iter().enumerate() {
        let samples = unit.frames.concat();
        let of_unit = |kind: &str| report.of(kind).into_iter().filter(|event| event["sentence_index"] == index).collect::<Vec<_>>();
        let (start, end) = (of_unit("audio.start")[0], of_unit("audio.done")[0]);
        assert_eq!((&start["word_timestamps"], &unit.start["word_timestamps"]), (&json!(true), &Value::Null));
        assert_eq!((&end["total_bytes"], &end["error"]), (&json!(samples.len()), &json!(false)));
        let chunks = of_unit("audio.chunk");
        let (last, others) = chunks.split_last().expect("chunks");
        let audio: Vec<u8> = others.iter().flat_map(|chunk| base64::decode(chunk["audio_b64"].as_str().expect("audio"))).collect();
        assert!(audio == samples, "chunks and frames hold other sound");
        check_clock(others);
        let clip_ms = clip_ms(samples.len() / 2, 24_000);
        let place = json!([last["chunk_id"], last["chunk_start_ms"], last["chunk_end_ms"], last["audio_b64"], last["sample_rate"]]);
        assert_eq!(place, json!([others.len(), 0, clip_ms, "", 24_000]));
        check_words(&last["timestamps"], unit.start["sentence_text"].as_str().expect("a text"), clip_ms);
    }
    assert_eq!(report.types().last(), Some(&"session.done"));
}

/// Fails unless chunks are numbered and each begins where the last one has ended.
fn check_clock(chunks: &[&Value]) {
    let mut at = json!(0);
    for (id, chunk) in chunks.iter().enumerate() {
        assert_eq!((&chunk["chunk_id"], &chunk["chunk_start_ms"], &chunk["timestamps"]), (&json!(id), &at, &Value::Null));
        at = chunk["chunk_end_ms"].clone();
    }
}

#[test]
fn words_that_are_not_found_are_null_and_the_unit_is_complete() {
    let report = session(&streaming(true), &[LOST]);
    let chunks = report.of("audio.chunk");
    let last = chunks.last().expect("chunks");
    assert!(last.get("timestamps").is_some_and(Value::is_null) && last["audio_b64"] == "", "{last}");
    assert_eq!(report.of("audio.done")[0]["error"], false);
}

#[test]
fn without_a_stream_of_samples_words_have_no_place() {
    let report = session(&json!({"word_timestamps": true, "response_format": "pcm"}), &[TEXT]);
    assert_eq!(report.types(), ["error", "session.done"]);
    let told = report.events[0]["message"].as_str().unwrap_or_default();
    assert!(told.starts_with("word_timestamps=true requires stream_audio=true and response_format='pcm'"), "{told}");
    assert_eq!(report.events[1]["total_sentences"], 1);
}
