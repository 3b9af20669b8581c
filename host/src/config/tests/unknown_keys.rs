//! Keys that nobody knows and values of no effect, with their places.

use serde_json::json;

use super::super::{FindingKind, Source};
use super::{Known, family, plan, plan_for, plan_of};

const MISSPELT: &str = "\
async_chunks: true
connectors:
  c:
    name: SharedMemoryConnector
    extra:
      codec_chunk_frame: 25
stages:
  - stage_id: 0
    max_num_seq: 4
    default_sampling_params:
      temprature: 1
    whatever: 1
  - stage_id: 1
platforms:
  npu:
    stages:
      - stage_id: 1
        max_num_sequences: 2
";

#[test]
fn a_misspelt_key_is_named_with_its_place_and_what_is_meant() {
    let plan = plan(MISSPELT).expect("unknown keys are no errors");
    let found: Vec<String> = plan.findings.iter().map(ToString::to_string).collect();
    let wanted = [
        "warning: test.yaml:1:1: async_chunks: nobody reads this key; did you mean async_chunk",
        "warning: test.yaml:6:7: connectors.c.extra.codec_chunk_frame: nobody reads this key; did you mean codec_chunk_frames",
        "warning: test.yaml:9:5: stages.0.max_num_seq: nobody reads this key; did you mean max_num_seqs",
        "warning: test.yaml:12:5: stages.0.whatever: nobody reads this key",
        "warning: test.yaml:11:7: stages.0.default_sampling_params.temprature: nobody reads this key; did you mean temperature",
        "warning: test.yaml:18:9: platforms.npu.stages.1.max_num_sequences: nobody reads this key",
    ];
    assert_eq!(found, wanted);
}

#[test]
fn a_strict_reader_refuses_them_all_at_once() {
    let error = plan_of(&Source::of_test("test.yaml", MISSPELT), &["--strict-config"], &[]).expect_err("it is refused").to_string();
    assert_eq!(error.lines().count(), 6, "{error}");
    assert!(error.starts_with("test.yaml:1:1: async_chunks: nobody reads this key"), "{error}");
    assert!(plan_of(&Source::packaged("qwen3_tts").expect("a file"), &["--strict-config"], &[]).is_ok(), "notes are no faults");
}

#[test]
fn a_misspelt_flag_is_an_error() {
    let source = Source::packaged("qwen3_tts").expect("a packaged file");
    for (argv, start) in [
        (&["--stage-0-max-num-seq", "4"][..], "--stage-0-max-num-seq: stages.0.max_num_seq: expected a key of a stage"),
        (&["--stage-5-max-num-seqs", "4"], "--stage-5-max-num-seqs: stages.5: expected one of the stages 0, 1, found 5"),
        (&["--stage-overrides", "{\"a\": {}}"], "--stage-overrides: a: expected a stage number as key"),
        (&["--stage-overrides", "{\"0\": 1}"], "--stage-overrides: 0: expected an object of keys, found the number 1"),
        (&["--stage-overrides", "{0}"], "--stage-overrides: expected a JSON object"),
        (&["--default-sampling-params", "{\"top_k\": 7}"], "--default-sampling-params: top_k: expected a stage number as key"),
        (
            &["--default-sampling-params", "{\"0\": {\"temperature\": 99}}"],
            "--default-sampling-params: stages.0.default_sampling_params.temperature: expected a number from 0 to 10, found 99",
        ),
    ] {
        let error = plan_of(&source, argv, &[]).expect_err("it is refused").to_string();
        assert!(error.starts_with(start), "{error}");
    }
}

#[test]
fn a_value_of_no_effect_says_so_once() {
    let text =
        "stages:\n- stage_id: 0\n  async_scheduling: true\n  enable_prefix_caching: false\n- stage_id: 1\n  async_scheduling: false\n";
    let plan = plan(text).expect("a good file");
    assert_eq!(plan.findings.len(), 1, "{:?}", plan.findings);
    let finding = &plan.findings[0];
    assert_eq!((finding.kind, finding.further, finding.origin.to_string().as_str()), (FindingKind::NoEffect, 1, "test.yaml:3:3"));
    assert!(finding.to_string().ends_with("(and in 1 further place)"), "{finding}");
}

#[test]
fn a_mapping_that_replaces_a_number_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("base.yaml"), "stages: [{stage_id: 0, hf_overrides: {a: 1}}]").expect("a file");
    std::fs::write(folder.path().join("child.yaml"), "base_config: base.yaml\nstages: [{stage_id: 0, hf_overrides: 3}]").expect("a file");
    let source = Source::open(folder.path().join("child.yaml").to_str().expect("a path")).expect("a file");
    let error = plan_of(&source, &[], &[]).expect_err("it is no mapping").to_string();
    assert!(error.contains("child.yaml:2:24: stages.0.hf_overrides: expected a mapping, found the number 3"), "{error}");
}

const OF_A_FAMILY: &str = "\
connectors: {c: {name: SharedMemoryConnector, extra: {crossfade_sec: 0.1, codec_left_context_frames: 72}}}
stages:
  - {stage_id: 0, hf_overrides: {depth: 2}, quantization: fp8, silence_ban_frames: 0, output_connectors: {to_stage_1: c}}
  - {stage_id: 1, silence_ban_frames: 5}
";

#[test]
fn keys_of_a_family_go_to_it_and_those_that_it_does_not_read_are_told() {
    let mut family = family("some", Known::default());
    family.settings = vec!["hf_overrides".to_owned(), "crossfade_sec".to_owned()];
    let plan = plan_for(&Source::of_test("test.yaml", OF_A_FAMILY), Some(&family), &[], &[]).expect("a good file");
    let found: Vec<String> = plan.findings.iter().map(ToString::to_string).collect();
    let wanted = [
        "note: test.yaml:1:75: stages.0.output_connectors.extra.codec_left_context_frames: has no effect here: the family some does not read it",
        "note: test.yaml:3:45: stages.0.quantization: has no effect here: the family some does not read it",
        "note: test.yaml:4:19: stages.1.silence_ban_frames: has no effect here: the family some does not read it",
    ];
    assert_eq!(found, wanted, "what is off needs no word");
    let [first, second] = [0, 1].map(|stage| serde_json::Value::Object(plan.placement().wish(stage).settings));
    let wanted = json!({
        "hf_overrides": {"depth": 2}, "crossfade_sec": 0.1, "codec_left_context_frames": 72, "quantization": "fp8", "silence_ban_frames": 0
    });
    assert_eq!(first, wanted);
    assert_eq!(second, json!({"silence_ban_frames": 5}));
}
