//! A user name and secret for one remote, handed to git in the environment.
//!
//! It is never an argument (any user can read those), never in a configuration file, and never in a message. It goes
//! only to the origin of the URL it was given for, and only encrypted or to this machine itself: git asks a helper for it,
//! origin by origin. A header (`http.extraHeader`) would follow a redirect to another host.

use spinney_core::Secret;

use crate::process::command::Command;
use crate::process::redact::embedded;

/// What the helper reads.
const USERNAME: &str = "SPINNEY_GIT_USERNAME";
const PASSWORD: &str = "SPINNEY_GIT_PASSWORD";
/// A helper that gives what is in the environment, and keeps nothing.
const HELPER: &str = "!f() { test \"$1\" = get && printf 'username=%s\\npassword=%s\\n' \"$SPINNEY_GIT_USERNAME\" \
                      \"$SPINNEY_GIT_PASSWORD\"; }; f";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    pub username: String,
    pub secret: Secret,
    /// The only origin that it may be sent to, whatever a remote says; none: that of the remote.
    only_origin: Option<String>,
}

impl Credential {
    #[must_use]
    pub fn new(username: impl Into<String>, secret: impl Into<String>) -> Self {
        Self { username: username.into(), secret: Secret::new(secret), only_origin: None }
    }

    /// A token, as forges take it over HTTP.
    #[must_use]
    pub fn token(secret: impl Into<String>) -> Self {
        Self::new("x-access-token", secret)
    }

    /// The same, for the origin of this URL and no other, although somebody's configuration turns a remote there into another.
    /// None where the URL has no origin.
    #[must_use]
    pub fn only_for(self, url: &str) -> Option<Self> {
        let only_origin = Some(origin(url)?);
        Some(Self { only_origin, ..self })
    }

    /// The credential that a URL itself carries.
    pub(crate) fn embedded(url: &str) -> Option<Self> {
        let (username, secret) = embedded(url)?;
        url.starts_with("http").then(|| Self::new(username, secret))
    }

    /// A text without this credential, plain or as it is sent.
    pub(crate) fn redact(&self, text: &str) -> String {
        let secret = self.secret.expose();
        if secret.is_empty() {
            return text.to_owned();
        }
        text.replace(&self.basic(), "***").replace(secret, "***")
    }

    /// As HTTP sends it.
    fn basic(&self) -> String {
        base64(format!("{}:{}", self.username, self.secret.expose()).as_bytes())
    }

    /// The same command, which sends this credential to the URL's origin where it may be sent there. The person's own
    /// helpers are not asked then, nor told to keep it.
    pub(crate) fn go_with(&self, command: Command, url: &str) -> Command {
        let Some(origin) = self.origin(url) else { return command };
        let command = command.config("credential.helper", "").config(format!("credential.{origin}.helper"), HELPER);
        command.env(USERNAME, &self.username).env(PASSWORD, self.secret.expose())
    }

    /// The origin of a URL; none where it may not be sent.
    fn origin(&self, url: &str) -> Option<String> {
        let origin = origin(url)?;
        let name = origin.split_once("://")?.1.trim_end_matches('/');
        let local = matches!(name.split(':').next(), Some("localhost" | "127.0.0.1")) || name.starts_with("[::1]");
        if !origin.starts_with("https:") && !local {
            return None;
        }
        if self.only_origin.as_ref().is_some_and(|only| *only != origin) {
            return None;
        }
        // A line of its own would be another answer of the helper's.
        let is_plain = |text: &str| !text.contains(char::is_control);
        (is_plain(&self.username) && is_plain(self.secret.expose())).then_some(origin)
    }
}

/// Scheme, host and port of a URL for HTTP; for ssh those that the same host has for HTTP. None for any other.
pub(crate) fn origin(url: &str) -> Option<String> {
    let (scheme, rest) = match url.split_once("://") {
        Some(parts) => parts,
        // `git@host:path`, unless it is a path with a colon in it.
        None => ("ssh", url.split_once(':').map(|(host, _)| host).filter(|host| !host.contains('/'))?),
    };
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?.to_ascii_lowercase();
    let name = host.strip_suffix(']').map_or_else(|| host.rsplit_once(':').map_or(&*host, |(name, _)| name), |_| &host);
    if name.is_empty() || host.contains(|c: char| c.is_control() || c.is_whitespace()) {
        return None;
    }
    match scheme {
        "https" => Some(format!("https://{}/", host.strip_suffix(":443").unwrap_or(&host))),
        "http" => Some(format!("http://{}/", host.strip_suffix(":80").unwrap_or(&host))),
        "ssh" => Some(format!("https://{name}/")),
        _ => None,
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            let index = (group >> (18 - 6 * digit)) & 63;
            text.push(if digit > chunk.len() { '=' } else { char::from(DIGITS[index as usize]) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_agrees_with_its_definition() {
        for (plain, coded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn it_goes_to_its_own_origin_and_only_encrypted() {
        let credential = Credential::new("me", "s3cret");
        assert_eq!(credential.origin("https://x@host:8443/acme/app.git").unwrap(), "https://host:8443/");
        assert!(credential.origin("http://127.0.0.1:80/a").is_some());
        for url in ["http://host/a", "http://localhost.evil/a", "ftp://host/a", "/srv/a", "https:///a"] {
            assert!(credential.origin(url).is_none(), "{url}");
        }
        let bound = credential.only_for("git@host:acme/app.git").unwrap();
        assert_eq!(bound.origin("https://host/acme/other.git").unwrap(), "https://host/");
        for url in ["https://host:8443/a", "https://mirror/a", "https://host.evil/a"] {
            assert!(bound.origin(url).is_none(), "{url}");
        }
        assert!(Credential::new("me", "s3cret").only_for("/srv/a").is_none());
        assert!(Credential::new("me", "s3cret\nhost=evil").origin("https://host/a").is_none());
    }

    #[test]
    fn an_origin_is_told_however_it_is_written() {
        for (url, expected) in [
            ("https://me@Host.example:443/a", "https://host.example/"),
            ("https://host.example:8443", "https://host.example:8443/"),
            ("http://host.example:80/a", "http://host.example/"),
            ("https://[::1]:8443/a", "https://[::1]:8443/"),
            ("https://host.example@evil.example/a", "https://evil.example/"),
            ("ssh://git@host.example:2222/a", "https://host.example/"),
            ("ssh://[::1]/a", "https://[::1]/"),
            ("git@host.example:a/b.git", "https://host.example/"),
        ] {
            assert_eq!(origin(url).as_deref(), Some(expected), "{url}");
        }
        for url in ["/srv/a:b", "./a:b", "file:///srv/a", "git://host/a", "https://:443/a", "a"] {
            assert_eq!(origin(url), None, "{url}");
        }
    }

    #[test]
    fn a_text_that_repeats_it_is_redacted() {
        let credential = Credential::new("me", "s3cret");
        assert_eq!(credential.redact("no s3cret and no bWU6czNjcmV0 here"), "no *** and no *** here");
        assert_eq!(Credential::new("me", "").redact("text"), "text");
    }

    #[test]
    fn debug_output_hides_it() {
        assert!(!format!("{:?}", Credential::new("me", "s3cret")).contains("s3cret"));
    }
}
