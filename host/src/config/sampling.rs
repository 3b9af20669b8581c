//! How a stage samples for requests that do not say.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::deploy::{Sampling, Subtalker};
use super::node::{Map, Node};
use super::typed::Section;
use super::{ConfigError, Origin, Setting};

/// Sampling values of a stage that were set, by the name a deploy file gives them.
pub type SamplingPlan = BTreeMap<String, Setting<Json>>;

/// A value's range as a test and in words.
#[derive(Clone, Copy)]
struct Range(&'static str, fn(f64) -> bool);

const RANGES: [(&str, Range); 11] = [
    ("temperature", Range("a number from 0 to 10", |value| (0.0..=10.0).contains(&value))),
    ("top_k", Range("a whole number from 1 up, or -1 or 0 for off", |value| value >= -1.0)),
    ("top_p", Range("a number above 0 up to 1", |value| value > 0.0 && value <= 1.0)),
    ("repetition_penalty", Range("a number above 0", |value| value > 0.0)),
    ("max_tokens", Range("a whole number from 1 up", |value| value >= 1.0)),
    ("min_tokens", Range("a whole number from 0 up", |value| value >= 0.0)),
    ("seed", Range("a whole number", |_| true)),
    ("ignore_eos", Range("true or false", |_| true)),
    ("num_inference_steps", Range("a whole number from 1 up", |value| value >= 1.0)),
    ("guidance_scale", Range("a number from 0 up", |value| value >= 0.0)),
    ("do_sample", Range("true or false", |_| true)),
];

/// Reads `default_sampling_params` of a stage.
pub(crate) fn sampling(stage: &Map, path: &str) -> Result<SamplingPlan, ConfigError> {
    let path = format!("{path}.default_sampling_params");
    let Some(map) = inner(stage, "default_sampling_params", &path)? else { return Ok(SamplingPlan::new()) };
    // The types are checked here; the values are taken as they are written.
    let section: Section<Sampling> = Section::read(map, Sampling::KEYS, &path)?;
    let plan = plan(map, Sampling::KEYS, &path)?;
    let (min, max) = (section.setting(&section.typed.min_tokens), section.setting(&section.typed.max_tokens));
    match (min, max) {
        (Some(min), Some(max)) if min.value > max.value => {
            let message = format!("expected at most max_tokens, which is {} ({}), found {}", max.value, max.origin, min.value);
            Err(ConfigError::conflict(&min.origin, section.key("min_tokens"), message))
        }
        _ => Ok(with_extra(plan, map)),
    }
}

/// Reads `subtalker_sampling_params` of a stage.
pub(crate) fn subtalker(stage: &Map, path: &str) -> Result<SamplingPlan, ConfigError> {
    let path = format!("{path}.subtalker_sampling_params");
    let Some(map) = inner(stage, "subtalker_sampling_params", &path)? else { return Ok(SamplingPlan::new()) };
    Section::<Subtalker>::read(map, Subtalker::KEYS, &path)?;
    plan(map, Subtalker::KEYS, &path)
}

fn inner<'a>(stage: &'a Map, name: &str, path: &str) -> Result<Option<&'a Map>, ConfigError> {
    match stage.get(name) {
        None => Ok(None),
        Some(node) => match node.as_map() {
            Some(map) => Ok(Some(map)),
            None => Err(ConfigError::value(&node.origin, path, format!("expected a mapping, found {}", node.describe()))),
        },
    }
}

fn plan(map: &Map, names: &[&str], path: &str) -> Result<SamplingPlan, ConfigError> {
    let mut plan = SamplingPlan::new();
    for (name, node) in map.iter().filter(|(name, _)| names.contains(&name.as_str())) {
        let json = node.to_json();
        let range = RANGES.iter().find(|(key, _)| key == name).map(|(_, range)| range);
        if let (Some(Range(wanted, is_within)), Some(number)) = (range, json.as_f64())
            && !is_within(number)
        {
            let message = format!("expected {wanted}, found {number}");
            return Err(ConfigError::value(&node.origin, format!("{path}.{name}"), message));
        }
        plan.insert(name.clone(), Setting::new(json, node.origin.clone()));
    }
    Ok(plan)
}

/// Adds the family's own values, which stand in `extra_args`.
fn with_extra(mut plan: SamplingPlan, map: &Map) -> SamplingPlan {
    for (name, node) in map.get("extra_args").and_then(Node::as_map).into_iter().flatten() {
        let origin: Origin = node.origin.clone();
        plan.entry(name.clone()).or_insert_with(|| Setting::new(node.to_json(), origin));
    }
    plan
}
