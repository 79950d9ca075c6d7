//! Where a request came from: this machine, or a platform, known by its name.
//!
//! Which platforms there are is not said here: each is declared where its adapter is, and brings its section of the
//! configuration along.

use std::fmt;
use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Longer than any name of a platform.
const MAX_BYTES: usize = 24;

/// The name of a platform on which people ask for work, as `github`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlatformName([u8; MAX_BYTES]);

/// A text that can't be the name of a platform.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not the name of a platform such as `github`", crate::names::for_message(.0))]
pub struct InvalidPlatformName(pub String);

/// Where a request came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Platform {
    Cli,
    Api,
    Schedule,
    /// One on which people ask for work.
    On(PlatformName),
}

impl PlatformName {
    /// A name that is written in the code.
    ///
    /// # Panics
    ///
    /// If the text can't be a name; of a constant, that is an error when it is compiled.
    #[must_use]
    pub const fn new(text: &str) -> Self {
        match Self::checked(text.as_bytes()) {
            Some(name) => name,
            None => panic!("it is no name of a platform"),
        }
    }

    /// Lowercase letters, digits and underscores, a letter first.
    const fn checked(text: &[u8]) -> Option<Self> {
        if text.is_empty() || text.len() > MAX_BYTES || !text[0].is_ascii_lowercase() {
            return None;
        }
        let mut bytes = [0; MAX_BYTES];
        let mut at = 0;
        while at < text.len() {
            let byte = text[at];
            if !(byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_') {
                return None;
            }
            bytes[at] = byte;
            at += 1;
        }
        Some(Self(bytes))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        let length = self.0.iter().position(|byte| *byte == 0).unwrap_or(MAX_BYTES);
        std::str::from_utf8(&self.0[..length]).unwrap_or_default()
    }
}

impl FromStr for PlatformName {
    type Err = InvalidPlatformName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::checked(text.as_bytes()).ok_or_else(|| InvalidPlatformName(text.to_owned()))
    }
}

impl fmt::Display for PlatformName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for PlatformName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl Platform {
    /// Those that are always there: requests that come over no platform.
    pub const OWN: [Self; 3] = [Self::Cli, Self::Api, Self::Schedule];

    /// A platform whose name is written in the code; as [`PlatformName::new`].
    #[must_use]
    pub const fn on(name: &str) -> Self {
        Self::On(PlatformName::new(name))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Cli => "cli",
            Self::Api => "api",
            Self::Schedule => "schedule",
            Self::On(name) => name.as_str(),
        }
    }

    /// The name of the platform on which somebody asked; none where it was none.
    #[must_use]
    pub fn name(&self) -> Option<PlatformName> {
        match self {
            Self::On(name) => Some(*name),
            Self::Cli | Self::Api | Self::Schedule => None,
        }
    }
}

impl FromStr for Platform {
    type Err = InvalidPlatformName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let own = Self::OWN.into_iter().find(|own| own.as_str() == text);
        own.map_or_else(|| text.parse().map(Self::On), Ok)
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// As the name, in the store and in JSON.
macro_rules! as_text {
    ($($name:ident),+) => {
        $(impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
            }
        })+
    };
}
as_text!(Platform, PlatformName);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_platform_is_its_name() {
        for name in ["cli", "api", "schedule", "github", "a", "my_chat2", "abcdefghijklmnopqrstuvwx"] {
            let platform: Platform = name.parse().unwrap();
            assert_eq!((platform.as_str(), platform.to_string().as_str()), (name, name));
            assert_eq!(serde_json::to_value(platform).unwrap(), name);
            assert_eq!(serde_json::from_value::<Platform>(name.into()).unwrap(), platform);
            assert_eq!(platform.name().is_some(), !["cli", "api", "schedule"].contains(&name));
        }
        assert_eq!(Platform::on("github"), "github".parse().unwrap());
        for wrong in ["", "Github", "1a", "_a", "a-b", "a b", "größe", "a\0", "abcdefghijklmnopqrstuvwxy"] {
            assert!(wrong.parse::<Platform>().is_err(), "{wrong:?}");
        }
    }
}
