//! How a stage cuts its stream into chunks, read once from a connector's `extra`.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde_json::Value as Json;

use super::deploy::{Chunking, Frames};
use super::finding::{Finding, FindingKind};
use super::keys;
use super::node::{Map, Node};
use super::typed::Section;
use super::{ConfigError, Setting};

/// Steady chunk when nobody sets one: 25 frames.
const STEADY: u32 = 25;
/// Context when nobody sets one.
const LEFT_CONTEXT: u32 = 25;
/// Largest number of frames that can be meant: above two hours at 12.5 frames a second.
const MAX_FRAMES: u32 = 100_000;
/// Longest list of chunk sizes.
const MAX_RAMP: usize = 64;

/// The sizes of a stream's chunks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChunkPolicy {
    /// The first chunk.
    pub initial: Setting<FirstChunk>,
    /// Frames of a steady chunk; of several, each is used once and the last for good.
    pub steady_frames: Setting<Vec<u32>>,
    /// Frames before a chunk that a decoder without state sees again.
    pub left_context_frames: Setting<u32>,
    /// Reference frames before the first chunk of a cloned voice.
    pub reference_context_frames: Setting<u32>,
    /// How sizes grow from the first chunk to the steady one.
    pub growth: Setting<Growth>,
    /// Chunks that the decoder works on at once; 0 for any number.
    pub decode_batch: Setting<u32>,
    /// Keys for the family alone.
    pub family: BTreeMap<String, Setting<Json>>,
}

/// The first chunk of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FirstChunk {
    /// Small when few streams run, larger under load.
    FromLoad,
    /// This many frames.
    Frames(u32),
}

/// How chunk sizes grow.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Growth {
    /// As fast as what the listener has not heard yet allows, at most doubling; the host's own rule, so that a stream never jumps from
    /// its first chunk to a steady one.
    Slack,
    /// These sizes, then the steady one.
    Ramp(Vec<u32>),
    /// By the reference's feedback rule.
    Adaptive(Adaptive),
}

/// Numbers of the feedback rule.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Adaptive {
    /// Smallest chunk.
    pub min_frames: u32,
    /// How far a stream stays ahead of its listener.
    pub margin_ms: f64,
    /// Milliseconds a frame takes for one frame of growth.
    pub divisor: u32,
    /// Least growth.
    pub min_growth_frames: u32,
}

impl ChunkPolicy {
    /// What somebody set that only the family can act on, by key: the engine hands on whole chunks and no frame twice.
    pub fn family_settings(&self) -> impl Iterator<Item = (&str, Setting<Json>)> {
        let left = &self.left_context_frames;
        let context = Some(left).filter(|left| left.origin.is_set()).map(|left| ("codec_left_context_frames", left));
        let reference = Some(&self.reference_context_frames).filter(|own| own.origin.is_set() && own.origin != left.origin);
        let frames = context.into_iter().chain(reference.map(|own| ("ref_code_context_frames", own)));
        let frames = frames.map(|(key, frames)| (key, frames.clone().map(Json::from)));
        self.family.iter().map(|(key, value)| (key.as_str(), value.clone())).chain(frames)
    }

    /// Reads a connector's `extra`, found under `path`.
    pub(crate) fn read(extra: &Map, path: &str, findings: &mut Vec<Finding>) -> Result<Self, ConfigError> {
        let section: Section<Chunking> = Section::read(extra, Chunking::KEYS, path)?;
        let typed = &section.typed;
        let steady_frames = steady(&section)?;
        let left_context_frames = section.setting_or(&typed.codec_left_context_frames, LEFT_CONTEXT);
        let reference_context_frames = section.setting(&typed.ref_code_context_frames).unwrap_or_else(|| left_context_frames.clone());
        Ok(Self {
            initial: initial(&section, &steady_frames, findings),
            left_context_frames,
            reference_context_frames,
            growth: growth(&section, findings)?,
            decode_batch: section.setting_or(&typed.decode_batch_max_size, 0),
            family: family(extra),
            steady_frames,
        })
    }
}

/// What only the family reads.
fn family(extra: &Map) -> BTreeMap<String, Setting<Json>> {
    let is_family = |name: &String| !Chunking::KEYS.contains(&name.as_str()) && keys::find(keys::EXTRA, name) == Some(keys::Use::Live);
    extra
        .iter()
        .filter(|(name, _)| is_family(name))
        .map(|(name, node): (_, &Node)| (name.clone(), Setting::new(node.to_json(), node.origin.clone())))
        .collect()
}

fn steady(section: &Section<Chunking>) -> Result<Setting<Vec<u32>>, ConfigError> {
    let Some(setting) = section.setting(&section.typed.codec_chunk_frames) else { return Ok(Setting::default_of(vec![STEADY])) };
    match positive(&setting.value) {
        Some(frames) => Ok(Setting::new(frames, setting.origin)),
        None => {
            let message = format!("expected frames from 1 to {MAX_FRAMES}, at most {MAX_RAMP} of them, found {}", listed(&setting.value.0));
            Err(ConfigError::value(&setting.origin, section.key("codec_chunk_frames"), message))
        }
    }
}

