//! The address of a shared store, which may carry a password.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

const HIDDEN: &str = "***";

/// `postgres://…`, or `sqlite:PATH` for a file elsewhere than in the home. It prints without its password; [`StoreUrl::expose`] is for the one who connects.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StoreUrl(String);

/// A text that is no such URL. It does not repeat the text, which may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it is not a URL of the form `postgres://user@host/database`")]
pub struct InvalidStoreUrl;

impl StoreUrl {
    /// The whole URL, password included.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The URL as it may be shown and logged.
    #[must_use]
    pub fn redacted(&self) -> String {
        if self.0.starts_with("sqlite:") { self.0.clone() } else { without_password(&self.0) }
    }
}

impl FromStr for StoreUrl {
    type Err = InvalidStoreUrl;

    fn from_str(text: &str) -> Result<Self, InvalidStoreUrl> {
        let valid = match text.split_once(':') {
            Some(("postgres" | "postgresql", rest)) => {
                rest.len() > 2 && rest.starts_with("//") && !rest.contains(char::is_whitespace)
            }
            Some(("sqlite", path)) => !path.trim_start_matches('/').is_empty() && path != ":memory:",
            _ => false,
        };
        if valid && !text.contains(char::is_control) { Ok(Self(text.to_owned())) } else { Err(InvalidStoreUrl) }
    }
}

/// Hides the password of a database's URL, wherever it stands: before the last `@`, and in the query. It hides too much rather
/// than too little: a password that was not escaped may itself hold `@`, `/` or `?`, and a slash may be missing.
#[must_use]
pub fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return match (url.split_once(':'), url.rsplit_once('@')) {
            (Some((scheme, _)), Some((_, place))) => without_password(&format!("{scheme}://{HIDDEN}@{place}")),
            _ => url.to_owned(),
        };
    };
    let (user, place) = match rest.rsplit_once('@') {
        // Whether the `@` belongs to a parameter can't be told.
        Some((user, _)) if user.split_once('?').is_some_and(|(_, query)| names_password(query)) => {
            return format!("{scheme}://{HIDDEN}");
        }
        Some((user, place)) => match user.split_once([':', '?']) {
            Some((name, _)) => (format!("{name}:{HIDDEN}@"), place),
            None => (format!("{user}@"), place),
        },
        None => (String::new(), rest),
    };
    let Some((place, query)) = place.split_once('?') else { return format!("{scheme}://{user}{place}") };
    let query: Vec<_> = query.split('&').map(redact_parameter).collect();
    format!("{scheme}://{user}{place}?{}", query.join("&"))
}

fn redact_parameter(parameter: &str) -> String {
    match parameter.split_once('=') {
        Some((name, _)) if names_password(name) => format!("{name}={HIDDEN}"),
        _ => parameter.to_owned(),
    }
}

fn names_password(text: &str) -> bool {
    text.to_ascii_lowercase().contains("pass")
}

impl TryFrom<String> for StoreUrl {
    type Error = InvalidStoreUrl;

    fn try_from(text: String) -> Result<Self, InvalidStoreUrl> {
        text.parse()
    }
}

impl From<StoreUrl> for String {
    fn from(url: StoreUrl) -> Self {
        url.0
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.redacted())
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreUrl({:?})", self.redacted())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn passwords_are_hidden_and_the_rest_is_shown() {
        for (url, shown) in [
            ("postgres://me:s3cret@host/db", "postgres://me:***@host/db"),
            ("postgresql://me:a@b/c?d@host:5432/db?x=1", "postgresql://me:***@host:5432/db?x=1"),
            ("postgres://me@host/db", "postgres://me@host/db"),
            ("postgres://localhost:5432/db?host=/run", "postgres://localhost:5432/db?host=/run"),
            ("postgres://host/db?password=x&sslmode=require", "postgres://host/db?password=***&sslmode=require"),
            ("sqlite:/var/lib/a:b@c d.db", "sqlite:/var/lib/a:b@c d.db"),
            ("postgres://host/db?user=a&PGPASSWORD=x", "postgres://host/db?user=a&PGPASSWORD=***"),
            ("postgres://me@host/db?password=a@s3cret", "postgres://***"),
        ] {
            let url: StoreUrl = url.parse().unwrap();
            assert_eq!(url.redacted(), shown);
            assert_eq!(url.to_string(), shown);
            assert!(format!("{url:?}").contains(shown));
        }
    }

    #[test]
    fn other_schemes_are_refused_without_repeating_them() {
        for text in [
            "mysql://me:s3cret@host/db",
            "host/s3cret",
            "postgres://",
            "postgres://h/s3cret\n",
            "s3cret",
            "sqlite:",
            "sqlite::memory:",
            "sqlite:a\nb",
        ] {
            assert!(!text.parse::<StoreUrl>().unwrap_err().to_string().contains("s3cret"));
        }
    }

    proptest! {
        #[test]
        fn no_password_ever_shows(password in "[!-~]{6,30}") {
            let password = format!("zqx{password}zqx");
            let url: StoreUrl = format!("postgres://me:{password}@host/db").parse().unwrap();
            prop_assert!(!url.redacted().contains("zqx"), "{}", url.redacted());
        }
    }
}
