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
    /// What requests call the model, instead of its folder's name or its id of the hub; the first is listed
    #[arg(long, value_name = "NAME", num_args = 1.., value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub served_model_name: Vec<String>,
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
            taker.names.extend(id_of(Path::new(model), &folder));
            taker.model = Some(folder);
        }
        for plugin in &mut plugins {
            let Some(model) = plugin.model.take() else { continue };
            let folder = found(&hub, &model)?;
            plugin.names.extend(id_of(&model, &folder));
            plugin.model = Some(folder);
        }
        self.name(&mut plugins)?;
        Ok(plugins)
    }

    /// Gives the only model the names that were chosen for it.
    fn name(&self, plugins: &mut Vec<PluginSpec>) -> Result<(), Failure> {
        if self.served_model_name.is_empty() {
            return Ok(());
        }
        if plugins.is_empty() {
            plugins.push(PluginSpec::default());
        }
        match plugins.as_mut_slice() {
            [plugin] => {
                plugin.names.clone_from(&self.served_model_name);
                Ok(())
            }
            _ => Err(Failure("--served-model-name names one model, and there are several".to_owned())),
        }
    }

    fn hub(&self) -> Hub {
        let hub = Hub::from_environment();
        if self.download { hub.with_download(observe::progress()) } else { hub }
    }
}

fn found(hub: &Hub, model: &Path) -> Result<std::path::PathBuf, Failure> {
    hub.resolve(model).map_err(|error| Failure(error.to_string()))
}

/// The id of the hub that was asked for, if it was one: a folder of the cache is named after a revision, which tells nobody anything.
fn id_of(asked: &Path, folder: &Path) -> Option<String> {
    let id = asked.to_str().filter(|_| asked != folder)?;
    Some(id.split_once('@').map_or(id, |(id, _)| id).to_owned())
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
        ModelArgs { plugin: plugins.iter().map(|plugin| plugin.parse().expect("a plugin")).collect(), ..ModelArgs::default() }
    }

    #[test]
    fn a_name_is_for_the_only_model() {
        let named = |plugins: &[&str]| ModelArgs { served_model_name: vec!["tts-1".into(), "tts".into()], ..args(plugins) }.resolve(None);
        assert_eq!(named(&["a"]).expect("one plugin")[0].names, ["tts-1", "tts"]);
        assert_eq!(named(&[]).expect("the built-in voice")[0].names, ["tts-1", "tts"]);
        assert!(named(&["a", "b"]).is_err());
    }

    #[test]
    fn a_model_of_the_hub_is_called_by_its_id() {
        let (id, folder) = (Path::new("org/name@main"), Path::new("/cache/models--org--name/snapshots/0f"));
        assert_eq!(id_of(id, folder).as_deref(), Some("org/name"));
        assert_eq!(id_of(folder, folder), None);
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
