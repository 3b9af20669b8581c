//! One file from the hub, in parts, so that a slow line is told from a dead one and a broken one goes on where it stopped.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use ureq::http::{HeaderMap, Response};
use ureq::{Agent, Body};

/// Bytes that are asked for at once.
const PART: u64 = 32 << 20;
/// How long one part may take.
const PART_LIMIT: Duration = Duration::from_secs(600);
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
const ANSWER_LIMIT: Duration = Duration::from_secs(60);
/// How often a part that breaks off is asked for again.
const TRIES: u32 = 4;
const MAX_LISTING_BYTES: u64 = 64 << 20;

/// Asks the hub.
pub struct Fetcher<'a> {
    endpoint: &'a str,
    token: Option<&'a str>,
    /// Follows redirects, to where large files lie.
    follows: Agent,
    /// Does not: the answer before a redirect says what the file is.
    stays: Agent,
}

/// What is known of a file before it is fetched.
struct About {
    /// Names its contents: for large files their SHA-256.
    etag: String,
    size: u64,
}

impl<'a> Fetcher<'a> {
    pub fn new(endpoint: &'a str, token: Option<&'a str>) -> Self {
        let config = || {
            Agent::config_builder()
                .http_status_as_error(false)
                .timeout_connect(Some(CONNECT_LIMIT))
                .timeout_recv_response(Some(ANSWER_LIMIT))
                .timeout_recv_body(Some(PART_LIMIT))
        };
        let stays = config().max_redirects(0).max_redirects_will_error(false);
        Self { endpoint, token, follows: config().build().new_agent(), stays: stays.build().new_agent() }
    }

    /// A JSON document.
    pub fn json<T: DeserializeOwned>(&self, path: &str) -> Result<T, String> {
        let mut answer = self.get(path, None)?;
        expect(&answer, &[200], path)?;
        let text = answer.body_mut().with_config().limit(MAX_LISTING_BYTES).read_to_string().map_err(|error| error.to_string())?;
        serde_json::from_str(&text).map_err(|error| format!("{}/{path} gives no list of files: {error}", self.endpoint))
    }

    /// The file in `blobs` that holds what `path` names, fetched unless it is there.
    pub fn blob(&self, path: &str, blobs: &Path, told: &dyn Fn(u64, u64)) -> Result<PathBuf, String> {
        let about = self.about(path)?;
        let blob = blobs.join(&about.etag);
        if blob.exists() {
            return Ok(blob);
        }
        let partial = blobs.join(format!("{}.incomplete", about.etag));
        self.fill(path, &about, &partial, told)?;
        if let Err(reason) = verify(&partial, &about) {
            // Whatever went wrong lies in these bytes: the next try starts without them.
            return Err(fs::remove_file(&partial).err().map_or(reason, |error| error.to_string()));
        }
        fs::rename(&partial, &blob).map_err(|error| format!("'{}' cannot be made: {error}", blob.display()))?;
        Ok(blob)
    }

