//! Connectors, edges, and which stages hand chunks on.

use super::{plan, refusal};

#[test]
fn only_memory_joins_stages() {
    let error = refusal("connectors:\n  c:\n    name: MooncakeTransferEngineConnector\nstages: [{stage_id: 0}, {stage_id: 1}]");
    let wanted = "test.yaml:3:5: connectors.c.name: expected SharedMemoryConnector, since all stages run in one process, \
                  found the text \"MooncakeTransferEngineConnector\"";
    assert_eq!(error, wanted);
}

#[test]
fn ends_that_do_not_meet_are_refused() {
    let ends = |out: &str, into: &str| {
        format!(
            "connectors: {{a: {{}}, b: {{}}}}\nstages:\n- stage_id: 0\n  output_connectors: {out}\n- stage_id: 1\n  input_connectors: {into}\n"
        )
    };
    let cases = [
        (
            ends("{to_stage_1: a}", "{from_stage_0: b}"),
            "test.yaml:6:22: stages.1.input_connectors.from_stage_0: expected 'a' as at the other end, found 'b'",
        ),
        (
            ends("{to_stage_1: c}", "{}"),
            "test.yaml:4:23: stages.0.output_connectors.to_stage_1: expected the name of a connector, found 'c'; there are a, b",
        ),
        (
            ends("{to_stage_2: a}", "{}"),
            "test.yaml:4:23: stages.0.output_connectors: expected to_stage_N with the number of the stage beside stage 0, found 'to_stage_2'",
        ),
        (ends("{stage_1: a}", "{}"), "test.yaml:4:23: stages.0.output_connectors: expected to_stage_N"),
        (
            ends("{to_stage_1: 3}", "{}"),
            "test.yaml:4:23: stages.0.output_connectors.to_stage_1: expected a connector's name, found the number 3",
        ),
        (ends("3", "{}"), "test.yaml:4:3: stages.0.output_connectors: expected a mapping, found the number 3"),
    ];
    for (text, start) in cases {
        let error = refusal(&text);
        assert!(error.starts_with(start), "{error}");
    }
    assert!(plan(&ends("{to_stage_1: a}", "{from_stage_0: a}")).is_ok());
}

#[test]
fn a_connector_may_be_written_in_place() {
    let text = "stages:\n- stage_id: 0\n  output_connectors: {to_stage_1: {extra: {codec_chunk_frames: 7}}}\n- stage_id: 1\n";
    let plan = plan(text).expect("a good file");
    assert_eq!(plan.stages[0].chunks.as_ref().map(|chunks| chunks.steady_frames.value.clone()), Some(vec![7]));
}

#[test]
fn edges_run_from_a_stage_to_the_next() {
    let edges = |edge: &str| format!("edges: [{edge}]\nstages: [{{stage_id: 0}}, {{stage_id: 1}}]");
    assert!(plan(&edges("{from: 0, to: 1, window_size: 3}")).is_ok());
    for edge in ["{from: 1, to: 0}", "{from: 0}", "{from: a, to: b}", "{from: 0, to: 5}"] {
        assert!(refusal(&edges(edge)).starts_with("test.yaml:1:9: edges.0: expected 'from' a stage"), "{edge}");
    }
}

#[test]
fn both_ends_of_an_edge_agree_on_chunks() {
    let stages = |one: &str, two: &str| format!("stages:\n- stage_id: 0\n{one}- stage_id: 1\n{two}");
    let (on, off) = ("  async_chunk: true\n", "  async_chunk: false\n");
    let chunked = |one: &str, two: &str| plan(&stages(one, two)).map(|plan| plan.stages[0].async_chunk.value);
    assert_eq!(chunked("", ""), Ok(true));
    assert_eq!(chunked(off, ""), Ok(false));
    assert_eq!(chunked("", off), Ok(false));
    assert_eq!(chunked(off, off), Ok(false));
    let error = chunked(on, off).expect_err("they disagree");
    assert_eq!(error, "test.yaml:5:3: stages.1.async_chunk: expected true as in the stage before (test.yaml:3:3), found false");
}

#[test]
fn one_stage_has_nobody_to_hand_chunks_to() {
    let plan = plan("async_chunk: true\nstages: [{stage_id: 0}]").expect("a good file");
    assert!(!plan.async_chunk.value);
    assert!(plan.findings.iter().any(|finding| finding.to_string().contains("one stage has no other")));
}
