//! Files that are broken or meant to break something: an error comes, soon, and no panic.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::super::Source;
use super::{plan, refusal};

/// A refusal that came soon.
fn refused_soon(text: &str) -> String {
    let started = Instant::now();
    let error = refusal(text);
    assert!(started.elapsed() < Duration::from_secs(10), "it took {:?}", started.elapsed());
    error
}

#[test]
fn bombs_are_defused() {
    let mut aliases = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let below = format!("*a{}, ", level - 1).repeat(9);
        aliases.push_str(&format!("a{level}: &a{level} [{below}]\n"));
    }
    let mut merges = "m0: &m0 {k: 1}\n".to_owned();
    for level in 1..200 {
        merges.push_str(&format!("m{level}: &m{level} {{<<: *m{}, k{level}: 1}}\n", level - 1));
    }
    let mut keys = String::new();
    for key in 0..60_000 {
        keys.push_str(&format!("k{key}: 1\n"));
    }
    let braces = format!("x: '{}{}'", "${".repeat(50_000), "}".repeat(50_000));
    for text in [
        aliases,
        merges,
        keys,
        braces,
        format!("a: {}", "[".repeat(500_000)),
        format!("a: {}", "{a: ".repeat(100_000)),
        format!("{}x: 1", "- ".repeat(100_000)),
        "x".repeat(2 << 20),
        format!("a: {}", "9".repeat(500_000)),
        format!("? {}", "a".repeat(100_000)),
    ] {
        refused_soon(&text);
    }
}

#[test]
fn many_unknown_keys_are_no_burden() {
    let mut text = "stages: [{stage_id: 0}]\n".to_owned();
    for key in 0..9_000 {
        text.push_str(&format!("async_chunk{key}: 1\n"));
    }
    let started = Instant::now();
    assert_eq!(plan(&text).map(|plan| plan.findings.len()), Ok(9_000));
    assert!(started.elapsed() < Duration::from_secs(10), "it took {:?}", started.elapsed());
}

