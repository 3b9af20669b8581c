//! Who wins over whom.

use super::super::{Origin, Source};
use super::{plan_of, refusal};

/// Who may set a value, the lowest rank first.
const RANKS: [&str; 9] = ["pipeline", "base", "child", "extras", "platform", "variable", "stage_variable", "flag", "stage_flag"];

/// The file of a subset of ranks, its base, its flags and its variables.
fn build(on: impl Fn(&str) -> bool) -> (String, String, Vec<&'static str>, Vec<(&'static str, &'static str)>) {
    let line = |rank: &str, text: &str| if on(rank) { format!("{text}\n") } else { String::new() };
    let base = format!("stages:\n  - stage_id: 0\n    max_num_seqs: 1\n{}", line("base", "    quantization: base"));
    let child = [
        "base_config: base.yaml\n".to_owned(),
        line("pipeline", "quantization: pipeline"),
        "stages:\n  - stage_id: 0\n    num_replicas: 1\n".to_owned(),
        line("child", "    quantization: child"),
        line("extras", "    engine_extras: {quantization: extras}"),
        line("platform", "platforms: {cuda: {stages: [{stage_id: 0, quantization: platform}]}}"),
    ];
    let flags = [("flag", "--quantization=flag"), ("stage_flag", "--stage-0-quantization=stage_flag")];
    let variables =
        [("variable", "OMNI_HOST_QUANTIZATION", "variable"), ("stage_variable", "OMNI_HOST_STAGE_0_QUANTIZATION", "stage_variable")];
    let flags = flags.into_iter().filter(|(rank, _)| on(rank)).map(|(_, flag)| flag).collect();
    let variables = variables.into_iter().filter(|(rank, ..)| on(rank)).map(|(_, name, value)| (name, value)).collect();
    (child.concat(), base, flags, variables)
}

#[test]
fn of_every_subset_of_those_who_set_a_value_the_highest_wins() {
    let folder = tempfile::tempdir().expect("a folder");
    let (child_path, base_path) = (folder.path().join("child.yaml"), folder.path().join("base.yaml"));
    for subset in 0_u32..1 << RANKS.len() {
        let on = |rank: &str| RANKS.iter().position(|known| *known == rank).is_some_and(|index| subset & (1 << index) != 0);
        let (child, base, flags, variables) = build(on);
        std::fs::write(&child_path, child).expect("a file");
        std::fs::write(&base_path, base).expect("a file");
        let source = Source::open(child_path.to_str().expect("a path")).expect("the file");
        let plan = plan_of(&source, &flags, &variables).unwrap_or_else(|error| panic!("{subset:b}: {error}"));
        let winner = RANKS.iter().rev().find(|rank| on(rank)).copied();
        let found = plan.stages[0].quantization.as_ref();
        assert_eq!(found.map(|setting| setting.value.as_str()), winner, "{subset:b}");
        assert!(found.is_none_or(|setting| comes_from(&setting.origin, winner)), "{subset:b}: {found:?}");
    }
}

fn comes_from(origin: &Origin, rank: Option<&str>) -> bool {
    let text = origin.to_string();
    match rank {
        Some("flag") => text == "--quantization",
        Some("stage_flag") => text == "--stage-0-quantization",
        Some("variable") => text == "environment OMNI_HOST_QUANTIZATION",
        Some("stage_variable") => text == "environment OMNI_HOST_STAGE_0_QUANTIZATION",
        Some("base") => text.ends_with("base.yaml:4:5"),
        Some(_) => text.contains("child.yaml:"),
        None => true,
    }
}

#[test]
fn a_flag_that_was_not_typed_changes_nothing() {
    let source = Source::packaged("qwen3_tts").expect("a packaged file");
    let plan = plan_of(&source, &["--stage-init-timeout", "20"], &[]).expect("a good file");
    assert!(plan.async_chunk.value);
    assert!(matches!(&plan.stages[0].max_num_seqs, Some(setting) if matches!(setting.origin, Origin::File { .. })));
    let plan = plan_of(&source, &["--async-chunk", "--no-async-chunk"], &[]).expect("a good file");
    assert_eq!((plan.async_chunk.value, plan.async_chunk.origin), (false, Origin::Flag("--no-async-chunk".to_owned())));
    assert!(!plan.stages[0].async_chunk.value);
}

#[test]
fn a_flag_for_everything_reaches_every_stage() {
    let source = Source::packaged("qwen3_tts").expect("a packaged file");
    let plan = plan_of(&source, &["--gpu-memory-utilization", ".2", "--enforce-eager"], &[]).expect("good flags");
    for stage in &plan.stages {
        assert_eq!(stage.memory_share.as_ref().map(|share| share.value), Some(0.2));
        assert!(stage.enforce_eager.value);
    }
}

