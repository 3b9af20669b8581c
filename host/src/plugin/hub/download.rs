//! Fetching what a snapshot lacks, into the cache.

use std::fs::{self, File};
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;

use super::fetch::Fetcher;
use super::{Download, Id, cache};

/// What the hub says of a model at a revision.
#[derive(Deserialize)]
struct Listing {
    sha: String,
    siblings: Vec<Sibling>,
}

#[derive(Deserialize)]
struct Sibling {
    rfilename: String,
}

impl Download {
    /// The snapshot of a model with all its files. Without an answer from the hub, the one that is cached.
    pub(super) fn snapshot(&self, cache: &Path, id: &Id) -> Result<PathBuf, String> {
        let fetcher = Fetcher::new(&self.endpoint, self.token.as_deref());
        match fetcher.json::<Listing>(&format!("api/models/{}/revision/{}", id.name, id.revision)) {
            Ok(listing) => self.complete(cache, id, &listing, &fetcher),
            Err(reason) => {
                let cached = cache::snapshot(cache, id).ok_or_else(|| reason.clone())?;
                tracing::warn!(model = id.name, reason, "the hub does not answer; the cached files are used as they are");
                Ok(cached)
            }
        }
    }

    fn complete(&self, cache: &Path, id: &Id, listing: &Listing, fetcher: &Fetcher) -> Result<PathBuf, String> {
        if !cache::is_commit(&listing.sha) {
            return Err(format!("the hub names '{}' as its commit", listing.sha));
        }
        let model = id.folder(cache);
        let snapshot = model.join("snapshots").join(&listing.sha);
        make(&snapshot)?;
        make(&model.join("blobs"))?;
        let _one_at_a_time = lock(&model)?;
        for sibling in &listing.siblings {
            let name = plain(&sibling.rfilename).ok_or_else(|| format!("the hub lists a file '{}'", sibling.rfilename))?;
            if !snapshot.join(name).exists() {
                self.file(id, listing, name, &model, fetcher)?;
            }
        }
        remember(&model.join("refs").join(&id.revision), &listing.sha)?;
        Ok(snapshot)
    }

    /// Fetches one file: its bytes go to `blobs`, and the snapshot points there.
    fn file(&self, id: &Id, listing: &Listing, name: &str, model: &Path, fetcher: &Fetcher) -> Result<(), String> {
        let path = format!("{}/resolve/{}/{}", id.name, listing.sha, encoded(name));
        let told = |done, total| self.progress.update(&id.name, &format!("download {name}"), done, total);
        let blob = fetcher.blob(&path, &model.join("blobs"), &told).map_err(|reason| format!("{name}: {reason}"))?;
        point(&model.join("snapshots").join(&listing.sha).join(name), &blob)
    }
}

/// A name of a file below a folder, as it stands.
fn plain(name: &str) -> Option<&str> {
    let is_normal = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
    (!name.is_empty() && is_normal && !name.contains('\\')).then_some(name)
}

/// A path for a URL.
fn encoded(name: &str) -> String {
    let one = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    name.bytes().map(one).collect()
}

/// Waits until no other process fetches the same model; the lock ends with the file.
fn lock(model: &Path) -> Result<File, String> {
    let path = model.join("blobs").join(".lock");
    let file = File::create(&path).and_then(|file| file.lock().map(|()| file));
    file.map_err(|error| format!("'{}' cannot be locked: {error}", path.display()))
}

fn make(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| format!("'{}' cannot be made: {error}", folder.display()))
}

/// Puts a link to a blob at `place`, relative, so that the cache may be moved.
fn point(place: &Path, blob: &Path) -> Result<(), String> {
    let folder = place.parent().ok_or("a file without a folder")?;
    make(folder)?;
    let model = blob.parent().and_then(Path::parent).ok_or("a blob outside a model")?;
    let depth = folder.strip_prefix(model).map_err(|error| error.to_string())?.components().count();
    let target: PathBuf = std::iter::repeat_n(Path::new(".."), depth).collect();
    let target = target.join(blob.strip_prefix(model).map_err(|error| error.to_string())?);
    std::os::unix::fs::symlink(&target, place).map_err(|error| format!("'{}' cannot be made: {error}", place.display()))
}