    fn about(&self, path: &str) -> Result<About, String> {
        let answer = self.authorised(self.stays.head(self.url(path))).call().map_err(|error| error.to_string())?;
        expect(&answer, &[200, 301, 302, 307, 308], path)?;
        let headers = answer.headers();
        let etag = text(headers, "x-linked-etag").or_else(|| text(headers, "etag")).unwrap_or_default();
        let etag = etag.trim_start_matches("W/").trim_matches('"').to_owned();
        if !(1..=128).contains(&etag.len()) || !etag.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-') {
            return Err(format!("{}/{path} has no usable etag", self.endpoint));
        }
        let size = text(headers, "x-linked-size").or_else(|| text(headers, "content-length"));
        let size = size.and_then(|size| size.parse().ok()).ok_or_else(|| format!("{}/{path} does not tell its size", self.endpoint))?;
        Ok(About { etag, size })
    }

    /// Fetches part after part until the file has its size.
    fn fill(&self, path: &str, about: &About, partial: &Path, told: &dyn Fn(u64, u64)) -> Result<(), String> {
        let unwritable = |error: io::Error| format!("'{}' cannot be written: {error}", partial.display());
        let mut file = OpenOptions::new().create(true).append(true).open(partial).map_err(unwritable)?;
        let mut tries = 0;
        loop {
            let have = file.metadata().map_err(unwritable)?.len();
            told(have.min(about.size), about.size);
            if have == about.size {
                return file.sync_all().map_err(unwritable);
            }
            if have > about.size {
                file.set_len(0).map_err(unwritable)?;
                continue;
            }
            match self.part(path, &mut file, have, about.size) {
                Ok(()) => tries = 0,
                Err(reason) if tries + 1 == TRIES => return Err(reason),
                Err(reason) => {
                    tries += 1;
                    tracing::warn!(path, reason, tries, "a download broke off and goes on");
                    std::thread::sleep(Duration::from_millis(200) * tries);
                }
            }
        }
    }

    /// Appends the part that begins at `have`; all of it, or an error after some of it.
    fn part(&self, path: &str, file: &mut File, have: u64, size: u64) -> Result<(), String> {
        let end = size.min(have.saturating_add(PART));
        let mut answer = self.get(path, Some((have, end)))?;
        expect(&answer, &[200, 206], path)?;
        if answer.status() == 200 {
            file.set_len(0).map_err(|error| error.to_string())?;
        }
        let whole = if answer.status() == 200 { size } else { end - have };
        let mut body = answer.body_mut().with_config().limit(whole).reader();
        let mut buffer = vec![0; 1 << 16];
        let mut got = 0;
        while got < whole {
            let read = body.read(&mut buffer).map_err(|error| error.to_string())?;
            let bytes = buffer.get(..read).filter(|bytes| !bytes.is_empty()).ok_or("the connection was closed early")?;
            file.write_all(bytes).map_err(|error| error.to_string())?;
            got += read as u64;
        }
        Ok(())
    }

    fn get(&self, path: &str, range: Option<(u64, u64)>) -> Result<Response<Body>, String> {
        let mut request = self.authorised(self.follows.get(self.url(path)));
        if let Some((start, end)) = range {
            request = request.header("range", format!("bytes={start}-{}", end.saturating_sub(1)));
        }
        request.call().map_err(|error| format!("no answer from {}: {error}", self.endpoint))
    }

    fn authorised<B>(&self, request: ureq::RequestBuilder<B>) -> ureq::RequestBuilder<B> {
        match self.token {
            Some(token) => request.header("authorization", format!("Bearer {token}")),
            None => request,
        }
    }

    fn url(&self, path: &str) -> String {
        format!("{}/{path}", self.endpoint)
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn expect(answer: &Response<Body>, wanted: &[u16], path: &str) -> Result<(), String> {
    match answer.status().as_u16() {
        status if wanted.contains(&status) => Ok(()),
        status @ (401 | 403) => Err(format!("the hub answered {status} for {path}: the model is gated or private, set HF_TOKEN")),
        status => Err(format!("the hub answered {status} for {path}")),
    }
}

/// Whether a file's bytes are those that its name promises, where the name is a SHA-256.
fn verify(file: &Path, about: &About) -> Result<(), String> {
    if about.etag.len() != 64 {
        return Ok(());
    }
    let mut hasher = Sha256::new();
    let read = File::open(file).and_then(|mut file| io::copy(&mut file, &mut Hashing(&mut hasher)));
    read.map_err(|error| format!("'{}' cannot be read: {error}", file.display()))?;
    let sum: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    if sum == about.etag.to_ascii_lowercase() { Ok(()) } else { Err(format!("its sha256 is {sum}, expected {}", about.etag)) }
}

/// A hash that bytes can be written to.
struct Hashing<'a>(&'a mut Sha256);

impl Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