#[test]
fn what_is_wrong_is_said_with_line_column_key_and_both_sides() {
    let stage = |line: &str| format!("stages:\n  - stage_id: 0\n    {line}\n");
    let cases = [
        (
            stage("max_num_seqs: eighty"),
            "test.yaml:3:5: stages.0.max_num_seqs: expected a whole number from 0 to 4294967295, found the text \"eighty\"",
        ),
        (
            stage("max_num_seqs: -1"),
            "test.yaml:3:5: stages.0.max_num_seqs: expected a whole number from 0 to 4294967295, found the number -1",
        ),
        (stage("max_num_seqs: 0"), "test.yaml:3:5: stages.0.max_num_seqs: expected a number from 1 to 65536, found 0"),
        (stage("max_num_seqs: 99999999999999999999"), "test.yaml:3:5: stages.0.max_num_seqs: expected a whole number"),
        (
            stage("max_num_seqs: 1.5"),
            "test.yaml:3:5: stages.0.max_num_seqs: expected a whole number from 0 to 4294967295, found the number 1.5",
        ),
        (stage("max_num_seqs: [1]"), "test.yaml:3:5: stages.0.max_num_seqs: expected a whole number from 0 to 4294967295, found a list"),
        (stage("max_num_seqs: {a: 1}"), "test.yaml:3:5: stages.0.max_num_seqs: expected a whole number"),
        (
            stage("gpu_memory_utilization: 1.5"),
            "test.yaml:3:5: stages.0.gpu_memory_utilization: expected a share of the device's memory above 0 up to 1, found 1.5",
        ),
        (stage("gpu_memory_utilization: .nan"), "test.yaml:3:29: expected YAML, found what is none"),
        (stage("max_model_len: -2"), "test.yaml:3:5: stages.0.max_model_len: expected a number of tokens up to"),
        (stage("kv_cache_memory_bytes: 0"), "test.yaml:3:5: stages.0.kv_cache_memory_bytes: expected bytes from 1 up"),
        (stage("enforce_eager: maybe"), "test.yaml:3:5: stages.0.enforce_eager: expected true or false, found the text \"maybe\""),
        (stage("devices: [0]"), "test.yaml:3:5: stages.0.devices: expected device numbers such as"),
        (stage("devices: gpu"), "test.yaml:3:5: stages.0.devices: expected device numbers such as"),
        (stage("devices: 0,1"), "test.yaml:3:5: stages.0.devices: expected one device, or one for each of 1 replicas, found 2 devices"),
        (stage("num_replicas: 0"), "test.yaml:3:5: stages.0.num_replicas: expected 1 to 64 replicas, found 0"),
        (stage("num_replicas: 4000000000"), "test.yaml:3:5: stages.0.num_replicas: expected 1 to 64 replicas"),
        (stage("tensor_parallel_size: 2"), "test.yaml:3:5: stages.0.tensor_parallel_size: expected 1"),
        (stage("dtype: int3"), "test.yaml:3:5: stages.0.dtype: expected one of auto, bfloat16, float16, float32, found 'int3'"),
        (stage("hf_overrides: 3"), "test.yaml:3:5: stages.0.hf_overrides: expected a mapping, found the number 3"),
        (stage("default_sampling_params: 3"), "test.yaml:3:5: stages.0.default_sampling_params: expected a mapping"),
        (
            stage("default_sampling_params: {temperature: warm}"),
            "test.yaml:3:31: stages.0.default_sampling_params.temperature: expected a number, found the text \"warm\"",
        ),
        (
            stage("default_sampling_params: {top_p: 2}"),
            "test.yaml:3:31: stages.0.default_sampling_params.top_p: expected a number above 0 up to 1, found 2",
        ),
        (
            stage("default_sampling_params: {min_tokens: 5, max_tokens: 4}"),
            "test.yaml:3:31: stages.0.default_sampling_params.min_tokens: expected at most max_tokens",
        ),
        ("async_chunk: 3\nstages: [{stage_id: 0}]".to_owned(), "test.yaml:1:1: async_chunk: expected true or false, found the number 3"),
        ("model_runner: v3\nstages: [{stage_id: 0}]".to_owned(), "test.yaml:1:1: model_runner: expected one of v1, v2, found 'v3'"),
        ("session_mode: duplex\nstages: [{stage_id: 0}]".to_owned(), "test.yaml:1:1: session_mode: expected turn"),
        ("stages: {a: 1}".to_owned(), "test.yaml:1:1: stages: expected a list of stages, found a mapping of 1 keys"),
        ("stages: [1]".to_owned(), "test.yaml:1:10: stages[0]: expected a mapping, found the number 1"),
        ("stages: [{max_num_seqs: 1}]".to_owned(), "test.yaml:1:10: stages[0]: expected a stage_id, found none"),
        (
            "stages: [{stage_id: x}]".to_owned(),
            "test.yaml:1:11: stages[0].stage_id: expected a stage number from 0 up, found the text \"x\"",
        ),
        ("stages: [{stage_id: -1}]".to_owned(), "test.yaml:1:11: stages[0].stage_id: expected a stage number from 0 up"),
        ("stages: [{stage_id: 0}, {stage_id: 0}]".to_owned(), "test.yaml:1:26: stages: expected every stage_id once, found 0 twice"),
        ("platforms: 3\nstages: [{stage_id: 0}]".to_owned(), "test.yaml:1:1: platforms: expected a mapping"),
        ("edges: 3\nstages: [{stage_id: 0}]".to_owned(), "test.yaml:1:1: edges: expected a list of edges"),
        ("connectors: [1]\nstages: [{stage_id: 0}]".to_owned(), "test.yaml:1:1: connectors: expected a mapping"),
        ("base_config: 3\nstages: [{stage_id: 0}]".to_owned(), "test.yaml:1:1: base_config: expected a path, found the number 3"),
        ("base_config: none.yaml\nstages: [{stage_id: 0}]".to_owned(), "test.yaml:1:1: base_config: expected a deploy file, found none"),
        ("a: 1\na: 2".to_owned(), "test.yaml:2:1: expected YAML, found what is none: duplicate mapping key: a"),
        ("stages:\n  - stage_id: 0\n\tmax_num_seqs: 1".to_owned(), "test.yaml:"),
        ("a: 1\n---\nb: 2".to_owned(), "test.yaml:3:1: expected YAML, found what is none: multiple YAML documents detected"),
        ("- 1".to_owned(), "test.yaml:1:1: expected a mapping, found a list of 1"),
        ("7".to_owned(), "test.yaml:1:1: expected a mapping, found the number 7"),
        ("a: *b".to_owned(), "test.yaml:1:4: expected YAML"),
        (String::new(), "test.yaml: stages: expected at least one stage, found none"),
    ];
    for (text, start) in cases {
        let error = refusal(&text);
        assert!(error.starts_with(start), "{text}\n  wanted {start}\n  found  {error}");
    }
}

#[test]
fn limits_that_contradict_each_other_are_refused() {
    let error = refusal("stages: [{stage_id: 0, max_num_seqs: 8, max_num_batched_tokens: 4}]");
    assert_eq!(
        error,
        "test.yaml:1:41: stages.0.max_num_batched_tokens: expected at least max_num_seqs, which is 8 (test.yaml:1:24), found 4"
    );
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let binary = folder.path().join("binary.yaml");
    std::fs::write(&binary, [0xff, 0xfe, 0x00]).expect("a file");
    for (reference, part) in [
        (binary.to_str().expect("a path"), "expected a readable text file"),
        (folder.path().to_str().expect("a path"), "expected a deploy file, found none"),
        ("no/such/file.yaml", "expected a deploy file, found none: tried no/such/file.yaml"),
        ("qwen3_tt", "did you mean qwen3_tts"),
    ] {
        let error = Source::open(reference).expect_err("it cannot be read").to_string();
        assert!(error.starts_with(reference) && error.contains(part), "{error}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "(stages|: |- |\\n|  |\\{|\\}|\\[|\\]|\\$\\{|stage_id|0|,|\"|'|&a|\\*a|<<|!!int|~|\t|é|#|\\|){0,60}") {
        drop(plan(&text));
    }

    #[test]
    fn no_value_makes_it_panic(key in "(max_num_seqs|devices|num_replicas|default_sampling_params|engine_extras|env|output_connectors|max_model_len)", value in ".{0,40}") {
        drop(plan(&format!("stages:\n  - stage_id: 0\n    {key}: {value}\n")));
    }
}
