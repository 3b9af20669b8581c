//! Chunk policies.

use super::super::Plan;
use super::super::chunks::{ChunkPolicy, FirstChunk, Growth};
use super::{plan, refusal};

fn with(extra: &str) -> String {
    format!(
        "connectors:\n  c:\n    extra:\n      {}\nstages:\n  - stage_id: 0\n    output_connectors: {{to_stage_1: c}}\n  - stage_id: 1\n",
        extra.replace('\n', "\n      ")
    )
}

fn policy(extra: &str) -> (ChunkPolicy, Plan) {
    let plan = plan(&with(extra)).unwrap_or_else(|error| panic!("{error}"));
    (plan.stages[0].chunks.clone().expect("the first stage hands chunks on"), plan)
}

#[test]
fn a_policy_is_told_in_a_line() {
    let cases = [
        ("codec_chunk_frames: 25", "ic=from-load ramp=by-slack steady=25"),
        ("initial_codec_chunk_frames: 1\ncodec_chunk_ramp: [4, 4, 8, 16, 25]", "ic=1 ramp=[4,4,8,16,25] steady=25"),
        ("codec_chunk_ramp: '1,2, 4'", "ic=from-load ramp=[1,2,4] steady=25"),
        ("codec_chunk_frames: [25, 50, 200]", "ic=from-load ramp=by-slack steady=25,50,200"),
        ("codec_chunk_adaptive: true\ncodec_chunk_ramp: [1, 2]", "ic=from-load adaptive(min=2 margin=50ms divisor=15 growth=2) steady=25"),
    ];
    for (extra, wanted) in cases {
        assert_eq!(policy(extra).0.to_string(), wanted, "{extra}");
    }
}

#[test]
fn a_stream_never_jumps_from_its_first_chunk_to_a_steady_one_by_default() {
    let (policy, plan) = policy("codec_chunk_frames: 25\ninitial_codec_chunk_frames: 1");
    assert_eq!((policy.growth.value, policy.initial.value), (Growth::Slack, FirstChunk::Frames(1)));
    assert!(plan.stages[1].chunks.is_none());
}

#[test]
fn what_cannot_be_is_adjusted_and_told() {
    let (larger, plan) = policy("codec_chunk_frames: 5\ninitial_codec_chunk_frames: 9");
    assert_eq!(larger.initial.value, FirstChunk::Frames(5));
    assert_eq!(plan.findings.len(), 1);
    assert!(plan.findings[0].to_string().starts_with("warning: test.yaml:5:7: connectors.c.extra.initial_codec_chunk_frames: 9 frames"));
    for ramp in ["[1, 0]", "[]", "[-3]"] {
        let (off, plan) = policy(&format!("codec_chunk_ramp: {ramp}"));
        assert_eq!((off.growth.value, plan.findings.len()), (Growth::Slack, 1), "{ramp}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (extra, part) in [
        ("codec_chunk_frames: 0", "test.yaml:4:7: connectors.c.extra.codec_chunk_frames: expected frames from 1 to"),
        ("codec_chunk_frames: x", "test.yaml:4:7: connectors.c.extra.codec_chunk_frames: expected a number of frames"),
        ("codec_left_context_frames: -1", "test.yaml:4:7: connectors.c.extra.codec_left_context_frames: expected a whole number"),
        ("{codec_chunk_adaptive: true, codec_chunk_min_frames: 0}", "codec_chunk_min_frames: expected a number from 1 to"),
        ("{codec_chunk_adaptive: true, codec_chunk_safety_margin_ms: -1}", "codec_chunk_safety_margin_ms: expected milliseconds"),
    ] {
        let error = refusal(&with(extra));
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn context_defaults_follow_each_other_and_family_keys_go_along() {
    let (policy, _) = policy("codec_left_context_frames: 72\ncrossfade_sec: 0.1\ncodec_streaming: true");
    assert_eq!((policy.left_context_frames.value, policy.reference_context_frames.value), (72, 72));
    assert_eq!(policy.family.keys().collect::<Vec<_>>(), ["crossfade_sec"], "what does nothing is left out");
}
