//! Which plugins and which checkpoints the command line means.

use std::path::Path;

use clap::Args;

use super::Failure;
use crate::observe;
use crate::plugin::{Hub, PluginSpec, detect, installed};

/// What is to be loaded.
#[derive(Debug, Clone, Default, Args)]
pub struct ModelArgs {
    /// A model family: a library's path or its bare name, and the checkpoint it loads, a directory or a model id of the hub
    /// (org/name, org/name@revision). May be given several times. Without any the built-in voice is loaded
    #[arg(long, value_name = "PATH|NAME[=MODEL]")]
    pub plugin: Vec<PluginSpec>,
    /// Fetch models by id from the hub into its local cache where files are missing; otherwise only the cache is looked at
    #[arg(long, env = "OMNI_DOWNLOAD", value_parser = clap::builder::FalseyValueParser::new())]
    pub download: bool,
}

impl ModelArgs {
    /// The plugins with their checkpoints as directories. `model` is one more checkpoint: it goes to the only plugin without one, or of
    /// several, or of all that are installed, to the one that opens it.
    pub fn resolve(&self, model: Option<&str>) -> Result<Vec<PluginSpec>, Failure> {
        let hub = self.hub();
        let mut plugins = self.plugin.clone();
        if let Some(model) = model {
            let folder = found(&hub, Path::new(model))?;
            let taker = taker(&mut plugins, &folder)?;
            taker.model = Some(folder);
        }
        for plugin in &mut plugins {
            plugin.model = plugin.model.as_deref().map(|model| found(&hub, model)).transpose()?;
        }
        Ok(plugins)
    }

    fn hub(&self) -> Hub {
        let hub = Hub::from_environment();
        if self.download { hub.with_download(observe::progress()) } else { hub }
    }
}

fn found(hub: &Hub, model: &Path) -> Result<std::path::PathBuf, Failure> {
    hub.resolve(model).map_err(|error| Failure(error.to_string()))
}

/// The plugin that a checkpoint is for.
fn taker<'a>(plugins: &'a mut Vec<PluginSpec>, folder: &Path) -> Result<&'a mut PluginSpec, Failure> {
    let undecided = |error: crate::plugin::DetectError| Failure(error.to_string());
    let number = match plugins.as_slice() {
        [] => {
            let installed = installed();
            let number = detect(&installed, folder).map_err(undecided)?;
            plugins.extend(installed.into_iter().nth(number));
            0
        }
        [plugin] if plugin.model.is_some() => {
            return Err(Failure("the plugin's model is given twice, by --plugin and by --model".to_owned()));
        }
        [_] => 0,
        several => detect(several, folder).map_err(undecided)?,
    };
    let free = plugins.get_mut(number).filter(|plugin| plugin.model.is_none());
    free.ok_or_else(|| {
        Failure(format!("the plugin that opens '{}' has a model of its own: write --plugin NAME=MODEL for each", folder.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(plugins: &[&str]) -> ModelArgs {
        ModelArgs { plugin: plugins.iter().map(|plugin| plugin.parse().expect("a plugin")).collect(), download: false }
    }

    #[test]
    fn a_model_belongs_to_the_only_plugin() {
        let resolved = args(&["a"]).resolve(Some("/")).expect("a directory");
        assert_eq!(resolved[0].model.as_deref(), Some(Path::new("/")));
        let failure = args(&["a=/"]).resolve(Some("/")).expect_err("it is refused");
        assert!(failure.0.contains("given twice"), "{failure}");
        assert!(args(&["a=/no/such/folder"]).resolve(None).is_err());
    }
}
