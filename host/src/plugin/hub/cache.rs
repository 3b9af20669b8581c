//! The cache's folder, the variables that choose it, and what is in it.

use std::fs;
use std::path::{Path, PathBuf};

use super::Id;

/// Where the hub is, unless `HF_ENDPOINT` says otherwise.
const ENDPOINT: &str = "https://huggingface.co";

/// The folder of the cache: `HF_HUB_CACHE`, else `hub` in `HF_HOME`, else in `huggingface` of the user's cache folder.
pub fn folder(value: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let set = |name: &str| value(name).map(PathBuf::from);
    set("HF_HUB_CACHE").or_else(|| set("HUGGINGFACE_HUB_CACHE")).or_else(|| home(value).map(|home| home.join("hub")))
}

fn home(value: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let set = |name: &str| value(name).map(PathBuf::from);
    let user = || set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
    set("HF_HOME").or_else(|| user().map(|cache| cache.join("huggingface")))
}

/// Whether `HF_HUB_OFFLINE` forbids downloads.
pub fn is_offline(value: &dyn Fn(&str) -> Option<String>) -> bool {
    let is_on = |value: String| matches!(value.trim().to_ascii_lowercase().as_str(), "1" | "on" | "yes" | "true");
    value("HF_HUB_OFFLINE").is_some_and(is_on)
}

/// The hub's address without a slash at its end.
pub fn endpoint(value: &dyn Fn(&str) -> Option<String>) -> String {
    value("HF_ENDPOINT").unwrap_or_else(|| ENDPOINT.to_owned()).trim().trim_end_matches('/').to_owned()
}

/// The token of gated models: `HF_TOKEN`, else the file that the hub's tools keep it in.
pub fn token(value: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let file = || value("HF_TOKEN_PATH").map(PathBuf::from).or_else(|| home(value).map(|home| home.join("token")));
    // Most people have no such file, and public models need none.
    let kept = || file().and_then(|file| fs::read_to_string(file).ok());
    value("HF_TOKEN").or_else(kept).map(|token| token.trim().to_owned()).filter(|token| !token.is_empty())
}

/// The snapshot of a model: the one that the revision names, or for `main` the only one there is.
pub fn snapshot(cache: &Path, id: &Id) -> Option<PathBuf> {
    let model = id.folder(cache);
    let snapshots = model.join("snapshots");
    let named = commit(&model, &id.revision).unwrap_or_else(|| id.revision.clone());
    let named = snapshots.join(named);
    match named.is_dir() {
        true => Some(named),
        false if id.revision == "main" => only_folder(&snapshots),
        false => None,
    }
}

/// The commit that a revision stands for, as the cache remembers it.
pub fn commit(model: &Path, revision: &str) -> Option<String> {
    let text = fs::read_to_string(model.join("refs").join(revision)).ok()?;
    let commit = text.trim();
    is_commit(commit).then(|| commit.to_owned())
}

/// Whether a text can be the name of a snapshot's folder.
pub fn is_commit(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.chars().all(|letter| letter.is_ascii_alphanumeric())
}

fn only_folder(folder: &Path) -> Option<PathBuf> {
    let mut folders = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
    let first = folders.next()?;
    folders.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables<'a>(set: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
        |name| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    }

    #[test]
    fn the_most_precise_variable_names_the_cache() {
        let all = [("HF_HUB_CACHE", "/a"), ("HF_HOME", "/b"), ("XDG_CACHE_HOME", "/c"), ("HOME", "/d")];
        let wanted = ["/a", "/b/hub", "/c/huggingface/hub", "/d/.cache/huggingface/hub"];
        for (from, wanted) in wanted.iter().enumerate() {
            assert_eq!(folder(&variables(&all[from..])), Some(PathBuf::from(wanted)));
        }
        assert_eq!(folder(&variables(&[])), None);
    }

    #[test]
    fn offline_endpoint_and_token_come_from_the_environment() {
        for (value, offline) in [("1", true), ("True", true), ("on", true), ("0", false), ("no", false)] {
            assert_eq!(is_offline(&variables(&[("HF_HUB_OFFLINE", value)])), offline, "{value}");
        }
        assert_eq!(endpoint(&variables(&[("HF_ENDPOINT", "http://127.0.0.1:9/")])), "http://127.0.0.1:9");
        assert!(endpoint(&variables(&[])).starts_with("https://"));
        let home = tempfile::tempdir().expect("a folder");
        let set = home.path().display().to_string();
        assert_eq!(token(&variables(&[("HF_HOME", &set)])), None);
        fs::write(home.path().join("token"), "kept\n").expect("a file");
        assert_eq!(token(&variables(&[("HF_HOME", &set)])).as_deref(), Some("kept"));
        assert_eq!(token(&variables(&[("HF_HOME", &set), ("HF_TOKEN", "given")])).as_deref(), Some("given"));
    }

    #[test]
    fn a_revision_names_its_snapshot() {
        let hub = tempfile::tempdir().expect("a folder");
        let model = hub.path().join("models--acme--voice");
        for folder in ["snapshots/aa", "snapshots/bb", "refs"] {
            fs::create_dir_all(model.join(folder)).expect("a folder");
        }
        let find = |text: &str| snapshot(hub.path(), &Id::parse(text).expect("an id"));
        assert_eq!(find("acme/voice"), None, "two snapshots and no main");
        fs::write(model.join("refs/main"), "bb\n").expect("a file");
        assert_eq!(find("acme/voice"), Some(model.join("snapshots/bb")));
        assert_eq!(find("acme/voice@aa"), Some(model.join("snapshots/aa")));
        assert_eq!(find("acme/voice@v1"), None);
        fs::write(model.join("refs/v1"), "../../..").expect("a file");
        assert_eq!(find("acme/voice@v1"), None, "what a reference says is no path");
        assert_eq!(find("acme/other"), None);
    }
}
