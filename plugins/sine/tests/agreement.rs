//! The agreements that every family owes, and what this one promises beyond them.

use omni_plugin_api::testing::{Rig, Spoken, assert_batch_equals_single, assert_slots_are_clean, assert_streamed_equals_whole};
use omni_plugin_api::{
    Data, ErrorKind, FinishReason, ModelSource, NamedTensor, ReferenceAudio, SeqWork, SpeechRequest, StageEvent, StepPlan, TensorValues,
    Voice,
};
use serde_json::json;
use sine::{FRAME_LEN, SAMPLE_RATE_HZ, SPEAKER_EMBEDDING, SineFamily};

const TEXT: &str = "The quick brown fox jumps over the lazy dog, twice.";

fn rig() -> Rig {
    Rig::open(&SineFamily, &ModelSource::BuiltIn).expect("sine opens")
}

fn request(text: &str, seed: u64) -> SpeechRequest {
    SpeechRequest::new(text).with_seed(seed)
}

fn with_field(name: &str, value: serde_json::Value) -> SpeechRequest {
    let mut request = request(TEXT, 1);
    request.fields.insert(name.into(), value);
    request
}

/// Mean frequency by counting where the wave rises through zero, over the seconds in which it sounds.
fn frequency_hz(spoken: &Spoken) -> f32 {
    let rises = spoken.samples.windows(2).filter(|pair| pair[0] < 0.0 && pair[1] >= 0.0).count();
    let sounding = spoken.samples.chunks(100).filter(|part| part.iter().any(|sample| *sample != 0.0)).count() * 100;
    rises as f32 * SAMPLE_RATE_HZ as f32 / sounding as f32
}

#[test]
fn a_batch_speaks_like_each_request_alone() {
    let requests: Vec<_> = (0..70).map(|seed| request(&TEXT[..10 + seed % 30], seed as u64)).collect();
    assert_batch_equals_single(&rig(), &requests, 0.0);
}

#[test]
fn a_stream_joined_is_the_whole() {
    assert_streamed_equals_whole(&rig(), &request(TEXT, 3), &[1, 3, 7, 25], 0.0);
    let streamed = rig().speak_in_steps(&request(TEXT, 3), 1).expect("it speaks");
    assert!(streamed.chunks.iter().all(|chunk| *chunk == FRAME_LEN), "{:?}", streamed.chunks);
}

#[test]
fn a_used_slot_is_as_good_as_a_fresh_one() {
    assert_slots_are_clean(&rig(), &request(TEXT, 1), &request("Something else.", 2), 0.0);
}

#[test]
fn a_slot_taken_back_half_way_is_free_again() {
    let rig = rig();
    let mut talker = rig.model().open_stage(0).expect("the talker opens");
    let prompt = rig.model().prepare(&request(TEXT, 1), &Voice::default()).expect("a good request").prompt;
    for seq in 1..=200 {
        talker.admit(seq, &prompt).expect("a free slot");
        talker.submit(&StepPlan { work: vec![SeqWork { seq, max_units: 2 }] }).expect("it works");
        let events = talker.collect().expect("it works");
        assert!(matches!(&events[..], [StageEvent::Output { data: Data::Codes { codes, .. }, .. }] if codes.len() == 4), "{events:?}");
        talker.release(seq);
    }
}

#[test]
fn a_seed_gives_the_same_sound_again_and_another_seed_other_sound() {
    let speak = |seed| rig().speak(&request(TEXT, seed)).expect("it speaks").samples;
    assert_eq!(speak(1), speak(1));
    assert_ne!(speak(1), speak(2));
}

#[test]
fn each_voice_has_its_own_pitch() {
    for (voice, pitch_hz) in [("low", 110.0), ("middle", 220.0), ("HIGH", 440.0)] {
        let spoken = rig().with_voice(Voice::named(voice)).speak(&request(TEXT, 5)).expect("it speaks");
        let ratio = frequency_hz(&spoken) / pitch_hz;
        assert!((0.85..=1.15).contains(&ratio), "{voice}: {} Hz", frequency_hz(&spoken));
    }
    let error = rig().with_voice(Voice::named("nobody")).speak(&request(TEXT, 5)).expect_err("no such voice");
    assert_eq!((error.kind, error.field.as_deref()), (ErrorKind::Invalid, Some("voice")));
}