/// Writes which commit a revision is.
fn remember(reference: &Path, commit: &str) -> Result<(), String> {
    make(reference.parent().ok_or("a reference without a folder")?)?;
    fs::write(reference, commit).map_err(|error| format!("'{}' cannot be written: {error}", reference.display()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::*;
    use crate::observe::Silent;
    use crate::plugin::hub::server::Loopback;
    use crate::plugin::hub::{Hub, HubError};

    const SHA: &str = "0123456789abcdef0123456789abcdef01234567";

    /// A model of three files, one of them large and stored elsewhere.
    fn files() -> BTreeMap<String, Vec<u8>> {
        let large = (0..3_000_000_u32).map(|number| (number % 251) as u8).collect();
        let small = |text: &str| text.as_bytes().to_vec();
        [("config.json", small("{}")), ("sub folder/empty.txt", Vec::new()), ("model.safetensors", large)]
            .map(|(name, bytes)| (name.to_owned(), bytes))
            .into()
    }

    fn hub(cache: &Path, server: &Loopback, more: &[(&str, &str)]) -> Hub {
        let mut set = vec![("HF_HUB_CACHE", cache.display().to_string()), ("HF_ENDPOINT", server.address())];
        set.extend(more.iter().map(|(name, value)| (*name, (*value).to_owned())));
        let value = |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
        Hub::from_variables(&value).with_download_from(&value, Arc::new(Silent))
    }

    #[test]
    fn a_model_is_fetched_into_the_cache_once() {
        let (cache, server) = (tempfile::tempdir().expect("a folder"), Loopback::serving("acme/voice", SHA, files()));
        let hub = hub(cache.path(), &server, &[]);
        let snapshot = hub.resolve(Path::new("acme/voice")).expect("it is fetched");
        for (name, bytes) in files() {
            assert!(fs::read(snapshot.join(&name)).expect("the file is there") == bytes, "{name}");
            assert!(fs::read_link(snapshot.join(&name)).expect("a link").is_relative(), "{name}");
        }
        assert!(snapshot.ends_with(format!("models--acme--voice/snapshots/{SHA}")), "{}", snapshot.display());
        let fetched = server.bodies();
        hub.resolve(Path::new("acme/voice")).expect("it is there");
        assert_eq!(server.bodies(), fetched, "nothing is fetched again");
        let offline = Hub { download: None, ..hub };
        assert_eq!(offline.resolve(Path::new("acme/voice")).expect("it is cached"), snapshot);
    }

    #[test]
    fn a_download_that_breaks_off_goes_on_where_it_stopped() {
        let (cache, server) = (tempfile::tempdir().expect("a folder"), Loopback::serving("acme/voice", SHA, files()));
        server.break_off_after(1_000_000);
        let snapshot = hub(cache.path(), &server, &[]).resolve(Path::new("acme/voice")).expect("it is fetched");
        assert!(fs::read(snapshot.join("model.safetensors")).expect("a file") == files()["model.safetensors"]);
        let from: Vec<u64> = server.ranges();
        assert_eq!(from.first(), Some(&0), "{from:?}");
        assert!(from.iter().any(|start| (1..=1_000_000).contains(start)), "{from:?}");
    }

    #[test]
    fn an_interrupted_process_leaves_what_the_next_one_goes_on_with() {
        let (cache, server) = (tempfile::tempdir().expect("a folder"), Loopback::serving("acme/voice", SHA, files()));
        let blobs = cache.path().join("models--acme--voice/blobs");
        fs::create_dir_all(&blobs).expect("a folder");
        let large = &files()["model.safetensors"];
        fs::write(blobs.join(format!("{}.incomplete", server.etag("model.safetensors"))), &large[..2_000_000]).expect("a file");
        let snapshot = hub(cache.path(), &server, &[]).resolve(Path::new("acme/voice")).expect("it is fetched");
        assert!(&fs::read(snapshot.join("model.safetensors")).expect("a file") == large);
        assert!(server.ranges().contains(&2_000_000), "{:?}", server.ranges());
    }

    #[test]
    fn a_damaged_part_is_noticed_and_fetched_anew_the_next_time() {
        let (cache, server) = (tempfile::tempdir().expect("a folder"), Loopback::serving("acme/voice", SHA, files()));
        let blobs = cache.path().join("models--acme--voice/blobs");
        fs::create_dir_all(&blobs).expect("a folder");
        fs::write(blobs.join(format!("{}.incomplete", server.etag("model.safetensors"))), vec![7; 100]).expect("a file");
        let hub = hub(cache.path(), &server, &[]);
        let error = hub.resolve(Path::new("acme/voice")).expect_err("its sum is wrong").to_string();
        assert!(error.contains("model.safetensors") && error.contains("sha256"), "{error}");
        hub.resolve(Path::new("acme/voice")).expect("the second time it is whole");
    }

    #[test]
    fn offline_gated_and_missing_models_say_so() {
        let (cache, server) = (tempfile::tempdir().expect("a folder"), Loopback::serving("acme/voice", SHA, files()));
        let offline = hub(cache.path(), &server, &[("HF_HUB_OFFLINE", "1")]).resolve(Path::new("acme/voice"));
        assert!(matches!(offline, Err(HubError::NotCached { .. })), "{offline:?}");
        let missing = hub(cache.path(), &server, &[]).resolve(Path::new("acme/other")).expect_err("there is none").to_string();
        assert!(missing.contains("404"), "{missing}");
        server.ask_for("secret");
        let gated = hub(cache.path(), &server, &[]).resolve(Path::new("acme/voice")).expect_err("no token").to_string();
        assert!(gated.contains("HF_TOKEN"), "{gated}");
        hub(cache.path(), &server, &[("HF_TOKEN", "secret")]).resolve(Path::new("acme/voice")).expect("the token opens it");
    }

    #[test]
    fn names_that_lead_out_of_the_snapshot_are_refused() {
        for name in ["", "../x", "/etc/x", "a/../../x", "a\\b"] {
            assert_eq!(plain(name), None, "{name}");
        }
        assert_eq!(plain("a/b c.json"), Some("a/b c.json"));
        assert_eq!(encoded("a/b c.json"), "a/b%20c.json");
    }
}
