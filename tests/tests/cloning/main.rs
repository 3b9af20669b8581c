//! Voices that come with a request: a clip wherever it is, on every endpoint; and what is refused, by an answer in bounded time.

mod custom_server;
mod formats;
mod hostile;
mod support;

use omni_tests::base64;
use omni_tests::http;
use omni_tests::server::Server;
use omni_tests::speech::{Stream, ask};
use omni_tests::upload::data_url;
use omni_tests::wav::Wav;
use omni_tests::websocket::{config, converse, done, send, text};
use serde_json::{Value, json};

use support::{TEXT, check_pitch, closed, file, open, pitch_hz, spoken_pitch, tone, web_file, web_redirect};

#[test]
fn a_clip_is_the_voice_wherever_it_is() {
    let open = open();
    for (at, pitch_hz) in [330.0, 130.0].into_iter().enumerate() {
        let clip = tone(pitch_hz, 1.5);
        let path = file(open.folder.path(), &format!("clip {at}.wav"), &clip);
        let web = web_file(clip.clone());
        for (what, locator) in [
            ("a data URL", data_url(&clip)),
            ("bare base64", base64::encode(&clip)),
            ("a URL", web.clone()),
            ("a redirect", web_redirect(web)),
            ("a path", path.clone()),
            ("a file URL", format!("file://{}", path.replace(' ', "%20"))),
        ] {
            check_pitch(what, spoken_pitch(&open.server, &json!({"ref_audio": locator})), pitch_hz);
        }
        check_pitch("a list of one", spoken_pitch(&open.server, &json!({"ref_audio": [data_url(&clip)]})), pitch_hz);
        let references = json!({"references": [{"audio_path": data_url(&clip), "text": "la"}]});
        check_pitch("references", spoken_pitch(&open.server, &references), pitch_hz);
        check_pitch("with a voice", spoken_pitch(&open.server, &json!({"ref_audio": data_url(&clip), "voice": "high"})), pitch_hz);
    }
}

#[test]
fn a_file_that_was_changed_is_another_clip() {
    let open = open();
    for pitch_hz in [150.0, 450.0] {
        let path = file(open.folder.path(), "changing.wav", &tone(pitch_hz, 1.2 + pitch_hz / 1000.0));
        check_pitch("a changed file", spoken_pitch(&open.server, &json!({"ref_audio": path})), pitch_hz);
    }
}

#[test]
fn a_vector_is_a_voice() {
    // The note 81 is 880 Hz.
    check_pitch("a vector", spoken_pitch(closed(), &json!({"speaker_embedding": [81.0, 0.5]})), 880.0);
    for (vector, part) in
        [(json!([81.0]), "1 dimensions; expected 2"), (json!([]), "non-empty list"), (json!([[1, 2], [3, 4]]), "found several")]
    {
        let answer = ask(closed(), &json!({"input": TEXT, "speaker_embedding": vector}));
        assert_eq!(answer.status, 400, "{}", answer.start());
        let error = answer.json()["error"].take();
        assert!(error["message"].as_str().is_some_and(|message| message.contains(part)), "{error}");
    }
}

#[test]
fn a_stream_a_batch_and_a_session_speak_with_a_clip_as_well() {
    let clip = data_url(&tone(600.0, 1.5));
    let pieces = Stream::open(closed(), &json!({"input": TEXT, "response_format": "pcm", "seed": 5, "ref_audio": clip})).pieces();
    let streamed = Wav::from_pcm(&pieces.concat(), 24_000).expect("whole samples");
    check_pitch("a stream", pitch_hz(&streamed.samples, 24_000), 600.0);

    let items = json!([{"input": TEXT}, {"input": TEXT, "ref_audio": data_url(&tone(150.0, 1.5))}]);
    let batch = json!({"items": items, "response_format": "pcm", "seed": 5, "ref_audio": clip});
    let document = http::post_json(&closed().url("/v1/audio/speech/batch"), &batch).json();
    for (index, wanted_hz) in [(0, 600.0), (1, 150.0)] {
        let audio = base64::decode(document["results"][index]["audio_data"].as_str().expect("audio"));
        check_pitch("a batch", pitch_hz(&Wav::from_pcm(&audio, 24_000).expect("whole samples").samples, 24_000), wanted_hz);
    }

    let fields = json!({"response_format": "pcm", "stream_audio": true, "seed": 5, "ref_audio": clip});
    let report = converse(closed(), &[send(config(&fields)), send(text(TEXT)), send(done())]);
    let audio = report.units()[0].frames.concat();
    check_pitch("a session", pitch_hz(&Wav::from_pcm(&audio, 24_000).expect("whole samples").samples, 24_000), 600.0);
}

#[test]
fn a_transcript_makes_the_clip_part_of_the_prompt() {
    let usage = |fields: Value| {
        let mut request = json!({"input": TEXT, "ref_audio": data_url(&tone(300.0, 2.0))});
        request.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
        let answer = ask(closed(), &request);
        assert_eq!(answer.status, 200, "{}", answer.start());
        answer.header("x-vllm-omni-input-audio-tokens").map(str::to_owned)
    };
    // Two seconds are 25 code frames.
    assert_eq!(usage(json!({"ref_text": "la la"})).as_deref(), Some("25"));
    assert_eq!(usage(json!({})).as_deref(), Some("0"));
    assert_eq!(usage(json!({"ref_text": "la la", "x_vector_only_mode": true})).as_deref(), Some("0"));
}

#[test]
fn a_family_that_cannot_clone_says_so() {
    let server = Server::shared();
    for fields in [json!({"ref_audio": "data:,"}), json!({"references": [{"audio_path": "x"}]}), json!({"speaker_embedding": [1.0]})] {
        let mut request = json!({"input": TEXT});
        request.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
        let answer = ask(server, &request);
        assert_eq!(answer.status, 400, "{}", answer.start());
        let error = answer.json()["error"].take();
        assert!(error["message"].as_str().is_some_and(|message| message.contains("cannot clone a voice")), "{error}");
    }
}