#[test]
fn the_two_ways_to_set_a_key_of_a_stage_must_agree() {
    let source = Source::packaged("qwen3_tts").expect("a packaged file");
    let json = r#"{"0": {"max_num_seqs": 8, "default_sampling_params": {"top_k": 7}}}"#;
    let plan = plan_of(&source, &["--stage-overrides", json, "--stage-0-max-num-seqs", "8"], &[]).expect("the same twice");
    assert_eq!(plan.stages[0].max_num_seqs.as_ref().map(|seqs| seqs.value), Some(8));
    assert_eq!(plan.stages[0].sampling["top_k"].value, 7);
    assert_eq!(plan.stages[0].sampling["temperature"].value, 0.9, "mappings are merged");
    let error = plan_of(&source, &["--stage-overrides", json, "--stage-0-max-num-seqs", "9"], &[]).expect_err("two values").to_string();
    assert_eq!(
        error,
        "--stage-0-max-num-seqs: stages.0.max_num_seqs: expected one value, found the number 9 here and the number 8 by --stage-overrides"
    );
}

#[test]
fn sampling_values_of_a_flag_are_laid_over_those_of_the_file() {
    let source = Source::packaged("qwen3_tts").expect("a packaged file");
    let plan = plan_of(&source, &["--default-sampling-params", r#"{"0": {"top_k": 7}}"#], &[]).expect("good values");
    let sampling = &plan.stages[0].sampling;
    assert_eq!((&sampling["top_k"].value, sampling["top_k"].origin.to_string().as_str()), (&7.into(), "--default-sampling-params"));
    assert_eq!(sampling["temperature"].value, 0.9);
    assert_eq!(plan.stages[1].sampling["top_k"].value, -1);
}

#[test]
fn a_base_may_lie_deeper_and_may_not_go_in_circles() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("a file");
    std::fs::create_dir(folder.path().join("deep")).expect("a folder");
    write("a.yaml", "base_config: deep/b.yaml\nstages: [{stage_id: 0, max_num_seqs: 3}]");
    write("deep/b.yaml", "base_config: c.yaml\nstages: [{stage_id: 0, max_model_len: 5}]");
    write("deep/c.yaml", "stages: [{stage_id: 0, max_num_seqs: 2, dtype: auto}]");
    let path = folder.path().join("a.yaml").display().to_string();
    let plan = plan_of(&Source::open(&path).expect("a file"), &[], &[]).expect("a good chain");
    assert_eq!(plan.files.len(), 3);
    assert_eq!(plan.stages[0].max_num_seqs.as_ref().map(|seqs| seqs.value), Some(3));
    assert!(plan.stages[0].dtype.as_ref().is_some_and(|dtype| dtype.origin.to_string().contains("c.yaml:1:")));
    write("deep/c.yaml", "base_config: ../a.yaml");
    let error = plan_of(&Source::open(&path).expect("a file"), &[], &[]).expect_err("a circle").to_string();
    assert!(error.contains("c.yaml:1:1: base_config: expected a file that is not based on this one"), "{error}");
}

#[test]
fn a_key_in_an_older_shape_is_the_stages_own() {
    let text = "stages:\n- stage_id: 0\n  engine_args: {max_num_seqs: 3}\n  runtime: {devices: '1', num_replicas: 1}\n";
    let plan = super::plan(text).expect("an older shape");
    assert_eq!(plan.stages[0].max_num_seqs.as_ref().map(|seqs| seqs.value), Some(3));
    assert_eq!(plan.stages[0].devices.value, [omni_plugin_api::Device::Cuda(1)]);
    let error = refusal("stages:\n- stage_id: 0\n  max_num_seqs: 2\n  engine_args: {max_num_seqs: 3}\n");
    assert!(error.starts_with("test.yaml:4:17: stages[0].engine_args.max_num_seqs: expected one value"), "{error}");
    let error = refusal("stage_args:\n- stage_id: 0\n");
    assert!(error.starts_with("test.yaml:1:1: stage_args: expected"), "{error}");
}

#[test]
fn extras_may_not_choose_another_engine() {
    let error = refusal("stages:\n- stage_id: 0\n  engine_extras:\n    worker_cls: x\n");
    assert!(error.starts_with("test.yaml:4:5: stages.0.engine_extras.worker_cls: expected a setting"), "{error}");
}

#[test]
fn nothing_as_a_value_is_as_if_the_key_were_absent() {
    let plan = super::plan("dtype: float16\nstages: [{stage_id: 0, dtype: null, max_num_seqs: ~}]").expect("a good file");
    assert_eq!(plan.stages[0].dtype.as_ref().map(|dtype| dtype.value.as_str()), Some("float16"));
    assert_eq!(plan.stages[0].max_num_seqs, None);
}
