//! The family against itself: in any batch, any chunk, any slot.

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;

use common::Golden;
use omni_plugin_api::testing::{Rig, assert_batch_equals_single, assert_slots_are_clean, assert_streamed_equals_whole};
use omni_plugin_api::{
    Data, Device, FinishReason, Model, Placement, SeqId, SeqWork, Services, SpeechRequest, Stage, StageEvent, StepPlan, Stepwise, Voice,
};
use qwen3_tts::model::Qwen3Model;
use qwen3_tts::stages::{Frames, TalkerRoom, TalkerStage};
use serde_json::json;

const TEXTS: [&str; 8] = [
    "Hello there, how are you today?",
    "x",
    "Hi there.",
    "Hello there.",
    "how are you today?",
    "Hi there. Hello there, how are you today?",
    "today",
    "Hello there, how are you today? Hello there, how are you today?",
];

/// Requests of different lengths, limits, seeds and samplers.
fn requests(count: usize) -> Vec<SpeechRequest> {
    let request = |(index, text): (usize, &&str)| {
        let mut request = SpeechRequest::new(*text).with_seed(1000 + index as u64);
        request.fields.insert("max_new_tokens".into(), json!(3 + 4 * index));
        request.fields.insert("non_streaming_mode".into(), json!(index % 2 == 0));
        if index % 3 == 1 {
            request.fields.insert("extra_params".into(), json!({"temperature": 1.3, "top_k": 20, "top_p": 0.8}));
        }
        request
    };
    TEXTS.iter().take(count).enumerate().map(request).collect()
}

/// How far apart two ways of the same speech may be. On the CPU a row's sums do not depend on its batch; on a GPU the kernel does.
fn gap() -> f32 {
    if common::placement().device(0) == Device::Cpu { 0.0 } else { 1e-3 }
}

fn custom() -> Rig {
    Golden::open("custom_voice").rig(Voice::default())
}

#[test]
fn a_batch_equals_its_requests_alone() {
    let rig = custom();
    for count in [1, 3, 8] {
        assert_batch_equals_single(&rig, &requests(count), gap());
    }
}

#[test]
fn clones_in_a_batch_equal_clones_alone() {
    let golden = Golden::open("base");
    let rig = golden.rig(golden.voice(golden.case("icl_long_text")));
    // Those that continue their reference beside those that have its vector only.
    let mut mixed = requests(8);
    for request in mixed.iter_mut().step_by(3) {
        request.fields.insert("x_vector_only_mode".into(), json!(true));
    }
    for count in [1, 3, 8] {
        assert_batch_equals_single(&rig, &mixed[..count], gap());
    }
    assert_streamed_equals_whole(&rig, &requests(3)[2], &[1, 3, 7, 25], 1e-5);
}

#[test]
fn streamed_audio_is_the_whole_audio() {
    let requests = requests(8);
    assert_streamed_equals_whole(&custom(), &requests[5], &[1, 3, 7, 25], 1e-5);
}

#[test]
fn a_used_slot_is_a_fresh_one() {
    let requests = requests(6);
    assert_slots_are_clean(&custom(), &requests[5], &requests[2], gap());
}

#[test]
fn a_seed_is_the_same_speech_and_another_seed_another() {
    let rig = custom();
    let speak = |seed| rig.speak(&requests(6)[5].clone().with_seed(seed)).expect("it speaks").samples;
    assert_eq!(speak(7), speak(7));
    assert_ne!(speak(7), speak(8));
}

#[test]
fn a_limit_that_was_asked_for_is_an_end_and_one_that_was_not_an_error() {
    let golden = Golden::open("base");
    let rig = golden.rig(golden.voice(golden.case("icl_long_text")));
    let mut request = requests(6)[5].clone();
    // The end can hardly be drawn with such a penalty on everything before it, and the model is random.
    request.fields.insert("max_new_tokens".into(), json!(5));
    let spoken = rig.speak(&request).expect("it speaks");
    assert_eq!((spoken.reason, spoken.samples.len()), (FinishReason::Length, 5 * 1920));
}

fn open(golden: &Golden) -> Qwen3Model {
    Qwen3Model::open(&golden.directory, &common::placement(), &Services::silent()).expect("it opens")
}

/// A talker with the model's weights that makes its frames so.
fn talker(golden: &Golden, frames: Frames) -> Box<dyn Stage> {
    let room = TalkerRoom { slots: 8, positions: 2048 };
    let mut stage = TalkerStage::new(golden.weights(), Arc::new(golden.config.clone()), room, frames, Services::silent());
    stage.warm(&Services::silent()).expect("it can be warmed");
    Stepwise::boxed(stage)
}

/// The codes of requests that a talker speaks together.
fn spoken(model: &Qwen3Model, stage: Box<dyn Stage>, requests: &[SpeechRequest]) -> BTreeMap<SeqId, Vec<i32>> {
    spoken_as(&Voice::default(), model, stage, requests)
}