fn initial(section: &Section<Chunking>, steady: &Setting<Vec<u32>>, findings: &mut Vec<Finding>) -> Setting<FirstChunk> {
    let setting = section.setting_or(&section.typed.initial_codec_chunk_frames, 0);
    let most = steady.value.first().copied().unwrap_or(STEADY);
    if setting.value > most {
        let message = format!("{} frames are more than the steady chunk of {most}; taken as {most}", setting.value);
        findings.push(Finding::new(FindingKind::Adjusted, &setting.origin, section.key("initial_codec_chunk_frames"), message));
    }
    setting.map(|frames| if frames == 0 { FirstChunk::FromLoad } else { FirstChunk::Frames(frames.min(most)) })
}

fn growth(section: &Section<Chunking>, findings: &mut Vec<Finding>) -> Result<Setting<Growth>, ConfigError> {
    let adaptive = section.setting_or(&section.typed.codec_chunk_adaptive, false);
    if adaptive.value {
        let numbers = self::adaptive(section)?;
        return Ok(adaptive.map(|_| Growth::Adaptive(numbers)));
    }
    let Some(ramp) = section.setting(&section.typed.codec_chunk_ramp) else { return Ok(Setting::default_of(Growth::Slack)) };
    match positive(&ramp.value) {
        Some(frames) => Ok(Setting::new(Growth::Ramp(frames), ramp.origin)),
        None => {
            let message = format!("expected frames from 1 to {MAX_FRAMES}, found {}; the ramp is off", listed(&ramp.value.0));
            findings.push(Finding::new(FindingKind::Adjusted, &ramp.origin, section.key("codec_chunk_ramp"), message));
            Ok(Setting::default_of(Growth::Slack))
        }
    }
}

fn adaptive(section: &Section<Chunking>) -> Result<Adaptive, ConfigError> {
    let typed = &section.typed;
    let numbers = [
        ("codec_chunk_min_frames", section.setting_or(&typed.codec_chunk_min_frames, 2)),
        ("codec_chunk_ramp_divisor", section.setting_or(&typed.codec_chunk_ramp_divisor, 15)),
        ("codec_chunk_ramp_delta_min", section.setting_or(&typed.codec_chunk_ramp_delta_min, 2)),
    ];
    for (key, setting) in &numbers {
        if !(1..=MAX_FRAMES).contains(&setting.value) {
            let message = format!("expected a number from 1 to {MAX_FRAMES}, found {}", setting.value);
            return Err(ConfigError::value(&setting.origin, section.key(key), message));
        }
    }
    let [(_, min_frames), (_, divisor), (_, min_growth_frames)] = numbers.map(|(key, setting)| (key, setting.value));
    let margin = section.setting_or(&typed.codec_chunk_safety_margin_ms, 50.0);
    if !(0.0..=60_000.0).contains(&margin.value) {
        let message = format!("expected milliseconds from 0 to 60000, found {}", margin.value);
        return Err(ConfigError::value(&margin.origin, section.key("codec_chunk_safety_margin_ms"), message));
    }
    Ok(Adaptive { min_frames, margin_ms: margin.value, divisor, min_growth_frames })
}

fn positive(frames: &Frames) -> Option<Vec<u32>> {
    let within = |frames: &i64| u32::try_from(*frames).ok().filter(|frames| (1..=MAX_FRAMES).contains(frames));
    let count_is_good = !frames.0.is_empty() && frames.0.len() <= MAX_RAMP;
    count_is_good.then(|| frames.0.iter().map(within).collect())?
}

fn listed(frames: &[i64]) -> String {
    match frames {
        [] => "an empty list".to_owned(),
        [one] => one.to_string(),
        many if many.len() > 8 => format!("a list of {}", many.len()),
        many => format!("{many:?}"),
    }
}

impl fmt::Display for ChunkPolicy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steady = join(&self.steady_frames.value);
        write!(formatter, "ic={} {} steady={steady}", self.initial.value, self.growth.value)
    }
}

impl fmt::Display for FirstChunk {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FromLoad => formatter.write_str("from-load"),
            Self::Frames(frames) => write!(formatter, "{frames}"),
        }
    }
}

impl fmt::Display for Growth {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slack => formatter.write_str("ramp=by-slack"),
            Self::Ramp(frames) => write!(formatter, "ramp=[{}]", join(frames)),
            Self::Adaptive(rule) => write!(
                formatter,
                "adaptive(min={} margin={}ms divisor={} growth={})",
                rule.min_frames, rule.margin_ms, rule.divisor, rule.min_growth_frames
            ),
        }
    }
}

fn join(frames: &[u32]) -> String {
    frames.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}
