//! Where plugin libraries are looked for.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::{Path, PathBuf};

/// The folders in the order they are searched: beside the binary, `plugins/` beside it, `plugins/` in the working directory, then
/// each entry of `OMNI_PLUGIN_PATH`.
pub fn search_path() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    if let Ok(binary) = std::env::current_exe()
        && let Some(folder) = binary.parent()
    {
        folders.push(folder.to_owned());
        folders.push(folder.join("plugins"));
    }
    folders.push(PathBuf::from("plugins"));
    if let Some(more) = std::env::var_os("OMNI_PLUGIN_PATH") {
        folders.extend(std::env::split_paths(&more).filter(|folder| !folder.as_os_str().is_empty()));
    }
    folders
}

/// Every library on the search path, in order; the first of a name hides the later ones.
pub fn list() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for folder in search_path() {
        for library in libraries_in(&folder) {
            let is_hidden = found.iter().any(|earlier| earlier.file_name() == library.file_name());
            if !is_hidden {
                found.push(library);
            }
        }
    }
    found
}

fn libraries_in(folder: &Path) -> Vec<PathBuf> {
    // A folder of the search path that does not exist is the normal case, not an error.
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut libraries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| is_library(path)).collect();
    libraries.sort();
    libraries
}

fn is_library(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with(DLL_PREFIX) && name.ends_with(DLL_SUFFIX) && path.is_file()
}

/// The file that `plugin` means: itself if it holds a separator or names a file, else `lib<name>.so` on the search path.
pub(super) fn resolve(plugin: &str) -> Result<PathBuf, Vec<PathBuf>> {
    let path = Path::new(plugin);
    let is_path = plugin.contains(std::path::MAIN_SEPARATOR) || plugin.ends_with(DLL_SUFFIX);
    if is_path {
        return if path.is_file() { Ok(path.to_owned()) } else { Err(vec![path.to_owned()]) };
    }
    let file = format!("{DLL_PREFIX}{}{DLL_SUFFIX}", plugin.replace('-', "_"));
    let tried: Vec<PathBuf> = search_path().into_iter().map(|folder| folder.join(&file)).collect();
    tried.iter().find(|candidate| candidate.is_file()).cloned().ok_or(tried)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_taken_as_it_stands_and_a_missing_one_is_named() {
        assert_eq!(resolve("./nowhere/libx.so"), Err(vec![PathBuf::from("./nowhere/libx.so")]));
    }

    #[test]
    fn a_bare_name_is_tried_in_every_folder_with_underscores() {
        let tried = resolve("no-such-family").expect_err("no such file exists");
        assert_eq!(tried.len(), search_path().len());
        assert!(tried.iter().all(|path| path.ends_with(format!("{DLL_PREFIX}no_such_family{DLL_SUFFIX}"))));
    }
}
