//! Downloads.
//!
//! Names are resolved by [`Guarded`], which drops every address that may not be connected to; the client connects to what it returns and
//! looks nothing up again, so the address that was checked is the address that is connected to. Each redirect goes through all of it anew.
//! Proxies of the environment are not used: behind one, nothing could be checked.

use std::io::Read;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, StatusCode, Uri, header};
use ureq::config::Config;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, Body, Error};

use super::redirect::redirected;
use super::{SourceSettings, guard};
use crate::reference::ReferenceError;

/// Pause before the second attempt; each further one is four times as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Bytes read at once.
const BLOCK: usize = 64 << 10;

/// A download that can be ended from another thread.
pub struct Download {
    agent: Agent,
    settings: SourceSettings,
    until: Instant,
    hung_up: Receiver<()>,
}

/// Ends its download when dropped.
pub struct HangUp {
    agent: Agent,
    _line: Sender<()>,
}

impl Drop for HangUp {
    fn drop(&mut self) {
        self.agent.clone().shutdown();
    }
}

/// Why an attempt failed.
enum Failure {
    /// It may go better another time.
    Passing(String),
    /// It will not.
    Final(ReferenceError),
}

impl Download {
    /// A download by these rules, and what ends it.
    pub fn new(settings: &SourceSettings) -> (Self, HangUp) {
        Self::resolving(settings, DefaultResolver::default())
    }

    fn resolving(settings: &SourceSettings, resolver: impl Resolver) -> (Self, HangUp) {
        let resolver = Guarded { inner: Arc::new(resolver), allow_private: settings.allow_private };
        let agent = Agent::with_parts(config(), DefaultConnector::default(), resolver);
        let (line, hung_up) = channel();
        let until = Instant::now() + settings.patience;
        let download = Self { agent: agent.clone(), settings: settings.clone(), until, hung_up };
        (download, HangUp { agent, _line: line })
    }

    /// Fetches a file. It blocks, for [`SourceSettings::patience`] at most.
    pub fn fetch(&self, uri: &Uri) -> Result<Bytes, ReferenceError> {
        let (mut pause, mut limit) = (FIRST_PAUSE, self.settings.attempt);
        for attempt in 1.. {
            match self.attempt(uri, limit) {
                Ok(bytes) => return Ok(bytes),
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::Passing(reason)) => {
                    if attempt >= self.settings.attempts || self.left() <= pause || self.ends_within(pause) {
                        return Err(failed(&reason));
                    }
                }
            }
            (pause, limit) = (pause * 4, limit * 4);
        }
        Err(failed("no attempt was made"))
    }

    fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// Waits; true when nobody wants the download any more.
    fn ends_within(&self, pause: Duration) -> bool {
        matches!(self.hung_up.recv_timeout(pause), Err(RecvTimeoutError::Disconnected))
    }

    /// One attempt, with its redirects.
    fn attempt(&self, uri: &Uri, limit: Duration) -> Result<Bytes, Failure> {
        let until = Instant::now() + limit.min(self.left());
        let mut uri = uri.clone();
        for _ in 0..=self.settings.redirects {
            check_host(&uri, &self.settings.domains).map_err(Failure::Final)?;
            let mut response = self.get(&uri, until.saturating_duration_since(Instant::now()))?;
            match response.status() {
                status if status.is_success() => return self.body(response.headers().clone(), response.body_mut(), until),
                status if is_redirect(status) => uri = redirected(&uri, response.headers()).map_err(Failure::Final)?,
                status => return Err(refused(status)),
            }
        }
        Err(Failure::Final(failed(&format!("more than {} redirects", self.settings.redirects))))
    }

    fn get(&self, uri: &Uri, limit: Duration) -> Result<http::Response<Body>, Failure> {
        // A limit of nothing would mean none.
        let limit = limit.max(Duration::from_millis(1));
        let request = self.agent.get(uri).config().timeout_global(Some(limit)).build();
        request.call().map_err(told)
    }

    fn body(&self, headers: HeaderMap, body: &mut Body, until: Instant) -> Result<Bytes, Failure> {
        let limit = self.settings.bytes;
        let too_large = || Failure::Final(ReferenceError::TooLarge { limit_bytes: limit });
        let announced = headers.get(header::CONTENT_LENGTH).and_then(|len| len.to_str().ok()?.parse::<u64>().ok());
        if announced.is_some_and(|len| len > limit as u64) {
            return Err(too_large());
        }
        let mut reader = body.with_config().limit(limit as u64 + 1).reader();
        let (mut bytes, mut block) = (Vec::new(), vec![0; BLOCK]);
        loop {
            let read = reader.read(&mut block).map_err(|error| told(Error::from(error)))?;
            bytes.extend_from_slice(block.get(..read).unwrap_or_default());
            match read {
                0 => return Ok(bytes.into()),
                _ if bytes.len() > limit => return Err(too_large()),
                _ if Instant::now() >= until => return Err(Failure::Passing("it took too long".to_owned())),
                _ => {}
            }
        }
    }
}

