//! Under which names this server may be asked. A page of somebody else's, whose name was made to point here (DNS
//! rebinding), has a name that is none of these.

use std::net::IpAddr;

use axum::http::HeaderMap;
use axum::http::header::{HOST, ORIGIN};

use crate::error::{ApiError, Result};

/// The names of the machine to itself.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The names that count.
#[derive(Debug, Clone)]
pub(crate) struct Hosts {
    names: Vec<String>,
}

impl Hosts {
    /// Loopback names, the address that is listened on, that of the public URL, and what else is configured; ports do not
    /// matter.
    pub(crate) fn new(public_url: Option<&str>, allowed: &[String], own: IpAddr) -> Self {
        let public = public_url.and_then(|url| url.split_once("://")).map(|(_, rest)| rest);
        let configured = public.into_iter().chain(allowed.iter().map(String::as_str));
        let own = match own {
            IpAddr::V4(own) => own.to_string(),
            IpAddr::V6(own) => format!("[{own}]"),
        };
        let names = LOOPBACK.into_iter().chain(configured).map(|name| without_port(name).to_ascii_lowercase());
        Self { names: names.chain([own]).collect() }
    }

    /// Refuses a request that was meant for another host.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<()> {
        let mut hosts = headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return Err(ApiError::usage("the request must have exactly one `Host` header"));
        };
        if host.to_str().is_ok_and(|host| self.has(host)) {
            return Ok(());
        }
        Err(ApiError::forbidden("the `Host` header names a host that this server does not serve")
            .hinted("add the host to `server.allowed_hosts`, or set `server.public_url`"))
    }

    /// Refuses a write that a page of somebody else's makes a browser send. Programs that are no browsers name no origin.
    pub(crate) fn check_origin(&self, headers: &HeaderMap) -> Result<()> {
        let origins: Vec<_> = headers.get_all(ORIGIN).iter().collect();
        let is_own = |origin: &str| {
            let place = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            place.is_some_and(|host| !host.contains('/') && self.has(host))
        };
        let from_own = origins.iter().all(|origin| origin.to_str().is_ok_and(is_own));
        let site = headers.get("sec-fetch-site").map(|site| site.as_bytes());
        if from_own && site.is_none_or(|site| matches!(site, b"same-origin" | b"none")) {
            return Ok(());
        }
        Err(ApiError::forbidden("a page of another origin may not ask for this"))
    }

    fn has(&self, host: &str) -> bool {
        let name = without_port(host);
        self.names.iter().any(|known| known.eq_ignore_ascii_case(name))
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn hosts() -> Hosts {
        Hosts::new(Some("https://spinney.example.org"), &["build.lan:7420".to_owned()], [10, 0, 0, 5].into())
    }

    #[test]
    fn own_names_are_answered_with_any_port() {
        for host in [
            "localhost",
            "LOCALHOST:1",
            "127.0.0.1:7420",
            "[::1]:7420",
            "[::1]",
            "spinney.example.org",
            "build.lan",
            "10.0.0.5:7420",
        ] {
            let headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static(host))]);
            assert!(hosts().check(&headers).is_ok(), "{host}");
        }
    }

    #[test]
    fn other_names_are_not() {
        let other =
            ["", "evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "localhost:x", "::1", "localhost,evil"];
        for host in other {
            let headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static(host))]);
            assert!(hosts().check(&headers).is_err(), "{host}");
        }
        assert!(hosts().check(&HeaderMap::new()).is_err());
        let mut two = HeaderMap::new();
        two.append(HOST, HeaderValue::from_static("localhost"));
        two.append(HOST, HeaderValue::from_static("localhost"));
        assert!(hosts().check(&two).is_err());
    }

    #[test]
    fn writes_come_from_own_pages_or_from_no_page() {
        let check = |origin: Option<&'static str>, site: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            origin.map(|origin| headers.insert(ORIGIN, HeaderValue::from_static(origin)));
            site.map(|site| headers.insert("sec-fetch-site", HeaderValue::from_static(site)));
            hosts().check_origin(&headers).is_ok()
        };
        assert!(check(None, None));
        assert!(check(Some("http://127.0.0.1:7420"), Some("same-origin")));
        assert!(check(Some("https://spinney.example.org"), None));
        for origin in
            ["null", "https://evil.example", "http://localhost.evil", "file://localhost", "http://localhost/x"]
        {
            assert!(!check(Some(origin), None), "{origin}");
        }
        assert!(!check(None, Some("cross-site")));
        assert!(!check(Some("http://localhost"), Some("same-site")));
    }
}
