//! The agreements that every family owes, and what this one promises beyond them.

use hibari::Hibari;
use omni_plugin_api::testing::{Rig, assert_batch_equals_single, assert_slots_are_clean, assert_streamed_equals_whole};
use omni_plugin_api::{Data, ErrorKind, Family, ModelSource, Placement, SeqWork, Services, SpeechRequest, StageEvent, StepPlan, Voice};

const TEXT: &str = "The birch canoe slid on the smooth planks. Glue the sheet to the dark blue background!";

fn rig() -> Rig {
    Rig::open(&Hibari, &ModelSource::BuiltIn).expect("hibari opens")
}

fn request(text: &str, seed: u64) -> SpeechRequest {
    SpeechRequest::new(text).with_seed(seed)
}

fn speak(request: &SpeechRequest) -> Vec<f32> {
    rig().speak(request).expect("it speaks").samples
}

fn loudness(samples: &[f32]) -> f32 {
    (samples.iter().map(|sample| sample * sample).sum::<f32>() / samples.len() as f32).sqrt()
}

#[test]
fn a_batch_speaks_like_each_request_alone() {
    let texts = [TEXT, "Yes.", "Zyxoria, in Kubernetes?", "One two. Three four. Five six."];
    let requests: Vec<_> = texts.iter().zip(1..).map(|(text, seed)| request(text, seed)).collect();
    assert_batch_equals_single(&rig(), &requests, 0.0);
}

#[test]
fn a_stream_joined_is_the_whole() {
    assert_streamed_equals_whole(&rig(), &request(TEXT, 3), &[1, 7, 29, 40, 160], 0.0);
    let chunks = rig().speak_in_steps(&request(TEXT, 3), 40).expect("it speaks").chunks;
    assert_eq!(chunks[..2], [11 * 300, 40 * 300]);
}

#[test]
fn a_used_slot_is_as_good_as_a_fresh_one() {
    assert_slots_are_clean(&rig(), &request(TEXT, 1), &request("Something else.", 2), 0.0);
}

#[test]
fn a_seed_gives_the_same_sound_again_and_another_seed_other_noise() {
    assert_eq!(speak(&request(TEXT, 1)), speak(&request(TEXT, 1)));
    assert_ne!(speak(&request(TEXT, 1)), speak(&request(TEXT, 2)));
}

#[test]
fn it_speaks_at_a_natural_level_and_length_and_starts_and_ends_quietly() {
    let samples = speak(&request(TEXT, 1));
    let seconds = samples.len() as f32 / 24_000.0;
    assert!((4.0..7.5).contains(&seconds), "{seconds} s");
    assert!((0.02..0.2).contains(&loudness(&samples)), "loudness {}", loudness(&samples));
    assert!(samples.iter().all(|sample| sample.abs() < 1.0));
    for edge in [samples[0], samples[samples.len() - 1]] {
        assert!(edge.abs() <= 0.003, "{edge}");
    }
}

#[test]
fn speed_changes_the_length() {
    let mut fast = request(TEXT, 1);
    fast.speed = 2.0;
    let ratio = speak(&fast).len() as f32 / speak(&request(TEXT, 1)).len() as f32;
    assert!((0.45..0.62).contains(&ratio), "{ratio}");
}

#[test]
fn a_pause_is_silence_of_the_asked_length() {
    let together = speak(&request("Yes. <break time=\"1s\"/> No.", 1));
    let quiet = together.split(|sample| *sample != 0.0).map(<[f32]>::len).max();
    assert_eq!(quiet, Some(24_000));
}

#[test]
fn a_sentence_does_not_depend_on_what_follows_it() {
    let (first, both) = (speak(&request("One two three.", 1)), speak(&request("One two three. Four.", 1)));
    assert_eq!(both[..first.len()], first);
}

#[test]
fn the_clients_mistakes_are_named() {
    let model = Hibari.open(&ModelSource::BuiltIn, &Placement::default(), Services::silent()).expect("hibari opens");
    let field = |text: &str, voice: &Voice| {
        let error = model.prepare(&SpeechRequest::new(text), voice).expect_err("refused");
        (error.kind, error.field)
    };
    assert_eq!(field("…", &Voice::default()), (ErrorKind::Invalid, Some("input".into())));
    assert_eq!(field("Hello", &Voice::named("nobody")), (ErrorKind::Invalid, Some("voice".into())));
    let usage = model.prepare(&SpeechRequest::new("Hello"), &Voice::named("Heart")).expect("the voice is known").usage;
    assert!(usage.text_tokens >= 5);
    let source = ModelSource::Directory("/models/none".into());
    let error = Hibari.open(&source, &Placement::default(), Services::silent()).err().expect("there is nothing to read");
    assert!(error.message.contains("/models/none"), "{error}");
}

#[test]
fn unknown_words_are_spoken() {
    let model = Hibari.open(&ModelSource::BuiltIn, &Placement::default(), Services::silent()).expect("hibari opens");
    let prepared = model.prepare(&SpeechRequest::new("Zyxoria."), &Voice::default()).expect("readable");
    assert_eq!(prepared.warnings, Vec::<String>::new());
    assert!(prepared.prompt.params["parts"][0]["speech"].as_str().is_some_and(|phonemes| phonemes.contains("zIksˈɔɹiə")));
}

#[test]
fn a_slot_taken_back_half_way_is_free_again() {
    let rig = rig();
    let mut stage = rig.model().open_stage(0).expect("the stage opens");
    let prompt = rig.model().prepare(&request("Yes. No.", 1), &Voice::default()).expect("a good request").prompt;
    for seq in 1..=100 {
        stage.admit(seq, &prompt).expect("a free slot");
        stage.submit(&StepPlan { work: vec![SeqWork { seq, max_units: 1 }] }).expect("it works");
        let events = stage.collect().expect("it works");
        assert!(matches!(&events[..], [StageEvent::Output { data: Data::Latents { width: 131, .. }, .. }]), "{} events", events.len());
        stage.release(seq);
    }
}

#[test]
fn the_description_is_whole() {
    let info = Hibari.describe();
    assert_eq!((info.name.as_str(), info.version.as_str()), ("hibari", env!("CARGO_PKG_VERSION")));
    assert_eq!((info.sample_rate_hz, info.channels), (24_000, 1));
    assert!(info.request_schema["properties"].as_object().is_none_or(serde_json::Map::is_empty), "{:#}", info.request_schema);
}