/// A reference of one tone.
fn reference(pitch_hz: f32, transcript: Option<&str>) -> ReferenceAudio {
    let samples = (0..2 * SAMPLE_RATE_HZ).map(|at| 0.4 * (std::f32::consts::TAU * pitch_hz * at as f32 / SAMPLE_RATE_HZ as f32).sin());
    ReferenceAudio { samples: samples.collect(), sample_rate_hz: SAMPLE_RATE_HZ, transcript: transcript.map(str::to_owned) }
}

fn learnt(tensors: Vec<NamedTensor>) -> Voice {
    Voice { tensors, ..Voice::default() }
}

#[test]
fn a_learnt_voice_has_the_pitch_of_its_reference() {
    for pitch_hz in [150.0, 600.0] {
        for transcript in [None, Some("a tone")] {
            let tensors = rig().model().encode_reference(&reference(pitch_hz, transcript)).expect("a tone");
            let spoken = rig().with_voice(learnt(tensors)).speak(&request(TEXT, 5)).expect("it speaks");
            let ratio = frequency_hz(&spoken) / pitch_hz;
            assert!((0.85..=1.15).contains(&ratio), "{pitch_hz}: {} Hz", frequency_hz(&spoken));
        }
    }
}

#[test]
fn a_mixture_of_two_voices_lies_between_them() {
    let vector = |pitch_hz| {
        let tensors = rig().model().encode_reference(&reference(pitch_hz, None)).expect("a tone");
        match &tensors[0].values {
            TensorValues::F32(values) => values.clone(),
            TensorValues::I32(_) => Vec::new(),
        }
    };
    let mixed: Vec<f32> = vector(100.0).iter().zip(vector(400.0)).map(|(low, high)| (low + high) / 2.0).collect();
    let voice = learnt(vec![NamedTensor::f32(SPEAKER_EMBEDDING, vec![mixed.len()], mixed)]);
    let spoken = rig().with_voice(voice).speak(&request(TEXT, 5)).expect("it speaks");
    assert!((0.85..=1.15).contains(&(frequency_hz(&spoken) / 200.0)), "{} Hz", frequency_hz(&spoken));
}

#[test]
fn a_learnt_voice_agrees_with_itself_like_any_other() {
    let tensors = rig().model().encode_reference(&reference(300.0, Some("a tone"))).expect("a tone");
    let rig = rig().with_voice(learnt(tensors));
    assert_batch_equals_single(&rig, &[request(TEXT, 1), request("Something else.", 2)], 0.0);
    assert_streamed_equals_whole(&rig, &request(TEXT, 3), &[1, 3, 7, 25], 0.0);
}

#[test]
fn pitch_and_loudness_follow_the_request() {
    let spoken = rig().speak(&with_field("pitch_hz", json!(1000.0))).expect("it speaks");
    assert!((850.0..=1150.0).contains(&frequency_hz(&spoken)), "{} Hz", frequency_hz(&spoken));
    let loudest = |value| {
        let spoken = rig().speak(&with_field("loudness", json!(value))).expect("it speaks");
        spoken.samples.iter().fold(0.0_f32, |loudest, sample| loudest.max(sample.abs()))
    };
    assert!((loudest(1.0) - 1.0).abs() < 0.01 && (loudest(0.25) - 0.25).abs() < 0.01);
}

#[test]
fn speech_has_no_click_and_ends_in_silence() {
    let samples = rig().speak(&request(TEXT, 9)).expect("it speaks").samples;
    let steepest = samples.windows(2).map(|pair| (pair[1] - pair[0]).abs()).fold(0.0, f32::max);
    assert!(steepest < 0.5 * std::f32::consts::TAU * 300.0 / SAMPLE_RATE_HZ as f32, "a jump of {steepest}");
    assert!(samples.first().is_some_and(|sample| *sample == 0.0) && samples.last().is_some_and(|sample| sample.abs() < 1e-3));
}

#[test]
fn the_length_follows_text_and_speed_and_the_cap_cuts_it() {
    let mut fast = request(TEXT, 1);
    let plain = rig().speak(&fast).expect("it speaks");
    assert_eq!(plain.reason, FinishReason::Stop);
    fast.speed = 2.0;
    let fast = rig().speak(&fast).expect("it speaks").samples.len();
    assert!(fast.abs_diff(plain.samples.len() / 2) <= FRAME_LEN, "{fast} against {}", plain.samples.len());
    let cut = rig().speak(&with_field("max_new_tokens", json!(10))).expect("it speaks");
    assert_eq!((cut.reason, cut.samples.len()), (FinishReason::Length, 10 * FRAME_LEN));
}
