//! Where a redirect leads.

use http::uri::{PathAndQuery, Scheme};
use http::{HeaderMap, Uri, header};

use crate::reference::ReferenceError;

/// The URL that a redirect from `from` leads to (RFC 3986, 5.2); only the web is followed.
pub fn redirected(from: &Uri, headers: &HeaderMap) -> Result<Uri, ReferenceError> {
    let target = headers.get(header::LOCATION).and_then(|target| target.to_str().ok()).unwrap_or_default();
    let target = target.split('#').next().unwrap_or_default().trim();
    let uri = join(from, target).ok_or_else(|| broken(target))?;
    let is_web = uri.scheme() == Some(&Scheme::HTTP) || uri.scheme() == Some(&Scheme::HTTPS);
    if is_web && uri.host().is_some_and(|host| !host.is_empty()) { Ok(uri) } else { Err(broken(target)) }
}

fn broken(target: &str) -> ReferenceError {
    let start: String = target.chars().take(100).collect();
    ReferenceError::Locator(format!("Failed to fetch media from URL: it redirects to '{start}', which is no web address"))
}

fn join(from: &Uri, target: &str) -> Option<Uri> {
    let scheme = from.scheme_str()?;
    if target.is_empty() {
        return None;
    }
    if let Some(rest) = target.strip_prefix("//") {
        return format!("{scheme}://{rest}").parse().ok();
    }
    let path_start = target.find(['/', '?']).unwrap_or(target.len());
    if target.get(..path_start).is_some_and(|start| start.contains(':')) {
        return target.parse().ok();
    }
    let path = match target.as_bytes() {
        [b'/', ..] => target.to_owned(),
        [b'?', ..] => format!("{}{target}", from.path()),
        _ => format!("{}{target}", from.path().rsplit_once('/').map_or("/".to_owned(), |(folder, _)| format!("{folder}/"))),
    };
    let mut parts = from.clone().into_parts();
    parts.path_and_query = Some(path.parse::<PathAndQuery>().ok()?);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn follow(target: &str) -> Result<String, ReferenceError> {
        let from: Uri = "https://host:8443/a/b?c=d".parse().expect("a URL");
        let headers = HeaderMap::from_iter([(header::LOCATION, HeaderValue::from_str(target).expect("a header"))]);
        redirected(&from, &headers).map(|uri| uri.to_string())
    }

    #[test]
    fn every_form_of_a_target_is_followed_on_the_web_only() {
        for (target, wanted) in [
            ("http://other/x", "http://other/x"),
            ("HTTPS://other/x#y", "https://other/x"),
            ("//other/x", "https://other/x"),
            ("/x?y", "https://host:8443/x?y"),
            ("x", "https://host:8443/a/x"),
            ("?z", "https://host:8443/a/b?z"),
            ("x/y:z", "https://host:8443/a/x/y:z"),
        ] {
            assert_eq!(follow(target).as_deref(), Ok(wanted), "{target}");
        }
        for target in ["", "file:///etc/passwd", "ftp://host/x", "data:audio/wav;base64,AAAA", "gopher://x", "http:///x", "javascript:1"] {
            assert!(follow(target).is_err(), "{target}");
        }
    }
}
