//! Merging three layers gives the same whichever two are merged first.

use std::collections::BTreeMap;

use proptest::collection::btree_map;
use proptest::prelude::*;

use super::super::Origin;
use super::super::layer::Layer;
use super::super::merge::{Rule, over_base, over_stage};
use super::super::node::{Map, Node, Value};

/// Keys whose values are mappings, of both sorts: merged key by key, and replaced as a whole.
const MAPPINGS: &str = "(default_sampling_params|engine_extras|compilation_config|env)";

fn number() -> impl Strategy<Value = Node> {
    (0..3_i128).prop_map(|value| Node::new(Value::Int(value), &Origin::Default))
}

fn mapping() -> impl Strategy<Value = Node> {
    btree_map("[a-c]", number(), 0..3).prop_map(|map| Node::new(Value::Map(map), &Origin::Default))
}

fn stage() -> impl Strategy<Value = Map> {
    (btree_map("(max_num_seqs|dtype)", number(), 0..3), btree_map(MAPPINGS, mapping(), 0..4)).prop_map(|(mut numbers, mappings)| {
        numbers.extend(mappings);
        numbers
    })
}

fn connectors() -> impl Strategy<Value = Map> {
    let extra = btree_map("(extra)", mapping(), 0..2).prop_map(|map| Node::new(Value::Map(map), &Origin::Default));
    let named = btree_map("(one|two)", extra, 0..3).prop_map(|map| Node::new(Value::Map(map), &Origin::Default));
    btree_map("(connectors)", named, 0..2)
}

fn plain_layer() -> impl Strategy<Value = Layer> {
    let top = (btree_map("(async_chunk|pipeline)", number(), 0..3), connectors()).prop_map(|(mut top, connectors)| {
        top.extend(connectors);
        top
    });
    (top, btree_map(0..3_u32, stage(), 0..3)).prop_map(|(top, stages)| Layer { top, stages, platforms: BTreeMap::new() })
}

fn layer() -> impl Strategy<Value = Layer> {
    (plain_layer(), btree_map("(npu|xpu)", plain_layer(), 0..3)).prop_map(|(layer, platforms)| Layer { platforms, ..layer })
}

fn over(base: &Layer, child: &Layer) -> Layer {
    over_base(base.clone(), child.clone(), &mut Vec::new())
}

fn flags_over(below: &Map, above: &Map) -> Map {
    let mut merged = below.clone();
    over_stage(&mut merged, above.clone(), Rule::Override, "", &mut Vec::new());
    merged
}

proptest! {
    #[test]
    fn files_merge_associatively(one in layer(), two in layer(), three in layer()) {
        prop_assert_eq!(over(&over(&one, &two), &three), over(&one, &over(&two, &three)));
    }

    #[test]
    fn flags_merge_associatively(one in stage(), two in stage(), three in stage()) {
        prop_assert_eq!(flags_over(&flags_over(&one, &two), &three), flags_over(&one, &flags_over(&two, &three)));
    }

    #[test]
    fn an_empty_layer_changes_nothing(one in layer()) {
        prop_assert_eq!(over(&one, &Layer::default()), one.clone());
        prop_assert_eq!(over(&Layer::default(), &one), one);
    }
}

#[test]
fn which_mappings_are_merged_depends_on_what_is_laid_over_what() {
    let mapping = |key: &str, inner: &str| {
        let inner = Map::from([(inner.to_owned(), Node::new(Value::Int(1), &Origin::Default))]);
        Map::from([(key.to_owned(), Node::new(Value::Map(inner), &Origin::Default))])
    };
    let cases = [
        (Rule::Child, "default_sampling_params", 2),
        (Rule::Child, "env", 1),
        (Rule::Child, "compilation_config", 1),
        (Rule::Platform, "default_sampling_params", 2),
        (Rule::Platform, "env", 2),
        (Rule::Platform, "compilation_config", 1),
        (Rule::Override, "compilation_config", 2),
    ];
    for (rule, key, keys) in cases {
        let mut merged = mapping(key, "a");
        over_stage(&mut merged, mapping(key, "b"), rule, "", &mut Vec::new());
        assert_eq!(merged[key].as_map().map(Map::len), Some(keys), "{rule:?} {key}");
    }
}
