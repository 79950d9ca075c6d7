//! Points in time, in UTC, with the precision that the store keeps.

use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};

/// Milliseconds since the Unix epoch; as JSON an RFC 3339 text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    #[must_use]
    pub fn now() -> Self {
        Self(jiff::Timestamp::now().as_millisecond())
    }

    #[must_use]
    pub fn from_millisecond(millisecond: i64) -> Self {
        Self(millisecond)
    }

    /// Reads an RFC 3339 text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        text.parse::<jiff::Timestamp>().ok().map(|timestamp| Self(timestamp.as_millisecond()))
    }

    #[must_use]
    pub fn as_millisecond(self) -> i64 {
        self.0
    }

    /// How long ago this was; zero when it lies in the future (clocks differ).
    #[must_use]
    pub fn elapsed(self) -> Duration {
        Duration::from_millis(u64::try_from(Self::now().0 - self.0).unwrap_or(0))
    }

    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }

    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(timestamp) => write!(f, "{timestamp:.0}"),
            Err(_) => write!(f, "{}", self.0),
        }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_as_utc() {
        assert_eq!(Timestamp::from_millisecond(1_700_000_000_123).to_string(), "2023-11-14T22:13:20Z");
        assert_eq!(Timestamp::parse("2023-11-14T22:13:20Z"), Some(Timestamp::from_millisecond(1_700_000_000_000)));
        assert_eq!(Timestamp::parse("soon"), None);
    }
}
