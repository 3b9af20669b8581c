//! Variables of the environment.

use std::path::Path;
use std::time::Duration;

use super::super::{Environment, RegistrationPolicy, Source};
use super::{plan_of, variables};

fn read(pairs: &[(&str, &str)]) -> Result<Environment, String> {
    Environment::read(&variables(pairs)).map_err(|error| error.to_string())
}

#[test]
fn the_references_variables_keep_their_names_and_defaults() {
    let empty = read(&[]).expect("nothing is set");
    assert_eq!((empty.speaker_max_uploaded, empty.input_wait, empty.abort), (1000, Some(Duration::from_secs(600)), Duration::from_secs(2)));
    let set = read(&[
        ("SPEAKER_SAMPLES_DIR", "/voices"),
        ("SPEAKER_MAX_UPLOADED", "5"),
        ("VLLM_OMNI_SPEAKER_REGISTRATION_POLICY", "immutable"),
        ("VLLM_OMNI_INPUT_WAIT_TIMEOUT_S", "1.5"),
        ("VLLM_OMNI_ABORT_TIMEOUT", "0.5"),
    ])
    .expect("good values");
    assert_eq!(set.speaker_samples_dir.as_deref(), Some(Path::new("/voices")));
    assert_eq!((set.speaker_max_uploaded, set.registration_policy), (5, RegistrationPolicy::Immutable));
    assert_eq!((set.input_wait, set.abort), (Some(Duration::from_millis(1500)), Duration::from_millis(500)));
    assert!(set.findings.is_empty(), "{:?}", set.findings);
}

#[test]
fn what_cannot_be_is_refused_or_replaced() {
    assert_eq!(read(&[("SPEAKER_MAX_UPLOADED", "many")]).map(|read| read.speaker_max_uploaded), Ok(1000));
    assert_eq!(read(&[("VLLM_OMNI_INPUT_WAIT_TIMEOUT_S", "soon")]).map(|read| read.input_wait), Ok(Some(Duration::from_secs(600))));
    let off = read(&[("VLLM_OMNI_INPUT_WAIT_TIMEOUT_S", "0")]).expect("off");
    assert_eq!((off.input_wait, off.findings.len()), (None, 1));
    for (name, value) in [
        ("VLLM_OMNI_INPUT_WAIT_TIMEOUT_S", "-1"),
        ("VLLM_OMNI_INPUT_WAIT_TIMEOUT_S", "inf"),
        ("VLLM_OMNI_INPUT_WAIT_TIMEOUT_S", "nan"),
        ("VLLM_OMNI_SPEAKER_REGISTRATION_POLICY", "sometimes"),
    ] {
        let error = read(&[(name, value)]).expect_err("it is refused");
        assert!(error.starts_with(&format!("environment {name}: expected")), "{error}");
    }
}

#[test]
fn variables_that_nobody_reads_are_told() {
    let read =
        read(&[("VLLM_OMNI_NEW_THING", "1"), ("VLLM_OMNI_EVENT_DRIVEN_ORCH", "1"), ("OMNI_HOST_MAX_NUM_SEQ", "1"), ("OMNI_HOST_LOG", "x")]);
    let found: Vec<String> = read.expect("no errors").findings.iter().map(ToString::to_string).collect();
    let wanted = [
        "warning: environment VLLM_OMNI_NEW_THING: VLLM_OMNI_NEW_THING: nobody reads this variable",
        "note: environment VLLM_OMNI_EVENT_DRIVEN_ORCH: VLLM_OMNI_EVENT_DRIVEN_ORCH: has no effect here: the host is always driven by events",
        "warning: environment OMNI_HOST_MAX_NUM_SEQ: OMNI_HOST_MAX_NUM_SEQ: nobody reads this variable; did you mean OMNI_HOST_MAX_NUM_SEQS",
    ];
    assert_eq!(found, wanted);
}

#[test]
fn a_variable_sets_a_key_and_a_flag_wins() {
    let source = Source::packaged("qwen3_tts").expect("a packaged file");
    let environment = [("OMNI_HOST_ASYNC_CHUNK", "false"), ("OMNI_HOST_STAGE_1_MAX_NUM_SEQS", "7"), ("OMNI_HOST_MAX_NUM_SEQS", "9")];
    let plan = plan_of(&source, &[], &environment).expect("good variables");
    let seqs = |plan: &super::super::Plan| {
        plan.stages.iter().filter_map(|stage| stage.max_num_seqs.as_ref()).map(|seqs| seqs.value).collect::<Vec<_>>()
    };
    assert_eq!((plan.async_chunk.value, seqs(&plan)), (false, vec![9, 7]));
    let plan = plan_of(&source, &["--max-num-seqs", "5"], &environment).expect("good variables");
    assert_eq!(seqs(&plan), [5, 5]);
    let error = plan_of(&source, &[], &[("OMNI_HOST_MAX_NUM_SEQS", "lots")]).expect_err("no number").to_string();
    assert!(error.starts_with("environment OMNI_HOST_MAX_NUM_SEQS: stages.0.max_num_seqs: expected a whole number"), "{error}");
}
