//! Flags for single stages, taken out of a command line.

use std::ffi::OsString;

use super::super::{StageFlag, extract_stage_flags};

fn extract(line: &str) -> (Vec<String>, Vec<StageFlag>) {
    let (rest, flags) = extract_stage_flags(line.split(' ').map(OsString::from)).expect("a good command line");
    (rest.into_iter().map(|arg| arg.to_string_lossy().into_owned()).collect(), flags)
}

fn flag(flag: &str, stage: u32, key: &str, value: &str) -> StageFlag {
    StageFlag { flag: flag.to_owned(), stage, key: key.to_owned(), value: value.to_owned() }
}

#[test]
fn flags_for_stages_are_taken_and_the_rest_is_left_in_its_order() {
    let (rest, flags) = extract("host serve --port 1 --stage-0-max-num-seqs 4 --stage-12-dtype=float16 --stage-1-enforce-eager --model x");
    assert_eq!(rest.join(" "), "host serve --port 1 --model x");
    let wanted = [
        flag("--stage-0-max-num-seqs", 0, "max_num_seqs", "4"),
        flag("--stage-12-dtype", 12, "dtype", "float16"),
        flag("--stage-1-enforce-eager", 1, "enforce_eager", "true"),
    ];
    assert_eq!(flags, wanted);
}

#[test]
fn what_only_looks_alike_is_left_alone() {
    let line =
        "host --stage-overrides {} --stage-init-timeout 3 --stage-id 1 --stage-1 x --stage-x-y 1 --stage-1-UP 2 -- --stage-0-dtype x";
    let (rest, flags) = extract(line);
    assert_eq!((rest.join(" ").as_str(), flags.len()), (line, 0));
}

#[test]
fn a_value_may_be_negative_empty_or_the_last() {
    let (rest, flags) = extract("host --stage-0-max-model-len -1 --stage-0-model= --stage-1-enforce-eager");
    assert_eq!(rest, ["host"]);
    let values: Vec<&str> = flags.iter().map(|flag| flag.value.as_str()).collect();
    assert_eq!(values, ["-1", "", "true"]);
}

#[test]
fn a_stage_number_without_end_is_refused() {
    let error = extract_stage_flags(["--stage-99999999999-dtype".into(), "x".into()]).expect_err("no stage has that number").to_string();
    assert_eq!(error, "--stage-99999999999-dtype: expected a stage number after --stage-, found one that is too large");
}
