//! The deploy files that come with the host.

use super::near::nearest;

/// Declares the packaged files by name.
macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../deploy/", $name, ".yaml")))),*]
    };
}

const FILES: &[(&str, &str)] = files![
    "auk",
    "breeze_tts",
    "breeze_tts_2",
    "breeze_tts_2_throughput",
    "breeze_tts_throughput",
    "cosyvoice3",
    "fish_qwen3_omni",
    "fish_qwen3_omni_2gpu",
    "fish_qwen3_omni_high_concurrency_dual_gpu",
    "fish_qwen3_omni_high_concurrency_single_gpu",
    "gepard",
    "glm_tts",
    "higgs_audio_v2",
    "moss_tts_nano",
    "omnivoice",
    "qwen3_tts",
    "qwen3_tts_forced_aligner",
    "qwen3_tts_high_concurrency",
    "qwen3_tts_high_concurrency_mrv2",
    "qwen3_tts_high_concurrency_mrv2_b4",
    "qwen3_tts_high_concurrency_mrv2_single_gpu",
    "qwen3_tts_mrv2",
    "voxcpm2",
    "voxtral_tts",
];

/// Other names of packaged files.
const ALIASES: [(&str, &str); 3] = [
    ("breeze", "breeze_tts"),
    ("fish_qwen3_omni_high_concurrency_dual", "fish_qwen3_omni_high_concurrency_dual_gpu"),
    ("fish_qwen3_omni_high_concurrency_single", "fish_qwen3_omni_high_concurrency_single_gpu"),
];

/// The names of the packaged files, without `.yaml`.
pub fn packaged_names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

/// A packaged file by its name without `.yaml`, or by another name of it.
pub(crate) fn find(name: &str) -> Option<(&'static str, &'static str)> {
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| *name);
    FILES.iter().find(|(known, _)| *known == name).copied()
}

/// The packaged file that a misspelt name probably means.
pub(crate) fn near(name: &str) -> Option<&'static str> {
    nearest(name, packaged_names())
}
