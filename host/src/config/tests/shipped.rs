//! Every packaged file: it is read without a warning, says what it should, and its plan is the one that was looked at.

use super::super::{Load, Machine};
use super::super::{Plan, Report, Source, fit, packaged_names};
use super::plan_of;

fn packaged(name: &str) -> Plan {
    let source = Source::packaged(name).expect("a packaged file");
    plan_of(&source, &[], &[]).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_plan_of_every_file_is_as_it_was_looked_at() {
    for name in packaged_names() {
        let plan = packaged(name);
        let warnings: Vec<_> = plan.findings.iter().filter(|finding| finding.kind.is_warning()).collect();
        assert!(warnings.is_empty(), "{name}: {warnings:?}");
        let rows = fit(&[Load { plan: &plan, needs: &[] }], &Machine::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
        insta::assert_snapshot!(name, Report::new(&plan, &rows).text());
    }
}

#[test]
fn every_file_in_the_folder_is_packaged() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy");
    let entries = std::fs::read_dir(folder).expect("the folder of deploy files").flatten();
    let mut there: Vec<String> = entries
        .filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".yaml")?.to_owned()))
        .filter(|name| !name.starts_with("compose"))
        .collect();
    there.sort();
    assert_eq!(there, packaged_names().collect::<Vec<_>>());
}

/// File, asynchronous chunks, and for each stage: sequences, share, batched tokens, longest sequence, eager.
type Line = (&'static str, bool, &'static [(u32, Option<f64>, Option<u32>, Option<u64>, bool)]);

const LIMITS: &[Line] = &[
    ("qwen3_tts", true, &[(64, Some(0.3), Some(512), Some(4096), false), (64, Some(0.3), Some(65536), Some(65536), false)]),
    ("qwen3_tts_mrv2", true, &[(64, Some(0.3), Some(512), Some(4096), false), (64, Some(0.3), Some(65536), Some(65536), false)]),
    ("qwen3_tts_high_concurrency", true, &[(64, Some(0.3), Some(512), Some(4096), false), (10, Some(0.3), Some(65536), Some(65536), true)]),
    (
        "qwen3_tts_high_concurrency_mrv2",
        true,
        &[(64, Some(0.3), Some(512), Some(4096), false), (10, Some(0.3), Some(65536), Some(65536), false)],
    ),
    (
        "qwen3_tts_high_concurrency_mrv2_single_gpu",
        true,
        &[(128, Some(0.3), Some(512), Some(4096), false), (32, Some(0.3), Some(65536), Some(65536), false)],
    ),
    ("fish_qwen3_omni", true, &[(4, Some(0.6), Some(16384), Some(16384), false), (1, Some(0.1), Some(16384), Some(16384), true)]),
    ("fish_qwen3_omni_2gpu", true, &[(64, Some(0.75), Some(16384), Some(16384), false), (64, Some(0.2), Some(16384), Some(16384), true)]),
    ("voxtral_tts", true, &[(32, Some(0.8), Some(32768), Some(4096), false), (32, Some(0.1), Some(65536), Some(65536), true)]),
    ("cosyvoice3", true, &[(8, Some(0.4), Some(32768), None, false), (8, Some(0.2), Some(32768), Some(32768), true)]),
    ("gepard", false, &[(4, Some(0.3), Some(4096), Some(4096), true)]),
    ("omnivoice", false, &[(8, None, None, None, true)]),
    ("voxcpm2", false, &[(8, Some(0.9), Some(4096), Some(4096), true)]),
    ("moss_tts_nano", false, &[(1, Some(0.3), Some(4096), Some(4096), true)]),
    ("breeze_tts_2", true, &[(2, Some(0.65), Some(4096), Some(2048), false), (2, Some(0.15), Some(32768), Some(32768), false)]),
    (
        "breeze_tts_2_throughput",
        true,
        &[(32, Some(0.65), Some(4096), Some(2048), false), (32, Some(0.15), Some(32768), Some(32768), false)],
    ),
    ("auk", false, &[(1, Some(0.45), Some(32768), None, true), (1, Some(0.35), None, None, true)]),
    ("higgs_audio_v2", false, &[(4, Some(0.6), Some(2048), Some(4096), true), (4, Some(0.25), Some(65536), Some(65536), true)]),
    ("glm_tts", true, &[(1, Some(0.55), Some(512), Some(2048), false), (1, Some(0.25), Some(2048), Some(8192), true)]),
];

#[test]
fn the_limits_are_those_of_the_reference() {
    for (name, async_chunk, stages) in LIMITS {
        let plan = packaged(name);
        assert_eq!(plan.async_chunk.value, *async_chunk, "{name}");
        assert_eq!(plan.stages.len(), stages.len(), "{name}");
        for (stage, (seqs, share, batched, longest, eager)) in plan.stages.iter().zip(*stages) {
            assert_eq!(stage.max_num_seqs.as_ref().map(|setting| setting.value), Some(*seqs), "{name}");
            assert_eq!(stage.memory_share.as_ref().map(|setting| setting.value), *share, "{name}");
            assert_eq!(stage.max_num_batched_tokens.as_ref().map(|setting| setting.value), *batched, "{name}");
            assert_eq!(stage.max_model_len.as_ref().map(|setting| setting.value), *longest, "{name}");
            assert_eq!(stage.enforce_eager.value, *eager, "{name}");
        }
    }
}

#[test]
fn a_platform_changes_what_its_section_says() {
    let source = Source::packaged("voxtral_tts").expect("a packaged file");
    let plan = plan_of(&source, &["--platform", "XPU"], &[]).expect("a good file");
    assert!(plan.stages[0].enforce_eager.value);
    assert_eq!(plan.stages[0].memory_share.as_ref().map(|share| share.value), Some(0.7));
    assert_eq!(plan.stages[1].memory_share.as_ref().map(|share| share.value), Some(0.28));
    assert_eq!(plan.stages[1].max_num_seqs.as_ref().map(|seqs| seqs.value), Some(32));
}

#[test]
fn programs_get_the_same_as_people() {
    let plan = packaged("qwen3_tts");
    let rows = fit(&[Load { plan: &plan, needs: &[] }], &Machine::default()).expect("nothing is known that would not fit");
    let json = Report::new(&plan, &rows).json();
    let value = json["stages"][0]["values"].as_array().and_then(|values| values.iter().find(|value| value["key"] == "max_num_seqs"));
    let wanted = serde_json::json!({"key": "max_num_seqs", "value": 64, "origin": "deploy/qwen3_tts.yaml:23:5"});
    assert_eq!(value, Some(&wanted));
    assert_eq!(json["memory"][1]["stage"], "stage_1");
    assert_eq!(json["findings"][0]["kind"], "no_effect");
}
