//! Which family a checkpoint belongs to, and which deploy file it gets.

use omni_plugin_api::FamilyInfo;

use super::flags::Scoped;
use super::{Checkpoint, ConfigError, ConfigErrorKind, Origin, Source};

/// By what a family was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    /// The deploy file's `pipeline`.
    Pipeline,
    /// The checkpoint's `model_type`.
    ModelType,
    /// The checkpoint's `_class_name`.
    ClassName,
    /// The family's name within the checkpoint's.
    Name,
    /// One of the checkpoint's `architectures`.
    Architecture,
    /// The files in the checkpoint's folder.
    Layout,
}

/// The family of a checkpoint: by the deploy file's `pipeline` if it has one, else by what the checkpoint says, else by its files.
pub fn family<'a>(
    families: &'a [FamilyInfo],
    checkpoint: &Checkpoint,
    pipeline: Option<&str>,
) -> Result<(&'a FamilyInfo, Match), ConfigError> {
    if let Some(key) = pipeline {
        let named = families.iter().find(|family| is_called(family, key));
        return named.map(|family| (family, Match::Pipeline)).ok_or_else(|| unknown_pipeline(families, key));
    }
    let kinds = [Match::ModelType, Match::ClassName, Match::Name, Match::Architecture, Match::Layout];
    let found = kinds.into_iter().find_map(|kind| best(families, checkpoint, kind).map(|family| (family, kind)));
    found.ok_or_else(|| {
        let known = families.iter().map(|family| family.name.as_str()).collect::<Vec<_>>().join(", ");
        let (folder, said) = (checkpoint.folder.display(), checkpoint.describe());
        ConfigError::selection(format!("expected a checkpoint of one of the families {known}, found '{folder}' with {said}"))
    })
}

/// Checks that a checkpoint belongs to the family that was named for it. What says nothing of itself is believed.
pub fn verify(family: &FamilyInfo, checkpoint: &Checkpoint) -> Result<(), ConfigError> {
    let kinds = [Match::ModelType, Match::ClassName, Match::Architecture, Match::Layout];
    let says_nothing = checkpoint.model_type.is_none() && checkpoint.class_name.is_none() && checkpoint.architectures.is_empty();
    if family.checkpoints.is_empty() || says_nothing || kinds.iter().any(|kind| weight(family, checkpoint, *kind) > 0) {
        return Ok(());
    }
    let types: Vec<&str> = family.checkpoints.iter().map(|known| known.model_type.as_str()).filter(|name| !name.is_empty()).collect();
    let wanted = if types.is_empty() { String::new() } else { format!(" (model_type {})", types.join(" or ")) };
    let (name, folder, said) = (&family.name, checkpoint.folder.display(), checkpoint.describe());
    Err(ConfigError::selection(format!("expected a checkpoint of {name}{wanted}, found '{folder}' with {said}")))
}

/// The deploy file of a family: the one that a flag names for it, else the one the family carries, else the packaged one of its name.
pub fn deploy_file(family: &FamilyInfo, given: &[Scoped], families: usize) -> Result<Option<Source>, ConfigError> {
    let mut meant = given.iter().filter(|scoped| scoped.is_for(&family.name));
    if let Some(scoped) = meant.next() {
        if scoped.family.is_none() && families > 1 {
            return Err(unscoped("expected the family of each deploy file, since there are several: --deploy-config FAMILY=FILE"));
        }
        if meant.next().is_some() {
            return Err(unscoped(&format!("expected one deploy file for the family {}, found several", family.name)));
        }
        return Source::open(&scoped.value).map(Some);
    }
    if family.deploy.trim().is_empty() {
        return Ok(Source::packaged(&family.name));
    }
    Ok(Some(Source::of_family(&family.name, &family.deploy)))
}

/// Refuses a flag that names a family which is not there.
pub fn check_scopes(families: &[&str], given: &[Scoped], flag: &str) -> Result<(), ConfigError> {
    let unknown = given.iter().filter_map(|scoped| scoped.family.as_deref()).find(|name| !families.contains(name));
    match unknown {
        None => Ok(()),
        Some(name) => {
            let message = format!("expected one of the families {}, found '{name}'", families.join(", "));
            Err(ConfigError::new(ConfigErrorKind::Selection, &Origin::Flag(flag.to_owned()), "", message))
        }
    }
}

fn unscoped(message: &str) -> ConfigError {
    ConfigError::new(ConfigErrorKind::Selection, &Origin::Flag("--deploy-config".to_owned()), "", message)
}

fn unknown_pipeline(families: &[FamilyInfo], key: &str) -> ConfigError {
    let known = families.iter().map(|family| family.name.as_str()).collect::<Vec<_>>().join(", ");
    ConfigError::selection(format!("expected a pipeline that a loaded family has ({known}), found '{key}'"))
}

/// Whether a registry key means a family: its name, or a type it opens.
pub fn is_called(family: &FamilyInfo, key: &str) -> bool {
    same(&family.name, key) || family.checkpoints.iter().any(|known| same(&known.model_type, key))
}

/// The family with the strongest claim of a kind; the first of equals.
fn best<'a>(families: &'a [FamilyInfo], checkpoint: &Checkpoint, kind: Match) -> Option<&'a FamilyInfo> {
    let mut best: Option<(usize, &FamilyInfo)> = None;
    for family in families {
        let weight = weight(family, checkpoint, kind);
        if weight > best.map_or(0, |(weight, _)| weight) {
            best = Some((weight, family));
        }
    }
    best.map(|(_, family)| family)
}

/// How strongly a family claims a checkpoint: 0 for not at all, and the longer what agrees, the more.
fn weight(family: &FamilyInfo, checkpoint: &Checkpoint, kind: Match) -> usize {
    let known = family.checkpoints.iter();
    match kind {
        Match::Pipeline => 0,
        Match::ModelType => {
            let said = checkpoint.model_type.as_deref().unwrap_or_default();
            let claims = known.filter(|known| same(&known.model_type, said));
            // Types that several families share are told apart by the architecture.
            claims.map(|known| 1 + usize::from(shares_architecture(&known.architectures, checkpoint))).max().unwrap_or(0)
        }
        Match::ClassName => {
            let said = checkpoint.class_name.as_deref().unwrap_or_default();
            usize::from(!said.is_empty() && known.flat_map(|known| &known.architectures).any(|name| name == said))
        }
        Match::Name => {
            let (name, folder) = (squeezed(&family.name), squeezed(checkpoint.name()));
            if !name.is_empty() && !family.checkpoints.is_empty() && folder.contains(&name) { name.len() } else { 0 }
        }
        Match::Architecture => usize::from(known.into_iter().any(|known| shares_architecture(&known.architectures, checkpoint))),
        Match::Layout => {
            let has_all = |files: &[String]| !files.is_empty() && files.iter().all(|file| checkpoint.folder.join(file).exists());
            known.filter(|known| has_all(&known.files)).map(|known| known.files.len()).max().unwrap_or(0)
        }
    }
}

fn shares_architecture(known: &[String], checkpoint: &Checkpoint) -> bool {
    known.iter().any(|name| checkpoint.architectures.contains(name))
}

fn same(one: &str, two: &str) -> bool {
    !one.is_empty() && one.replace('-', "_").eq_ignore_ascii_case(&two.replace('-', "_"))
}

fn squeezed(name: &str) -> String {
    name.chars().filter(|letter| !matches!(letter, '-' | '_')).map(|letter| letter.to_ascii_lowercase()).collect()
}
