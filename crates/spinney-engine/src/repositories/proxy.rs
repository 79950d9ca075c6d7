//! Which proxy leads to a forge, as the environment says it to every program.

use spinney_core::Secret;

use crate::Engine;
use crate::repositories::forge::api_host;

/// In the order in which they count.
const VARIABLES: [&str; 4] = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
const EXCEPTIONS: [&str; 2] = ["no_proxy", "NO_PROXY"];

/// The proxy for an API; none where it is reached directly. One that speaks SOCKS is left out: a forge is not asked through
/// those.
pub(crate) fn proxy_for(environment: &[(String, String)], api_url: &str) -> Option<Secret> {
    let value = |names: &[&str]| {
        let found = names.iter().filter_map(|name| environment.iter().find(|(given, _)| given == name));
        found.map(|(_, value)| value.trim()).find(|value| !value.is_empty())
    };
    let proxy = value(&VARIABLES).filter(|proxy| !proxy.starts_with("socks"))?;
    let exceptions = value(&EXCEPTIONS).unwrap_or_default();
    let proxied = api_url.starts_with("https://") && !is_excepted(exceptions, api_host(api_url));
    proxied.then(|| Secret::new(proxy))
}

/// Whether a host is one of those, or below one of those: `example.com`, `.example.com`, `host:8443`, `*`.
fn is_excepted(exceptions: &str, host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, port),
        _ => (host.as_str(), "443"),
    };
    let name = name.trim_matches(['[', ']']);
    exceptions.split([',', ' ']).map(|entry| entry.trim().to_ascii_lowercase()).any(|entry| {
        let (entry, wanted) = match entry.rsplit_once(':') {
            Some((place, wanted)) if place.ends_with(']') || !place.contains(':') => (place, Some(wanted)),
            _ => (entry.as_str(), None),
        };
        let entry = entry.trim_start_matches('*').trim_start_matches('.').trim_matches(['[', ']']);
        let below = || name.strip_suffix(entry).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
        let all = entry.is_empty() && exceptions.contains('*');
        wanted.is_none_or(|wanted| wanted == port) && (all || (!entry.is_empty() && below()))
    })
}

impl Engine {
    /// The proxy through which an API is asked, as the environment says.
    #[must_use]
    pub fn proxy(&self, api_url: &str) -> Option<Secret> {
        proxy_for(&self.texts(), api_url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const API: &str = "https://api.github.com";

    fn found(pairs: &[(&str, &str)], api_url: &str) -> Option<String> {
        let environment: Vec<_> = pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        proxy_for(&environment, api_url).map(|proxy| proxy.expose().to_owned())
    }

    #[test]
    fn the_first_variable_that_is_set_counts() {
        assert_eq!(found(&[("ALL_PROXY", "a"), ("HTTPS_PROXY", "b"), ("https_proxy", "")], API).unwrap(), "b");
        assert_eq!(found(&[("ALL_PROXY", "http://me:pw@host:3128")], API).unwrap(), "http://me:pw@host:3128");
        assert_eq!(found(&[("HTTP_PROXY", "a"), ("http_proxy", "b")], API), None);
        assert_eq!(found(&[("ALL_PROXY", "socks5://host")], API), None);
        assert_eq!(found(&[("ALL_PROXY", "a")], "http://127.0.0.1:8080/api/v1"), None);
    }

    #[test]
    fn some_hosts_are_reached_directly() {
        let direct = |exceptions: &str, api_url: &str| {
            found(&[("HTTPS_PROXY", "a"), ("NO_PROXY", exceptions)], api_url).is_none()
        };
        for exceptions in [
            "*",
            "github.com",
            ".github.com",
            "*.github.com",
            "x, API.github.com",
            "x api.github.com",
            "github.com:443",
        ] {
            assert!(direct(exceptions, API), "{exceptions}");
        }
        for exceptions in ["", ",", "hub.com", "github.com.evil", "github.com:8443", "raw.github.com", "com:"] {
            assert!(!direct(exceptions, API), "{exceptions}");
        }
        assert!(direct("git.example:8443", "https://git.example:8443/api/v4"));
        assert!(direct("::1", "https://[::1]:8443/api/v4") && direct("[::1]:8443", "https://[::1]:8443/api/v4"));
    }
}