fn config() -> Config {
    Agent::config_builder()
        .user_agent(concat!("omni-host/", env!("CARGO_PKG_VERSION")))
        .accept("audio/*, application/octet-stream, */*")
        .http_status_as_error(false)
        .max_redirects(0)
        .max_idle_connections(0)
        .proxy(None)
        .build()
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

fn refused(status: StatusCode) -> Failure {
    let reason = format!("HTTP {} error", status.as_u16());
    let may_pass = status.is_server_error() || matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS);
    if may_pass { Failure::Passing(reason) } else { Failure::Final(failed(&reason)) }
}

fn failed(reason: &str) -> ReferenceError {
    ReferenceError::Locator(format!("Failed to fetch media from URL: {reason}"))
}

/// What a failure of the client is.
fn told(error: Error) -> Failure {
    match error {
        Error::Other(other) => match other.downcast::<Refused>() {
            Ok(refused) => Failure::Final(ReferenceError::Locator(refused.to_string())),
            Err(other) => Failure::Final(failed(&other.to_string())),
        },
        Error::Timeout(_) => Failure::Passing("it took too long".to_owned()),
        Error::Io(_) | Error::ConnectionFailed | Error::HostNotFound | Error::BodyStalled => Failure::Passing(error.to_string()),
        error => Failure::Final(failed(&error.to_string())),
    }
}

/// Refuses hosts that are not on the list, if there is one.
fn check_host(uri: &Uri, domains: &[String]) -> Result<(), ReferenceError> {
    let host = uri.host().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase();
    if domains.is_empty() || domains.iter().any(|domain| domain.eq_ignore_ascii_case(&host)) {
        return Ok(());
    }
    let message = format!("The URL must be from one of the allowed domains: {domains:?}. Input URL domain: {host}");
    Err(ReferenceError::Locator(message))
}

/// A host without an address that may be connected to.
#[derive(Debug, thiserror::Error)]
#[error(
    "ref_audio points at an address that is not public ({what}), which this server does not fetch from; its operator can allow it with \
     --allow-private-media"
)]
struct Refused {
    what: &'static str,
}

/// A resolver that gives only addresses that may be connected to.
#[derive(Debug)]
struct Guarded {
    inner: Arc<dyn Resolver>,
    allow_private: bool,
}

impl Resolver for Guarded {
    fn resolve(&self, uri: &Uri, config: &Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        let found = self.inner.resolve(uri, config, timeout)?;
        let mut allowed = self.empty();
        let mut refused = None;
        for address in found.iter() {
            match guard::refusal(address.ip()).filter(|_| !self.allow_private) {
                None => allowed.push(*address),
                Some(what) => refused = Some(what),
            }
        }
        match refused {
            // A name with a private address among others was made to be mistaken.
            Some(what) => Err(Error::Other(Box::new(Refused { what }))),
            None if allowed.is_empty() => Err(Error::HostNotFound),
            None => Ok(allowed),
        }
    }
}

#[cfg(test)]
mod tests;
