//! `--stage-N-<key> value`: flags for single stages, taken out of the command line before it is parsed.

use std::ffi::OsString;

use super::{ConfigError, Origin};

/// A flag for one stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageFlag {
    /// The flag as it was typed, without its value.
    pub flag: String,
    /// Which stage.
    pub stage: u32,
    /// The key as a deploy file spells it.
    pub key: String,
    /// The value, YAML; `true` for a flag without one.
    pub value: String,
}

/// Takes the flags for single stages out of a command line; everything else is left in its order.
///
/// A value follows after `=` or as the next argument. A flag that is followed by another flag, or by nothing, means `true`. What comes
/// after a bare `--` is left alone.
pub fn extract_stage_flags(args: impl IntoIterator<Item = OsString>) -> Result<(Vec<OsString>, Vec<StageFlag>), ConfigError> {
    let mut args = args.into_iter().peekable();
    let (mut rest, mut flags) = (Vec::new(), Vec::new());
    while let Some(arg) = args.next() {
        if arg == "--" {
            rest.push(arg);
            rest.extend(args);
            break;
        }
        let Some((flag, stage, key, inline)) = arg.to_str().and_then(split) else {
            rest.push(arg);
            continue;
        };
        let value = match inline {
            Some(value) => value,
            None => match args.next_if(|next| !next.to_string_lossy().starts_with("--")) {
                Some(next) => next.into_string().map_err(|_| refused(&flag, "expected a value in UTF-8, found something else"))?,
                None => "true".to_owned(),
            },
        };
        let stage = stage.parse().map_err(|_| refused(&flag, "expected a stage number after --stage-, found one that is too large"))?;
        flags.push(StageFlag { flag, stage, key, value });
    }
    Ok((rest, flags))
}

fn refused(flag: &str, message: &str) -> ConfigError {
    ConfigError::value(&Origin::Flag(flag.to_owned()), "", message)
}

/// Flag, stage number, key and the value after `=`, if an argument is a flag for a stage.
fn split(arg: &str) -> Option<(String, String, String, Option<String>)> {
    let tail = arg.strip_prefix("--stage-")?;
    let (number, tail) = tail.split_once('-')?;
    let (key, value) = match tail.split_once('=') {
        Some((key, value)) => (key, Some(value.to_owned())),
        None => (tail, None),
    };
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let is_key =
        !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_'));
    let flag = format!("--stage-{number}-{key}");
    (is_number && is_key).then(|| (flag, number.to_owned(), key.replace('-', "_"), value))
}
