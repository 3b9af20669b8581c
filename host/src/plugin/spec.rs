//! `--plugin PATH|NAME[=MODEL]`.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;

/// Which family to load, and from which checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PluginSpec {
    /// A path or a bare name; `None` is the built-in voice.
    pub plugin: Option<String>,
    /// The checkpoint directory, for a family that needs one.
    pub model: Option<PathBuf>,
    /// What requests call the model, the listed name first; without any, the checkpoint's folder, or the family where it has none.
    pub names: Vec<String>,
}

impl FromStr for PluginSpec {
    type Err = Infallible;

    /// Splits at the first `=`; a path that holds one is written with `--model` beside it.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        let (plugin, model) = match text.split_once('=') {
            Some((plugin, model)) => (plugin, Some(model)),
            None => (text, None),
        };
        let model = model.filter(|model| !model.is_empty()).map(PathBuf::from);
        Ok(Self { plugin: Some(plugin.to_owned()), model, names: Vec::new() })
    }
}

impl PluginSpec {
    /// A plugin without a checkpoint; `None` is the built-in voice.
    pub fn bare(plugin: Option<String>) -> Self {
        Self { plugin, ..Self::default() }
    }

    /// What to call it before its family is known.
    pub fn label(&self) -> &str {
        self.plugin.as_deref().unwrap_or("built-in voice")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_follows_the_first_equals_sign() {
        let spec = |text: &str| text.parse::<PluginSpec>().expect("parsing cannot fail");
        assert_eq!(spec("sine"), PluginSpec::bare(Some("sine".into())));
        let both = PluginSpec { model: Some("/m/x=y".into()), ..PluginSpec::bare(Some("a/libq.so".into())) };
        assert_eq!(spec("a/libq.so=/m/x=y"), both);
        assert_eq!(spec("sine=").model, None);
    }
}
