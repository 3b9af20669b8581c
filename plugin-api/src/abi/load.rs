//! Opening a library: the header first, then the version, then the layout, then the family.

use std::path::{Path, PathBuf};

use abi_stable::StableAbi;
use abi_stable::library::{LibHeader, LibraryError, lib_header_from_path};

use super::difference::innermost_difference;
use super::import::RemoteFamily;
use super::objects::PluginRootRef;
use crate::{Family, INTERFACE_VERSION, PluginError, version};

/// Why a library was not loaded. Each message is two lines at most and names the file.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It is no library of this platform, or it cannot be read.
    #[error("'{}' cannot be opened as a plugin library\n{reason}", path.display())]
    NotALibrary {
        /// The file.
        path: PathBuf,
        /// What the system's loader said.
        reason: String,
    },
    /// It was built for another version of the interface.
    #[error("'{}' was built for plugin interface {found}, this host speaks {INTERFACE_VERSION}\nbuild it again with omni-plugin-api {INTERFACE_VERSION}", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// The version that the library states.
        found: String,
    },
    /// The version agrees, the memory layout does not.
    #[error("'{}' states plugin interface {found} as this host ({INTERFACE_VERSION}), but its layout differs\n{difference}", path.display())]
    Layout {
        /// The file.
        path: PathBuf,
        /// The version that the library states.
        found: String,
        /// The innermost difference, one line.
        difference: String,
        /// The whole report, thousands of characters, for the debug log.
        report: String,
    },
    /// The library loaded but its family did not come up.
    #[error("the family in '{}' did not start\n{error}", path.display())]
    Family {
        /// The file.
        path: PathBuf,
        /// What it said.
        error: PluginError,
    },
}

/// Loads the plugin library at `path`.
///
/// The library stays loaded for the life of the process. Each path gets its own module: the process-wide static that
/// `RootModule::load_from_file` keeps would give the first library again for every later one.
pub fn load(path: &Path) -> Result<Box<dyn Family>, LoadError> {
    let not_a_library = |error: LibraryError| LoadError::NotALibrary { path: path.to_owned(), reason: one_line(&error.to_string()) };
    let header = lib_header_from_path(path).map_err(not_a_library)?;
    let found = header.version_strings().version.to_string();
    if !version::is_compatible(INTERFACE_VERSION, &found) {
        return Err(LoadError::Version { path: path.to_owned(), found });
    }
    let root = header.init_root_module::<PluginRootRef>().map_err(|error| refuse(path, header, &error))?;
    let family_error = |error| LoadError::Family { path: path.to_owned(), error };
    let family = root.family()().into_result().map_err(|error| family_error(error.into()))?;
    Ok(Box::new(RemoteFamily::new(family).map_err(family_error)?))
}

fn refuse(path: &Path, header: &LibHeader, error: &LibraryError) -> LoadError {
    let path = path.to_owned();
    let found = header.version_strings().version.to_string();
    match (error, header.layout()) {
        (LibraryError::AbiInstability(report), Some(layout)) => {
            let difference = one_line(&innermost_difference(PluginRootRef::LAYOUT, layout));
            LoadError::Layout { path, found, difference, report: report.to_string() }
        }
        (LibraryError::IncompatibleVersionNumber { .. }, _) => LoadError::Version { path, found },
        (other, _) => LoadError::NotALibrary { path, reason: one_line(&other.to_string()) },
    }
}

/// A text as one line of at most 400 characters.
fn one_line(text: &str) -> String {
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    joined.chars().take(400).collect()
}
