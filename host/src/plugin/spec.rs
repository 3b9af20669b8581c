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
}

impl FromStr for PluginSpec {
    type Err = Infallible;

    /// Splits at the first `=`; a path that holds one is written with `--model` beside it.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        let (plugin, model) = match text.split_once('=') {
            Some((plugin, model)) => (plugin, Some(model)),
            None => (text, None),
        };
        Ok(Self { plugin: Some(plugin.to_owned()), model: model.filter(|model| !model.is_empty()).map(PathBuf::from) })
    }
}

impl PluginSpec {
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
        assert_eq!(spec("sine"), PluginSpec { plugin: Some("sine".into()), model: None });
        assert_eq!(spec("a/libq.so=/m/x=y"), PluginSpec { plugin: Some("a/libq.so".into()), model: Some("/m/x=y".into()) });
        assert_eq!(spec("sine=").model, None);
    }
}
