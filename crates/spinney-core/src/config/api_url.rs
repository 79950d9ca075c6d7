//! Where a forge's API is. Secrets never stand in it, and never travel to it in the clear.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An `https` URL, or an `http` one of this very machine; without a user, a query and a slash at its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ApiUrl(String);

/// A text that is no such URL. It is not repeated: what is wrong with it may be the secret in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidApiUrl {
    #[error("it is not a URL of the form `https://host/path`")]
    Form,
    #[error("it must begin with `https://`: with `http://` a token would travel in the clear")]
    Clear,
    #[error("it has a user or password in it: `token_env` names the variable that holds the token")]
    Secret,
}

impl ApiUrl {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ApiUrl {
    type Err = InvalidApiUrl;

    fn from_str(text: &str) -> Result<Self, InvalidApiUrl> {
        let (scheme, rest) = text.split_once("://").ok_or(InvalidApiUrl::Form)?;
        if rest.contains('@') {
            return Err(InvalidApiUrl::Secret);
        }
        let (authority, _) = rest.split_once('/').unwrap_or((rest, ""));
        let host = host(authority).ok_or(InvalidApiUrl::Form)?;
        let plain = |c: char| c.is_ascii_graphic() && !"?#\\\"<>`{}|^".contains(c);
        if !rest.chars().all(plain) {
            return Err(InvalidApiUrl::Form);
        }
        match scheme {
            "https" => {}
            "http" if is_this_machine(host) => {}
            "http" => return Err(InvalidApiUrl::Clear),
            _ => return Err(InvalidApiUrl::Form),
        }
        Ok(Self(text.trim_end_matches('/').to_owned()))
    }
}

/// The host of `host`, `host:port` and `[::1]:port`.
pub(super) fn host(authority: &str) -> Option<&str> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']')?;
            host.parse::<IpAddr>().ok()?;
            (host, port)
        }
        None => {
            let end = authority.find(':').unwrap_or(authority.len());
            let (host, port) = authority.split_at(end);
            let plain = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
            (!host.is_empty() && host.chars().all(plain)).then_some((host, port))?
        }
    };
    let right = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
    right.then_some(host)
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok_and(|port| port > 0)
}

fn is_this_machine(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

impl TryFrom<String> for ApiUrl {
    type Error = InvalidApiUrl;

    fn try_from(text: String) -> Result<Self, InvalidApiUrl> {
        text.parse()
    }
}

impl From<ApiUrl> for String {
    fn from(url: ApiUrl) -> Self {
        url.0
    }
}

impl fmt::Display for ApiUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn apis_are_reached_safely() {
        for (text, url) in [
            ("https://api.github.com", "https://api.github.com"),
            ("https://gitlab.com/api/v4/", "https://gitlab.com/api/v4"),
            ("https://git.example.org:8443/api/v3", "https://git.example.org:8443/api/v3"),
            ("http://127.0.0.1:4000/api", "http://127.0.0.1:4000/api"),
            ("http://127.9.9.9", "http://127.9.9.9"),
            ("http://localhost:80", "http://localhost:80"),
            ("http://[::1]:80/x", "http://[::1]:80/x"),
            ("https://[2001:db8::1]/x", "https://[2001:db8::1]/x"),
        ] {
            assert_eq!(text.parse::<ApiUrl>().unwrap().as_str(), url);
        }
    }

    #[test]
    fn other_urls_are_refused_without_repeating_them() {
        for (text, error) in [
            ("", InvalidApiUrl::Form),
            ("api.github.com", InvalidApiUrl::Form),
            ("https://", InvalidApiUrl::Form),
            ("https:///x", InvalidApiUrl::Form),
            ("ftp://s3cret", InvalidApiUrl::Form),
            ("HTTPS://host", InvalidApiUrl::Form),
            ("https://host:port", InvalidApiUrl::Form),
            ("https://host:0", InvalidApiUrl::Form),
            ("https://host:99999", InvalidApiUrl::Form),
            ("https://host:+80", InvalidApiUrl::Form),
            ("https://ho st/x", InvalidApiUrl::Form),
            ("https://host/a b", InvalidApiUrl::Form),
            ("https://host/a\nb", InvalidApiUrl::Form),
            ("https://host/x?token=s3cret", InvalidApiUrl::Form),
            ("https://host/x#s3cret", InvalidApiUrl::Form),
            ("https://[host]/x", InvalidApiUrl::Form),
            ("https://[::1]x", InvalidApiUrl::Form),
            ("https://me:s3cret@host/x", InvalidApiUrl::Secret),
            ("https://s3cret@host", InvalidApiUrl::Secret),
            ("http://api.github.com", InvalidApiUrl::Clear),
            ("http://127.0.0.1.example.org", InvalidApiUrl::Clear),
            ("http://localhost.example.org", InvalidApiUrl::Clear),
            ("http://[2001:db8::1]", InvalidApiUrl::Clear),
            ("http://127.0.0.1@example.org", InvalidApiUrl::Secret),
        ] {
            assert_eq!(text.parse::<ApiUrl>(), Err(error), "{text}");
            assert!(!error.to_string().contains("s3cret"));
        }
    }

    proptest! {
        #[test]
        fn what_is_accepted_is_accepted_again(text in "https?://[a-z0-9.:@\\[\\]]{0,20}(/[ -~]{0,10})?") {
            if let Ok(url) = text.parse::<ApiUrl>() {
                prop_assert_eq!(url.as_str().parse::<ApiUrl>(), Ok(url.clone()));
                prop_assert!(!url.as_str().contains(['@', '?', '#', ' ']));
            }
        }
    }
}
