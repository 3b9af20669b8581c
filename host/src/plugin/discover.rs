//! From a plugin's name to its family, checked.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use omni_plugin_api::abi::LoadError;
use omni_plugin_api::{DataKind, Family, FamilyInfo, PluginError, contain};

use super::limited::{Overrun, limited};
use super::{PluginSpec, library, search};

/// How long opening a library and asking what it is may take. Loading a model has a limit of its own.
const DESCRIBE_LIMIT: Duration = Duration::from_secs(30);

/// Name under which the built-in voice can be asked for.
const BUILT_IN: &str = "hibari";

#[cfg(feature = "hibari")]
fn embedded() -> Option<Arc<dyn Family>> {
    Some(Arc::new(hibari::Hibari))
}

#[cfg(not(feature = "hibari"))]
fn embedded() -> Option<Arc<dyn Family>> {
    None
}

/// A family that was found, loaded and described.
pub struct Discovered {
    /// The family.
    pub family: Arc<dyn Family>,
    /// Its description, checked.
    pub info: FamilyInfo,
    /// The library's file; `None` for the built-in voice.
    pub file: Option<PathBuf>,
    /// Sixteen hex digits over the library's bytes: tells two builds of one version apart.
    pub build: String,
}

/// Why a plugin cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DiscoverError {
    /// No such file.
    #[error("no plugin '{plugin}': tried {}", tried.iter().map(|path| format!("'{}'", path.display())).collect::<Vec<_>>().join(", "))]
    NotFound {
        /// As asked for.
        plugin: String,
        /// Every file that was tried.
        tried: Vec<PathBuf>,
    },
    /// The file cannot be read.
    #[error("'{}' cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The library was refused.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Opening it or its description took too long.
    #[error("plugin '{plugin}' did not describe itself within {} s", DESCRIBE_LIMIT.as_secs())]
    Silent {
        /// As asked for.
        plugin: String,
    },
    /// No plugin was named, and this program was built without a voice of its own.
    #[error("this build of omni-host has no built-in voice: name a family with --plugin")]
    NothingBuiltIn,
    /// What it says of itself cannot be.
    #[error("plugin '{plugin}' {reason}")]
    Misdescribed {
        /// As asked for.
        plugin: String,
        /// What is wrong.
        reason: String,
    },
}

/// Finds, loads and describes a plugin, on a thread of its own: a library that hangs costs a thread and not the host.
pub fn discover(spec: &PluginSpec) -> Result<Discovered, DiscoverError> {
    let plugin = spec.plugin.clone();
    let label = spec.label();
    match limited(&format!("open {label}"), DESCRIBE_LIMIT, move || open(plugin.as_deref())) {
        Ok(found) => found,
        Err(Overrun::TimedOut) => Err(DiscoverError::Silent { plugin: label.to_owned() }),
        Err(overrun) => Err(misdescribed(label, format!("cannot be opened: {overrun}"))),
    }
}

fn open(plugin: Option<&str>) -> Result<Discovered, DiscoverError> {
    let Some(name) = plugin else { return built_in() };
    match search::resolve(name) {
        Ok(path) => from_file(name, path),
        Err(_) if name == BUILT_IN => built_in(),
        Err(tried) => Err(DiscoverError::NotFound { plugin: name.to_owned(), tried }),
    }
}

fn built_in() -> Result<Discovered, DiscoverError> {
    let family = embedded().ok_or(DiscoverError::NothingBuiltIn)?;
    let info = describe(BUILT_IN, &*family)?;
    Ok(Discovered { family, build: format!("built into omni-host {}", env!("CARGO_PKG_VERSION")), info, file: None })
}

fn from_file(name: &str, path: PathBuf) -> Result<Discovered, DiscoverError> {
    let build = library::fingerprint(&path).map_err(|source| DiscoverError::Unreadable { path: path.clone(), source })?;
    let family: Arc<dyn Family> = Arc::from(omni_plugin_api::abi::load(&path)?);
    let info = describe(name, &*family)?;
    Ok(Discovered { family, info, file: Some(path), build })
}

fn describe(name: &str, family: &dyn Family) -> Result<FamilyInfo, DiscoverError> {
    let info = contain("describe", || Ok(family.describe())).map_err(|error: PluginError| misdescribed(name, error.message))?;
    check(&info).map_err(|reason| misdescribed(name, reason))?;
    Ok(info)
}

fn misdescribed(plugin: &str, reason: impl Into<String>) -> DiscoverError {
    DiscoverError::Misdescribed { plugin: plugin.to_owned(), reason: reason.into() }
}

/// Checks a description: what is wrong with it, as the end of a sentence that begins with the plugin.
fn check(info: &FamilyInfo) -> Result<(), String> {
    let is_plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_' || letter == '-';
    if info.name.is_empty() || info.name.len() > 64 || !info.name.chars().all(is_plain) {
        return Err(format!("calls its family {:?}; a name has 1 to 64 of a-z, 0-9, '_' and '-'", info.name));
    }
    check_audio(info.sample_rate_hz, info.channels)?;
    if !info.request_schema.is_object() {
        return Err("states a request schema that is not a JSON object".to_owned());
    }
    check_stages(info)
}

/// Checks the output format of a family or a model.
pub(crate) fn check_audio(sample_rate_hz: u32, channels: u16) -> Result<(), String> {
    if !(4_000..=384_000).contains(&sample_rate_hz) {
        return Err(format!("states a sample rate of {sample_rate_hz} Hz; 4000 to 384000 is possible"));
    }
    if !(1..=2).contains(&channels) {
        return Err(format!("states {channels} channels; 1 or 2 is possible"));
    }
    Ok(())
}

fn check_stages(info: &FamilyInfo) -> Result<(), String> {
    let (Some(first), Some(last)) = (info.stages.first(), info.stages.last()) else {
        return Err("has no stage".to_owned());
    };
    if first.input != DataKind::Prompt {
        return Err(format!("has a first stage '{}' that takes {:?} instead of a prompt", first.name, first.input));
    }
    if last.output != DataKind::Pcm {
        return Err(format!("has a last stage '{}' that gives {:?} instead of audio", last.name, last.output));
    }
    let mismatch = info.stages.windows(2).find(|pair| pair[0].output != pair[1].input);
    match mismatch {
        Some(pair) => {
            let (from, to) = (&pair[0], &pair[1]);
            Err(format!("has stage '{}' giving {:?} to '{}', which takes {:?}", from.name, from.output, to.name, to.input))
        }
        None => Ok(()),
    }
}

#[cfg(all(test, feature = "hibari"))]
mod tests {
    use super::*;

    #[test]
    fn a_description_that_cannot_be_is_refused_with_its_reason() {
        let good = hibari::Hibari.describe();
        assert_eq!(check(&good), Ok(()));
        let refused = |change: &dyn Fn(&mut FamilyInfo)| {
            let mut info = good.clone();
            change(&mut info);
            check(&info).expect_err("the change makes it impossible")
        };
        assert!(refused(&|info| info.name = "Bad Name".into()).contains("Bad Name"));
        assert!(refused(&|info| info.sample_rate_hz = 0).contains("0 Hz"));
        assert!(refused(&|info| info.channels = 3).contains("3 channels"));
        assert!(refused(&|info| info.stages.clear()).contains("no stage"));
        assert!(refused(&|info| info.stages[0].input = DataKind::Codes).contains("instead of a prompt"));
        assert!(refused(&|info| info.stages.truncate(1)).contains("instead of audio"));
        assert!(refused(&|info| info.stages[1].input = DataKind::Codes).contains("which takes Codes"));
    }
}