fn spoken_as(voice: &Voice, model: &Qwen3Model, mut stage: Box<dyn Stage>, requests: &[SpeechRequest]) -> BTreeMap<SeqId, Vec<i32>> {
    let mut codes: BTreeMap<SeqId, Vec<i32>> = BTreeMap::new();
    let mut speaking: Vec<SeqId> = Vec::new();
    for (seq, request) in (1..).zip(requests) {
        stage.admit(seq, &model.prepare(request, voice).expect("it is taken").prompt).expect("a free slot");
        speaking.push(seq);
    }
    while !speaking.is_empty() {
        let work = speaking.iter().map(|seq| SeqWork { seq: *seq, max_units: 1 }).collect();
        stage.submit(&StepPlan { work }).expect("a step");
        for event in stage.collect().expect("a step") {
            match event {
                StageEvent::Output { seq, data: Data::Codes { codes: frame, .. } } => codes.entry(seq).or_default().extend(frame),
                StageEvent::Finished { seq, .. } => {
                    stage.release(seq);
                    speaking.retain(|other| *other != seq);
                }
                other => panic!("{other:?}"),
            }
        }
    }
    codes
}

#[test]
fn recorded_frames_are_the_plain_frames() {
    let (golden, requests) = (Golden::open("custom_voice"), requests(5));
    let (model, speak) = (open(&golden), |frames| talker(&golden, frames));
    assert_eq!(spoken(&model, speak(Frames::Recorded), &requests), spoken(&model, speak(Frames::Plain), &requests));
}

#[test]
fn replicas_that_share_a_device_do_not_disturb_each_other() {
    let (golden, requests) = (Golden::open("custom_voice"), requests(5));
    let model = open(&golden);
    let alone = spoken(&model, talker(&golden, Frames::Plain), &requests);
    // Each records its steps while the others open, record and speak.
    std::thread::scope(|scope| {
        let replica = || spoken(&model, talker(&golden, Frames::Recorded), &requests);
        let replicas: Vec<_> = (0..3).map(|_| scope.spawn(replica)).collect();
        for replica in replicas {
            assert_eq!(replica.join().expect("it speaks"), alone);
        }
    });
}

#[test]
fn a_replica_elsewhere_makes_the_same_frames_of_weights_of_its_own() {
    let (golden, requests) = (Golden::open("custom_voice"), requests(3));
    let (model, device) = (open(&golden), common::placement().device(0));
    let [home, elsewhere] = [model.open_stage(0), model.open_stage_on(0, device)].map(|stage| stage.expect("it opens"));
    assert_eq!(spoken(&model, home, &requests), spoken(&model, elsewhere, &requests));
    assert!(model.open_stage_on(1, device).is_ok());
    assert!(model.open_stage_on(2, device).is_err());
}

#[test]
fn a_voice_from_a_vector_begins_with_sound_where_an_operator_wants_that() {
    const LOUD: usize = 6;
    let golden = Golden::open("base");
    let voice = golden.voice(golden.case("icl_long_text"));
    let mut placement = common::placement();
    placement.wishes[0].settings.insert("silence_ban_frames".into(), json!(LOUD));
    let open = |placement: &Placement| Qwen3Model::open(&golden.directory, placement, &Services::silent()).expect("it opens");
    let (free, barred) = (open(&common::placement()), open(&placement));
    let silence = golden.weights().cloning.as_ref().expect("a Base checkpoint").silence().expect("silence has codes");
    assert!(!silence.is_empty());
    // Each asks for a few more frames than are barred, so that the recorded steps take over from the plain ones.
    let request = |seed: u64, is_vector: bool| {
        let mut request = SpeechRequest::new(TEXTS[0]).with_seed(seed);
        request.fields.insert("max_new_tokens".into(), json!(LOUD + 3));
        request.fields.insert("x_vector_only_mode".into(), json!(is_vector));
        request.fields.insert("extra_params".into(), json!({"temperature": 3.0, "top_k": 0}));
        request
    };
    let vectors: Vec<SpeechRequest> = (0..8).map(|seed| request(seed, true)).collect();
    let codebooks = golden.config.talker_config.num_code_groups;
    let silent = |codes: &BTreeMap<SeqId, Vec<i32>>| {
        let early = codes.values().flat_map(|codes| codes.chunks(codebooks).take(LOUD));
        early.filter(|frame| silence.contains(&(frame[0] as u32))).count()
    };
    let speak = |model: &Qwen3Model, requests: &[SpeechRequest]| spoken_as(&voice, model, model.open_stage(0).expect("it opens"), requests);
    assert!(silent(&speak(&free, &vectors)) > 0, "nothing is silent anyway");
    let loud = speak(&barred, &vectors);
    assert_eq!((silent(&loud), loud.len()), (0, vectors.len()));
    assert!(loud.values().any(|codes| codes.len() > LOUD * codebooks), "none is as long as the barred frames");
    // A voice that is continued has its reference to begin from.
    let continued: Vec<SpeechRequest> = (0..3).map(|seed| request(seed, false)).collect();
    assert_eq!(speak(&free, &continued), speak(&barred, &continued));
    let mut wrong = |value| {
        placement.wishes[0].settings.insert("silence_ban_frames".into(), value);
        Qwen3Model::open(&golden.directory, &placement, &Services::silent()).err().expect("it is refused").message
    };
    assert_eq!(wrong(json!("x")), "silence_ban_frames: expected a number of frames, found \"x\"");
}
