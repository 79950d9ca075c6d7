//! Spans of time, amounts of bytes and shares as people write them: `5m`, `14d`, `2GiB`, `0.9`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A span of time in the configuration. Zero turns the thing off that it governs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Span(pub Duration);

/// An amount of bytes in the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Bytes(pub u64);

/// A part of a whole in thousandths, written as a number from `0` to `1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Share(u16);

/// A text or number that is no quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidQuantity {
    #[error("`{}` is not a span of time such as `30s`, `5m`, `6h` or `14d`", crate::names::for_message(.0))]
    Span(String),
    #[error("`{}` is not an amount such as `500MB` or `2GiB`", crate::names::for_message(.0))]
    Bytes(String),
    #[error("`{}` is not a share from `0` to `1` in thousandths, such as `0.9`", crate::names::for_message(.0))]
    Share(String),
}

const SPAN_UNITS: [(&str, u64); 5] = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
const BYTE_UNITS: [(&str, u64); 9] = [
    ("B", 1),
    ("kB", 1000),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
    ("TB", 1_000_000_000_000),
    ("TiB", 1 << 40),
];

/// Reads a whole number and a unit; a bare `0` needs none.
fn parse(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim();
    if text == "0" {
        return Some(0);
    }
    let split = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(split);
    let unit = unit.trim_start();
    let (_, factor) = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit))?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

impl FromStr for Span {
    type Err = InvalidQuantity;

    fn from_str(text: &str) -> Result<Self, InvalidQuantity> {
        let millis = parse(text, &SPAN_UNITS).ok_or_else(|| InvalidQuantity::Span(text.to_owned()))?;
        Ok(Self(Duration::from_millis(millis)))
    }
}

impl FromStr for Bytes {
    type Err = InvalidQuantity;

    fn from_str(text: &str) -> Result<Self, InvalidQuantity> {
        parse(text, &BYTE_UNITS).map(Self).ok_or_else(|| InvalidQuantity::Bytes(text.to_owned()))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX);
        if millis == 0 {
            return f.write_str("0");
        }
        let (unit, factor) =
            SPAN_UNITS.iter().rev().find(|(_, factor)| millis.is_multiple_of(*factor)).unwrap_or(&SPAN_UNITS[0]);
        write!(f, "{}{unit}", millis / factor)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, factor) = BYTE_UNITS
            .iter()
            .rev()
            .find(|(_, factor)| self.0 > 0 && self.0.is_multiple_of(*factor))
            .unwrap_or(&BYTE_UNITS[0]);
        if self.0 == 0 { f.write_str("0") } else { write!(f, "{}{unit}", self.0 / factor) }
    }
}

impl Share {
    /// Nothing of the whole.
    pub const ZERO: Self = Self(0);

    /// Whether nothing is meant: what the share governs is off.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// So much of a whole, rounded down.
    #[must_use]
    pub fn of(self, whole: u64) -> u64 {
        u64::try_from(u128::from(whole) * u128::from(self.0) / 1000).unwrap_or(whole)
    }
}

impl TryFrom<f64> for Share {
    type Error = InvalidQuantity;

    fn try_from(number: f64) -> Result<Self, InvalidQuantity> {
        (0..=1000u16)
            .find(|thousandths| f64::from(*thousandths) / 1000.0 == number)
            .map(Self)
            .ok_or_else(|| InvalidQuantity::Share(number.to_string()))
    }
}

impl From<Share> for f64 {
    fn from(share: Share) -> Self {
        f64::from(share.0) / 1000.0
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f64::from(*self).fmt(f)
    }
}

macro_rules! through_text {
    ($name:ident) => {
        impl TryFrom<String> for $name {
            type Error = InvalidQuantity;

            fn try_from(text: String) -> Result<Self, InvalidQuantity> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.to_string()
            }
        }
    };
}

through_text!(Span);
through_text!(Bytes);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_read_and_print() {
        for text in ["0", "250ms", "30s", "5m", "6h", "14d"] {
            assert_eq!(text.parse::<Span>().unwrap().to_string(), text);
        }
        assert_eq!("90s".parse::<Span>().unwrap().0, Duration::from_secs(90));
        for text in ["0", "1B", "2GiB", "20GiB", "500MB", "3TiB"] {
            assert_eq!(text.parse::<Bytes>().unwrap().to_string(), text);
        }
        assert_eq!("2 gib".parse::<Bytes>().unwrap().0, 2 << 30);
    }

    #[test]
    fn shares_are_thousandths() {
        for (number, of_a_million) in
            [(0.0, 0), (-0.0, 0), (0.001, 1000), (0.57, 570_000), (0.9, 900_000), (1.0, 1_000_000)]
        {
            let share = Share::try_from(number).unwrap();
            assert_eq!((share.of(1_000_000), f64::from(share)), (of_a_million, number));
        }
        assert_eq!(Share::try_from(1.0).unwrap().of(u64::MAX), u64::MAX);
        assert!(Share::try_from(0.0).unwrap().is_zero());
        for number in [-0.1, 1.001, 0.0001, 90.0, f64::NAN, f64::INFINITY] {
            assert!(Share::try_from(number).is_err(), "{number}");
        }
        let message = "`90` is not a share from `0` to `1` in thousandths, such as `0.9`";
        assert_eq!(Share::try_from(90.0).unwrap_err().to_string(), message);
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "5", "m", "-5m", "1.5h", "5 minutes", "99999999999999999999d", "5µs"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
        for text in ["", "12", "GiB", "99999999TiB", "1XB"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
    }
}
