//! Which plugin opens a checkpoint.

use std::path::Path;

use omni_plugin_api::FamilyInfo;

use super::{PluginSpec, discover, list};
use crate::config::{Checkpoint, ConfigError, select};

/// Why no plugin was found for a checkpoint.
#[derive(Debug, thiserror::Error)]
pub enum DetectError {
    /// There are no plugins to choose from.
    #[error("'{folder}' needs the family that loads it, and no plugin library was found: give --plugin")]
    NoPlugins {
        /// The checkpoint's folder.
        folder: String,
    },
    /// None of them opens it, or it cannot be read.
    #[error(transparent)]
    Unknown(#[from] ConfigError),
}

/// The libraries that can be loaded by name, as if each had been asked for.
pub fn installed() -> Vec<PluginSpec> {
    list().into_iter().map(|file| PluginSpec::bare(Some(file.display().to_string()))).collect()
}

/// The number of the plugin among `plugins` whose family opens the checkpoint in `folder`. Those that do not load are left out.
pub fn detect(plugins: &[PluginSpec], folder: &Path) -> Result<usize, DetectError> {
    let checkpoint = Checkpoint::read(folder)?;
    let families: Vec<(usize, FamilyInfo)> =
        plugins.iter().enumerate().filter_map(|(number, spec)| Some((number, family(spec)?))).collect();
    if families.is_empty() {
        return Err(DetectError::NoPlugins { folder: folder.display().to_string() });
    }
    let (numbers, infos): (Vec<usize>, Vec<FamilyInfo>) = families.into_iter().unzip();
    let (found, _) = select::family(&infos, &checkpoint, None)?;
    let place = infos.iter().position(|info| info.name == found.name);
    Ok(place.and_then(|place| numbers.get(place).copied()).unwrap_or_default())
}

/// The family of a plugin that may open checkpoints.
fn family(spec: &PluginSpec) -> Option<FamilyInfo> {
    match discover(spec) {
        Ok(found) => Some(found.info).filter(|info| !info.checkpoints.is_empty()),
        Err(error) => {
            tracing::warn!(plugin = spec.label(), %error, "left out of the search for the checkpoint's family");
            None
        }
    }
}
