//! Taking URLs apart, and putting texts into them.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What has no meaning in a URL stays as it is.
const ENCODED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The parts of a URL of an API or a remote that matter here. A user and password are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// In lowercase; `ssh` for git's short form `host:path`.
    pub scheme: String,
    /// In lowercase.
    pub host: String,
    pub port: Option<u16>,
    /// Without slashes around it, query and fragment.
    pub path: String,
}

impl Url {
    /// Takes a URL or `user@host:path` apart; none for a plain path, and for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.contains(|c: char| c.is_control() || c.is_whitespace()) {
            return None;
        }
        let (scheme, authority, path) = match text.split_once("://") {
            Some((scheme, rest)) => {
                let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
                (scheme.to_ascii_lowercase(), authority, path)
            }
            None if text.starts_with(['/', '.', '~', '-']) => return None,
            None => {
                let (authority, path) = text.split_once(':')?;
                if authority.contains('/') || path.starts_with(':') {
                    return None;
                }
                ("ssh".to_owned(), authority, path)
            }
        };
        let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
        let (host, port) = host_and_port(place)?;
        let path = path.split(['?', '#']).next().unwrap_or_default().trim_matches('/').to_owned();
        Some(Self { scheme, host: host.to_ascii_lowercase(), port, path })
    }

    /// Whether a secret may travel there: encrypted, or to this machine itself.
    #[must_use]
    pub fn is_safe(&self) -> bool {
        let local = matches!(self.host.as_str(), "localhost" | "127.0.0.1" | "[::1]");
        self.scheme == "https" || (self.scheme == "http" && local)
    }

    /// Whether both are served by the same program.
    #[must_use]
    pub fn same_origin(&self, other: &Self) -> bool {
        self.scheme == other.scheme && self.host == other.host && self.effective_port() == other.effective_port()
    }

    /// The host, and the port where it is an unusual one.
    #[must_use]
    pub fn place(&self) -> String {
        self.port.map_or_else(|| self.host.clone(), |port| format!("{}:{port}", self.host))
    }

    fn effective_port(&self) -> Option<u16> {
        self.port.or(match self.scheme.as_str() {
            "https" => Some(443),
            "http" => Some(80),
            _ => None,
        })
    }
}

fn host_and_port(place: &str) -> Option<(&str, Option<u16>)> {
    let after_host = if place.starts_with('[') { place.find(']')? + 1 } else { place.find(':').unwrap_or(place.len()) };
    let (host, rest) = place.split_at(after_host);
    let port = match rest.strip_prefix(':') {
        None if rest.is_empty() => None,
        Some("") => None,
        Some(digits) => Some(digits.parse().ok()?),
        None => return None,
    };
    (!host.is_empty()).then_some((host, port))
}

/// A text as one component of a path, or one value of a query.
#[must_use]
pub fn encode(text: &str) -> String {
    utf8_percent_encode(text, &ENCODED).to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_form_is_taken_apart() {
        for (text, scheme, host, port, path) in [
            ("https://me:pw@Host.example:8443/a/b.git/?x#y", "https", "host.example", Some(8443), "a/b.git"),
            ("HTTP://host", "http", "host", None, ""),
            ("ssh://git@host:22/a/b.git", "ssh", "host", Some(22), "a/b.git"),
            ("git@host:a/b.git", "ssh", "host", None, "a/b.git"),
            ("host:/a/b", "ssh", "host", None, "a/b"),
            ("https://[::1]:80/a", "https", "[::1]", Some(80), "a"),
            ("https://host:/a", "https", "host", None, "a"),
        ] {
            let url = Url::parse(text).unwrap();
            assert_eq!(
                (url.scheme.as_str(), url.host.as_str(), url.port, url.path.as_str()),
                (scheme, host, port, path)
            );
        }
        for text in
            ["", "/srv/a.git", "../a", "~/a", "https://", "https://host:99999/", "a", "ext::sh -c x", "x/y:z", "a\nb:c"]
        {
            assert_eq!(Url::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_secret_goes_encrypted_or_nowhere_else() {
        for (url, safe) in [
            ("https://host/", true),
            ("http://127.0.0.1:80/", true),
            ("http://localhost/", true),
            ("http://host/", false),
            ("http://127.0.0.1.evil.example/", false),
            ("http://localhost@evil.example/", false),
            ("ftp://127.0.0.1/", false),
        ] {
            assert_eq!(Url::parse(url).unwrap().is_safe(), safe, "{url}");
        }
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let same = |a: &str, b: &str| Url::parse(a).unwrap().same_origin(&Url::parse(b).unwrap());
        assert!(same("https://host/a", "https://HOST:443/b"));
        for other in
            ["http://host/", "https://host:444/", "https://other/", "https://host.other/", "https://host@other/"]
        {
            assert!(!same("https://host/", other), "{other}");
        }
    }

    #[test]
    fn what_has_a_meaning_in_urls_is_encoded() {
        assert_eq!(encode("group/app ü&?#%"), "group%2Fapp%20%C3%BC%26%3F%23%25");
        assert_eq!(encode("a-b.c_d~e"), "a-b.c_d~e");
    }

    proptest! {
        #[test]
        fn any_text_is_handled(text in "(?s).{0,100}") {
            let _ = Url::parse(&text);
        }
    }
}
