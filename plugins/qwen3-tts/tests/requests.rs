//! What a request may ask, and the errors of one that may not.

mod common;

use common::Golden;
use omni_plugin_api::{ErrorKind, Model, NamedTensor, Placement, PluginError, Prepared, ReferenceAudio, Services, SpeechRequest, Voice};
use qwen3_tts::layout::Speaker;
use qwen3_tts::model::Qwen3Model;
use qwen3_tts::prompt::{SPEAKER_EMBEDDING, Speech};
use serde_json::{Value, json};

fn open(name: &str) -> (Golden, Qwen3Model) {
    let golden = Golden::open(name);
    let model = Qwen3Model::open(&golden.directory, &Placement::default(), &Services::silent()).expect("it opens");
    (golden, model)
}

fn prepare(model: &Qwen3Model, fields: Value, voice: &Voice) -> Result<Prepared, PluginError> {
    let fields = fields.as_object().cloned().unwrap_or_default();
    model.prepare(&SpeechRequest { fields, ..SpeechRequest::new("Hi there.") }, voice)
}

fn speech(prepared: &Prepared) -> Speech {
    prepared.prompt.read().expect("a speech")
}

fn refusal(model: &Qwen3Model, fields: Value, voice: &Voice) -> (String, String) {
    let error = prepare(model, fields, voice).expect_err("it is refused");
    assert_eq!(error.kind, ErrorKind::Invalid, "{error}");
    (error.field.unwrap_or_default(), error.message)
}

#[test]
fn a_built_in_voice_speaks_and_the_first_is_the_default() {
    let (golden, model) = open("custom_voice");
    let names: Vec<String> = model.info().voices.into_iter().map(|voice| voice.name).collect();
    assert_eq!(names.first().map(String::as_str), golden.config.talker_config.spk_id.names().next());
    let default = speech(&prepare(&model, json!({}), &Voice::default()).expect("it is taken"));
    assert_eq!(default, speech(&prepare(&model, json!({}), &Voice::named(names[0].to_uppercase())).expect("it is taken")));
    assert!(matches!(default.script.speaker, Speaker::Known(_)));
    assert!(default.script.reads_ahead && !default.must_end);
}

#[test]
fn what_a_custom_voice_checkpoint_refuses() {
    let (_, model) = open("custom_voice");
    let nobody = Voice::default();
    for (fields, field, text) in [
        (
            json!({"task_type": "Base"}),
            "task_type",
            "Qwen3-TTS CustomVoice checkpoint does not support task_type='Base'. \
             Use task_type='CustomVoice' or load the matching Base checkpoint.",
        ),
        (
            json!({"ref_text": "x"}),
            "task_type",
            "Qwen3-TTS CustomVoice checkpoint does not support task_type='Base'. \
             Use task_type='CustomVoice' or load the matching Base checkpoint.",
        ),
        (json!({"task_type": "CustomVoice", "ref_text": "x"}), "ref_text", "'ref_text' is only valid for Base task"),
        (json!({"x_vector_only_mode": false}), "x_vector_only_mode", "'x_vector_only_mode' is only valid for Base task"),
        (
            json!({"task_type": "CustomVoice", "speaker_embedding": [1.0]}),
            "speaker_embedding",
            "'speaker_embedding' is only valid for Base task",
        ),
        (json!({"instructions": "x".repeat(501)}), "instructions", "Instructions too long (max 500 characters)"),
        (json!({"max_new_tokens": 4097}), "max_new_tokens", "max_new_tokens cannot exceed 4096"),
    ] {
        assert_eq!(refusal(&model, fields, &nobody), (field.into(), text.into()));
    }
    let (field, text) = refusal(&model, json!({"language": "klingon"}), &nobody);
    assert_eq!(field, "language");
    assert!(text.starts_with("Invalid language 'Klingon'. Supported: Auto, "), "{text}");
    let (field, text) = refusal(&model, json!({}), &Voice::named("Nobody"));
    assert_eq!(field, "voice");
    assert!(text.starts_with("Invalid voice 'nobody'. Supported: aiden, dylan, "), "{text}");
}

#[test]
fn languages_are_compared_without_case_and_a_dialect_takes_their_place() {
    let (golden, model) = open("custom_voice");
    let tag = |name: &str| golden.config.talker_config.codec_language_id.get(name).map(|id| id.0);
    let language = |language: &str, voice: &str| {
        speech(&prepare(&model, json!({"language": language}), &Voice::named(voice)).expect("it is taken")).script.language
    };
    assert_eq!(
        (language("english", "ryan"), language("ENGLISH", "ryan"), language("auto", "ryan")),
        (tag("english"), tag("english"), None)
    );
    for open in ["Auto", "Chinese"] {
        assert_eq!(language(open, "eric"), tag("sichuan_dialect"));
    }
    assert_eq!(language("english", "eric"), tag("english"));
}

