//! The daemon: where it listens, and by which names it is asked.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::api_url::host;
use super::values;
use crate::names::for_message;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerConfig {
    #[serde(deserialize_with = "address")]
    pub listen: SocketAddr,
    /// None: in the home.
    #[serde(with = "values::path")]
    pub socket: Option<PathBuf>,
    /// None: at `listen`.
    #[serde(with = "values::optional")]
    pub public_url: Option<PublicUrl>,
    /// Names or addresses, without a port.
    #[serde(deserialize_with = "hosts")]
    pub allowed_hosts: Vec<String>,
    /// Never without the key; see [`super::Layers::resolve`].
    #[serde(with = "values::path")]
    pub tls_cert: Option<PathBuf>,
    #[serde(with = "values::path")]
    pub tls_key: Option<PathBuf>,
}

impl ServerConfig {
    /// What a link to the daemon begins with, without a slash at its end.
    #[must_use]
    pub fn base_url(&self) -> String {
        match &self.public_url {
            Some(url) => url.as_str().to_owned(),
            None => {
                let scheme = if self.tls_cert.is_some() { "https" } else { "http" };
                // Everywhere is no place that a browser can go to.
                let everywhere = self.listen.ip().is_unspecified();
                let ip = if everywhere { IpAddr::from(Ipv4Addr::LOCALHOST) } else { self.listen.ip() };
                format!("{scheme}://{}", SocketAddr::new(ip, self.listen.port()))
            }
        }
    }
}

/// `https://host` or `http://host`, with a port or without, and nothing behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PublicUrl(String);

/// A text that is no such URL. It is not repeated: there may be a password in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is not a URL of the form `https://host` or `https://host:port`, without a path")]
pub struct InvalidPublicUrl;

impl PublicUrl {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name or address that requests to it come by, without a port.
    #[must_use]
    pub fn host(&self) -> &str {
        let authority = self.0.split_once("://").map_or("", |(_, authority)| authority);
        host(authority).unwrap_or_default()
    }

    #[must_use]
    pub fn is_https(&self) -> bool {
        self.0.starts_with("https://")
    }
}

impl FromStr for PublicUrl {
    type Err = InvalidPublicUrl;

    fn from_str(text: &str) -> Result<Self, InvalidPublicUrl> {
        let url = text.strip_suffix('/').unwrap_or(text);
        match url.split_once("://") {
            Some(("http" | "https", authority)) if host(authority).is_some() => Ok(Self(url.to_owned())),
            _ => Err(InvalidPublicUrl),
        }
    }
}

impl TryFrom<String> for PublicUrl {
    type Error = InvalidPublicUrl;

    fn try_from(text: String) -> Result<Self, InvalidPublicUrl> {
        text.parse()
    }
}

impl From<PublicUrl> for String {
    fn from(url: PublicUrl) -> Self {
        url.0
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(|_| {
        D::Error::custom(format!("`{}` is not an address and port such as `127.0.0.1:7420`", for_message(&text)))
    })
}

fn hosts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    // Without a port: the whole text is the host, but for the brackets of an address.
    let is_host = |text: &str| host(text).is_some_and(|host| host == text.trim_matches(['[', ']']));
    values::texts(deserializer, |text| {
        (!is_host(text)).then_some("is not a host such as `spinney.example.org`, without a scheme, port or path")
    })
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::super::schema::tests::plain_fault as fault;
    use super::*;

    #[test]
    fn it_listens_to_this_machine_by_default() {
        let server = Config::default().server;
        assert!(server.listen.ip().is_loopback());
        assert_eq!(server.base_url(), "http://127.0.0.1:7420");
        let everywhere = ServerConfig { listen: "0.0.0.0:80".parse().unwrap(), ..server.clone() };
        assert_eq!(everywhere.base_url(), "http://127.0.0.1:80");
        let secure = ServerConfig { tls_cert: Some("/a".into()), tls_key: Some("/b".into()), ..server };
        assert_eq!(secure.base_url(), "https://127.0.0.1:7420");
        let public = ServerConfig { public_url: Some("https://spinney.example.org/".parse().unwrap()), ..secure };
        assert_eq!(public.base_url(), "https://spinney.example.org");
    }

    #[test]
    fn addresses_paths_and_hosts_are_checked() {
        for (key, value) in [
            ("server.listen", "0.0.0.0:0"),
            ("server.listen", "[::1]:80"),
            ("server.socket", "/run/spinney.sock"),
            ("server.tls_cert", "/etc/spinney/cert.pem"),
        ] {
            assert_eq!(fault(key, &value.into()), None, "{key} {value}");
        }
        for (key, value) in [
            ("server.listen", ""),
            ("server.listen", "7420"),
            ("server.listen", "localhost:7420"),
            ("server.listen", "127.0.0.1"),
            ("server.listen", "127.0.0.1:99999"),
            ("server.socket", "spinney.sock"),
            ("server.tls_key", "~/key.pem"),
            ("server.public_url", "spinney.example.org"),
        ] {
            assert!(fault(key, &value.into()).is_some(), "{key} {value}");
        }
        let hosts = |host: &str| fault("server.allowed_hosts", &vec![host].into());
        for host in ["spinney.example.org", "spinney", "10.0.0.7", "[2001:db8::1]"] {
            assert_eq!(hosts(host), None, "{host}");
        }
        for host in ["", "*", "*.example.org", "a:80", "https://a", "a/b", "a b", "[x]"] {
            assert!(hosts(host).is_some(), "{host}");
        }
    }

    #[test]
    fn a_public_url_has_a_host_and_nothing_behind_it() {
        for (text, url, host) in [
            ("https://spinney.example.org", "https://spinney.example.org", "spinney.example.org"),
            ("http://spinney:8080/", "http://spinney:8080", "spinney"),
            ("https://[2001:db8::1]:8443", "https://[2001:db8::1]:8443", "2001:db8::1"),
        ] {
            let parsed: PublicUrl = text.parse().unwrap();
            assert_eq!((parsed.as_str(), parsed.host()), (url, host));
            assert_eq!(parsed.is_https(), url.starts_with("https"));
        }
        for text in [
            "",
            "/",
            "https://",
            "ftp://a",
            "https://a/b",
            "https://a//",
            "https://a?b",
            "https://me:p@a",
            "https://a#",
        ] {
            assert_eq!(text.parse::<PublicUrl>(), Err(InvalidPublicUrl), "{text}");
        }
    }
}
