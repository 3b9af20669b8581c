//! Which plugins and which checkpoints the command line means.

use std::path::{Path, PathBuf};

use clap::Args;

use super::Failure;
use crate::plugin::PluginSpec;

/// What is to be loaded.
#[derive(Debug, Clone, Default, Args)]
pub struct ModelArgs {
    /// A model family: a library's path or its bare name, and the checkpoint it loads, a directory or a model id of the local hub
    /// cache. May be given several times. Without any the built-in voice is loaded
    #[arg(long, value_name = "PATH|NAME[=MODEL]")]
    pub plugin: Vec<PluginSpec>,
}

impl ModelArgs {
    /// The plugins with their checkpoints as directories. `model` is the checkpoint of the only plugin.
    pub fn resolve(&self, model: Option<&str>) -> Result<Vec<PluginSpec>, Failure> {
        let mut plugins = self.plugin.clone();
        if let Some(model) = model {
            only(&mut plugins)?.model = Some(PathBuf::from(model));
        }
        for plugin in &mut plugins {
            plugin.model = plugin.model.as_deref().map(|model| checkpoint(model, hub_cache().as_deref())).transpose()?;
        }
        Ok(plugins)
    }
}

fn only(plugins: &mut [PluginSpec]) -> Result<&mut PluginSpec, Failure> {
    match plugins {
        [] => Err(Failure("--model needs the family that loads it: give --plugin as well".to_owned())),
        [plugin] if plugin.model.is_some() => Err(Failure("the plugin's model is given twice, by --plugin and by --model".to_owned())),
        [plugin] => Ok(plugin),
        _ => Err(Failure("--model works with one --plugin; with several write --plugin NAME=MODEL for each".to_owned())),
    }
}

/// The directory of a checkpoint: itself, or a snapshot of that id in the hub's cache.
fn checkpoint(model: &Path, hub: Option<&Path>) -> Result<PathBuf, Failure> {
    if model.is_dir() {
        return Ok(model.to_owned());
    }
    let snapshot = hub.zip(model.to_str()).and_then(|(hub, id)| snapshot(hub, id));
    snapshot.ok_or_else(|| {
        Failure(match hub {
            Some(hub) => format!("'{}' is neither a directory nor a model id in the hub cache '{}'", model.display(), hub.display()),
            None => format!("'{}' is not a directory, and there is no hub cache to look for a model id in", model.display()),
        })
    })
}

/// The cache of the Hugging Face tools.
fn hub_cache() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || set("HF_HOME").or_else(|| set("HOME").map(|home| home.join(".cache/huggingface")));
    set("HF_HUB_CACHE").or_else(|| home().map(|home| home.join("hub"))).filter(|hub| hub.is_dir())
}

/// The snapshot of `owner/name`: the one that `main` points to, else the only one there is.
fn snapshot(hub: &Path, id: &str) -> Option<PathBuf> {
    let is_part = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains('\\');
    if id.split('/').count() > 2 || !id.split('/').all(is_part) {
        return None;
    }
    let repository = hub.join(format!("models--{}", id.replace('/', "--")));
    let snapshots = repository.join("snapshots");
    let main = std::fs::read_to_string(repository.join("refs/main")).ok().map(|revision| snapshots.join(revision.trim()));
    main.filter(|snapshot| snapshot.is_dir()).or_else(|| only_folder(&snapshots))
}

fn only_folder(folder: &Path) -> Option<PathBuf> {
    let mut folders = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
    let first = folders.next()?;
    folders.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(plugins: &[&str]) -> ModelArgs {
        ModelArgs { plugin: plugins.iter().map(|plugin| plugin.parse().expect("a plugin")).collect() }
    }

    #[test]
    fn a_model_belongs_to_the_only_plugin() {
        let resolved = args(&["a"]).resolve(Some("/")).expect("a directory");
        assert_eq!(resolved[0].model.as_deref(), Some(Path::new("/")));
        for (plugins, part) in [(&[][..], "give --plugin"), (&["a", "b"], "one --plugin"), (&["a=/"], "given twice")] {
            let failure = args(plugins).resolve(Some("/")).expect_err("it is refused");
            assert!(failure.0.contains(part), "{failure}");
        }
        assert!(args(&["a=/no/such/folder"]).resolve(None).is_err());
    }

    #[test]
    fn a_model_id_is_looked_up_in_the_cache() {
        let hub = tempfile::tempdir().expect("a folder");
        let repository = hub.path().join("models--acme--voice");
        for folder in ["snapshots/aa", "snapshots/bb", "refs"] {
            std::fs::create_dir_all(repository.join(folder)).expect("a folder");
        }
        assert_eq!(snapshot(hub.path(), "acme/voice"), None, "two snapshots and no main");
        std::fs::write(repository.join("refs/main"), "bb\n").expect("a file");
        assert_eq!(snapshot(hub.path(), "acme/voice"), Some(repository.join("snapshots/bb")));
        assert_eq!(snapshot(hub.path(), "acme/other"), None);
        assert_eq!(snapshot(hub.path(), "../acme/voice"), None);
        assert_eq!(checkpoint(Path::new("acme/voice"), Some(hub.path())), Ok(repository.join("snapshots/bb")));
        assert!(checkpoint(Path::new("acme/other"), Some(hub.path())).is_err());
    }
}