#[test]
fn what_the_operator_set_holds_for_requests_that_do_not_say() {
    let (_, model) = open("custom_voice");
    let defaults = json!({"temperature": 0.5, "top_k": 7, "min_tokens": 5, "max_tokens": 100, "subtalker_do_sample": false,
                          "seed": 42, "guidance_scale": 2.0});
    let prepare = |fields: Value| {
        let [fields, defaults] = [&fields, &defaults].map(|map| map.as_object().cloned().expect("an object"));
        model.prepare(&SpeechRequest { fields, defaults, ..SpeechRequest::new("Hi there.") }, &Voice::default())
    };
    let silent = speech(&prepare(json!({})).expect("it is taken"));
    assert_eq!((silent.first.temperature, silent.first.top_k, silent.first.penalty, silent.first.min_tokens), (0.5, 7, 1.05, 5));
    assert_eq!((silent.rest.temperature, silent.max_frames), (0.0, 100));
    let fields = json!({"max_new_tokens": 200, "extra_params": {"top_k": 3, "subtalker_dosample": true}});
    let said = speech(&prepare(fields).expect("it is taken"));
    assert_eq!((said.first.temperature, said.first.top_k, said.rest.temperature, said.max_frames), (0.5, 3, 0.9, 200));
}

#[test]
fn a_designed_voice_needs_its_description() {
    let (_, model) = open("voice_design");
    let nobody = Voice::default();
    let wanted = ("instructions".into(), "VoiceDesign task requires 'instructions' to describe the voice".into());
    assert_eq!(refusal(&model, json!({"task_type": "VoiceDesign"}), &nobody), wanted);
    let (field, text) = refusal(&model, json!({}), &nobody);
    assert!(field == "task_type" && text.contains("does not support task_type='CustomVoice'"), "{text}");
    let fields = json!({"task_type": "VoiceDesign", "instructions": "Speak very happily."});
    let speech = speech(&prepare(&model, fields, &nobody).expect("it is taken"));
    assert!(!speech.script.instruction.is_empty() && speech.script.speaker == Speaker::None);
}

#[test]
fn what_a_clone_needs() {
    let (golden, model) = open("base");
    let stored = golden.voice(golden.case("icl_long_text"));
    let base = |more: Value| {
        let mut fields = json!({"task_type": "Base"});
        fields.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
        fields
    };
    let nobody = Voice::default();
    let needs = "Base task requires 'ref_audio' or 'speaker_embedding' for voice cloning";
    assert_eq!(refusal(&model, base(json!({})), &nobody), ("ref_audio".into(), needs.into()));
    let unheard = "Base task with built-in speaker 'ann' requires 'ref_audio' for voice cloning";
    assert_eq!(refusal(&model, base(json!({})), &Voice::named("Ann")), ("voice".into(), unheard.into()));
    let silent = Voice { transcript: Some(" ".into()), ..stored.clone() };
    let text = "Base task requires non-empty 'ref_text' (transcript of the reference audio) unless 'x_vector_only_mode' is enabled";
    assert_eq!(refusal(&model, base(json!({})), &silent), ("ref_text".into(), text.into()));
    let width = golden.config.talker_config.decoder.hidden_size;
    let text = format!("speaker_embedding has 2 dimensions; expected {width} for the loaded Qwen3-TTS model");
    assert_eq!(refusal(&model, base(json!({"speaker_embedding": [1.0, 2.0]})), &nobody), ("speaker_embedding".into(), text));

    let continued = prepare(&model, json!({}), &stored).expect("a stored voice is cloned");
    assert_eq!((speech(&continued).script.reference_frames, continued.usage.audio_tokens), (7, 7));
    assert!(speech(&continued).must_end && !speech(&continued).script.reads_ahead);
    for prepared in [
        prepare(&model, json!({"x_vector_only_mode": true}), &silent).expect("the vector is enough"),
        prepare(&model, base(json!({"speaker_embedding": vec![0.5; width]})), &nobody).expect("a vector is a voice"),
    ] {
        let script = speech(&prepared).script;
        assert_eq!((script.reference_frames, script.speaker), (0, Speaker::Vector));
        assert_eq!(prepared.prompt.tensors.iter().map(|tensor| tensor.name.as_str()).collect::<Vec<_>>(), [SPEAKER_EMBEDDING]);
    }
}

#[test]
fn a_stored_voice_that_was_damaged_is_refused() {
    let (golden, model) = open("base");
    let stored = golden.voice(golden.case("icl_long_text"));
    for (shape, codes) in [(vec![2, 4], vec![0, 1, 2, 3, 4, 5, 6, 64]), (vec![1, 4], vec![0, 1, 2, -1]), (vec![1, 3], vec![0, 1, 2])] {
        let tensors = vec![stored.tensors[0].clone(), NamedTensor::i32("ref_code", shape, codes)];
        assert_eq!(refusal(&model, json!({}), &Voice { tensors, ..stored.clone() }).0, "voice");
    }
}

#[test]
fn only_base_makes_voices_and_only_of_enough_sound() {
    let short = ReferenceAudio { samples: vec![0.1; 1000], sample_rate_hz: 24_000, transcript: None };
    let error = open("base").1.encode_reference(&short).expect_err("too short");
    assert_eq!((error.kind, error.field.as_deref()), (ErrorKind::Invalid, Some("ref_audio")));
    let error = open("custom_voice").1.encode_reference(&short).expect_err("it cannot");
    assert_eq!(error.kind, ErrorKind::Unsupported);
}
