//! Where the state lives.

use std::fmt;
use std::path::{Path, PathBuf};

use spinney_core::config::without_password;

use crate::Error;

/// The place of a store.
#[derive(Clone, PartialEq, Eq)]
pub enum StoreUrl {
    /// A file; made when it is missing.
    Sqlite(PathBuf),
    /// A URL as PostgreSQL's own clients take it; it may hold a password, so show it by [`StoreUrl::shown`].
    Postgres(String),
}

impl StoreUrl {
    /// Parses `postgres://…`, `postgresql://…` or `sqlite:PATH`.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let invalid = || Error::InvalidUrl { url: without_password(text) };
        match text.split_once(':') {
            Some(("postgres" | "postgresql", rest)) if rest.starts_with("//") && rest.len() > 2 => {
                Ok(Self::Postgres(text.to_owned()))
            }
            Some(("sqlite", rest)) => match rest.strip_prefix("//").unwrap_or(rest) {
                "" | ":memory:" => Err(invalid()),
                path => Ok(Self::Sqlite(PathBuf::from(path))),
            },
            _ => Err(invalid()),
        }
    }

    /// The place as it may be shown to people: without a password.
    #[must_use]
    pub fn shown(&self) -> String {
        match self {
            Self::Sqlite(path) => path.display().to_string(),
            Self::Postgres(url) => without_password(url),
        }
    }

    /// The URL that the driver understands.
    pub(crate) fn driver_url(&self) -> Result<String, Error> {
        match self {
            Self::Postgres(url) => Ok(url.clone()),
            Self::Sqlite(path) => driver_url_of_file(path),
        }
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

/// Encodes every byte that is not a letter or digit, slashes too: a URL with a hierarchical path would lose `..`.
fn driver_url_of_file(path: &Path) -> Result<String, Error> {
    let mut url = String::from("sqlite:");
    for byte in utf8(path)?.bytes() {
        if byte.is_ascii_alphanumeric() {
            url.push(char::from(byte));
        } else {
            url.push_str(&format!("%{byte:02X}"));
        }
    }
    Ok(url)
}

/// A path as the text that the store keeps.
pub(crate) fn utf8(path: &Path) -> Result<&str, Error> {
    path.to_str().ok_or_else(|| Error::NotUtf8 { path: path.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_is_understood_and_others_are_refused() {
        assert_eq!(StoreUrl::parse("sqlite:/a b/c.db").unwrap(), StoreUrl::Sqlite("/a b/c.db".into()));
        assert_eq!(StoreUrl::parse("sqlite:///a/c.db").unwrap(), StoreUrl::Sqlite("/a/c.db".into()));
        assert!(matches!(StoreUrl::parse("postgresql://u@h/d"), Ok(StoreUrl::Postgres(_))));
        for text in ["", "sqlite:", "sqlite::memory:", "postgres:", "postgres://", "mysql://h/d", "/a/c.db"] {
            assert!(StoreUrl::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn no_password_is_ever_shown() {
        for url in [
            "postgres://u:secret@h:5432/d",
            "postgres://u:se?cr/secret@h/d",
            "postgres://u:x@secret@h/d",
            "postgres://u@h/d?password=secret&sslmode=require",
            "mysql://u:secret@h/d",
            "postgres:/u:secret@h/d",
            "postgres:u:secret@h/d?password=secret",
            "postgres://h/d?password=sec@secret",
            "postgres://u@h/d?password=secret@secret",
        ] {
            assert!(!without_password(url).contains("secret"), "{url}");
        }
        assert_eq!(
            StoreUrl::parse("postgres://u:secret@h:1/d?host=/tmp/x").unwrap().shown(),
            "postgres://u:***@h:1/d?host=/tmp/x"
        );
        let message = StoreUrl::parse("mysql://u:secret@h/d").unwrap_err().to_string();
        assert!(message.contains("mysql://u:***@h/d") && !message.contains("secret"), "{message}");
    }

    #[test]
    fn a_file_url_hides_nothing_from_the_driver() {
        assert_eq!(driver_url_of_file(Path::new("/a/../b?c#%.db")).unwrap(), "sqlite:%2Fa%2F%2E%2E%2Fb%3Fc%23%25%2Edb");
    }
}
