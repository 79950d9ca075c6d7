//! A schedule as typed values. Its keys are those of `schedule.toml`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use croner::parser::{CronParser, Year};
use jiff::Zoned;
use jiff::tz::TimeZone;
use serde::{Deserialize, Deserializer, Serialize};

use super::work_source::{self, WorkSourceConfig};
use super::{agent_values, values};
use crate::Timestamp;
use crate::names::for_message;
use crate::quantity::Span;
use crate::workspace::words;

/// What comes more often is a loop, not a schedule.
const SHORTEST_INTERVAL: Duration = Duration::from_secs(1);

/// When an agent is started by itself, and with what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduleConfig {
    #[serde(rename = "type", deserialize_with = "values::word")]
    pub kind: ScheduleKind,
    /// From one start to the next.
    #[serde(deserialize_with = "interval")]
    pub interval: Span,
    #[serde(with = "values::optional")]
    pub cron: Option<CronPattern>,
    /// Of `cron`; none: UTC.
    #[serde(with = "values::optional")]
    pub timezone: Option<TimeZoneName>,
    /// Each start comes later by a part of it.
    pub jitter: Span,
    /// Empty with a work source, and only then.
    #[serde(deserialize_with = "agent_values::prompt")]
    pub prompt: String,
    /// Whether it has one lasting workspace and session.
    pub resume_session: bool,
    #[serde(with = "work_source::optional")]
    pub work_source: Option<WorkSourceConfig>,
}

words!(
    ScheduleKind {
        /// A time after the last start.
        Interval = "interval",
        /// At times of the calendar.
        Cron = "cron",
    }
);

impl ScheduleConfig {
    /// Says what is wrong with the values together, and with which key.
    pub(super) fn fault(&self) -> Option<(&'static str, &'static str)> {
        match self.kind {
            ScheduleKind::Interval if self.cron.is_some() => {
                return Some(("cron", "it counts only with `type = \"cron\"`"));
            }
            ScheduleKind::Interval if self.timezone.is_some() => {
                return Some(("timezone", "it counts only with `type = \"cron\"`"));
            }
            ScheduleKind::Cron if self.cron.is_none() => {
                return Some(("cron", "it is empty, and `type` is `cron`"));
            }
            ScheduleKind::Interval | ScheduleKind::Cron => {}
        }
        match (self.prompt.trim().is_empty(), &self.work_source) {
            (true, None) => Some(("prompt", "there is neither a `prompt` nor a `work_source`")),
            (false, Some(_)) => Some((
                "prompt",
                "a schedule with a `work_source` can't have a `prompt`: the item's title and text are the prompt",
            )),
            _ => None,
        }
    }

    /// The next time that it comes after a start, jitter aside; none where it never does.
    #[must_use]
    pub fn next_after(&self, start: Timestamp) -> Option<Timestamp> {
        match (self.kind, &self.cron) {
            (ScheduleKind::Interval, _) => Some(start.plus(self.interval.0)),
            (ScheduleKind::Cron, Some(cron)) => {
                let zone = self.timezone.as_ref().map_or(TimeZone::UTC, |name| name.zone.clone());
                cron.next_after(start, zone)
            }
            (ScheduleKind::Cron, None) => None,
        }
    }

    /// All that decides on when it comes: another text, another plan.
    #[must_use]
    pub fn timing(&self) -> String {
        let jitter = self.jitter;
        match (self.kind, &self.cron) {
            (ScheduleKind::Cron, Some(cron)) => {
                let zone = self.timezone.as_ref().map_or("UTC", |zone| &zone.name);
                format!("cron {cron} {zone} jitter {jitter}")
            }
            _ => format!("interval {} jitter {jitter}", self.interval),
        }
    }
}

fn interval<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Span, D::Error> {
    let span = Span::deserialize(deserializer)?;
    match span.0 < SHORTEST_INTERVAL {
        true => Err(serde::de::Error::custom(format!("`{span}` is shorter than `{}`", Span(SHORTEST_INTERVAL)))),
        false => Ok(span),
    }
}

macro_rules! by_text {
    ($name:ident, $error:ident, $text:ident) => {
        impl TryFrom<String> for $name {
            type Error = $error;

            fn try_from(text: String) -> Result<Self, $error> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.$text
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.$text == other.$text
            }
        }

        impl Eq for $name {}

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.$text)
            }
        }
    };
}

/// Times of the calendar, as `0 9 * * MON-FRI`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CronPattern {
    pattern: String,
    cron: croner::Cron,
}

/// A text that is no cron pattern, or one of times that never come.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a cron pattern such as `0 9 * * MON-FRI`: {reason}", for_message(.pattern))]
pub struct InvalidCronPattern {
    pub pattern: String,
    pub reason: String,
}

impl CronPattern {
    fn next_after(&self, start: Timestamp, zone: TimeZone) -> Option<Timestamp> {
        let start = jiff::Timestamp::from_millisecond(start.as_millisecond()).ok()?.to_zoned(zone);
        let next: Zoned = self.cron.find_next_occurrence(&start, false).ok()?;
        Some(Timestamp::from_millisecond(next.timestamp().as_millisecond()))
    }
}

impl FromStr for CronPattern {
    type Err = InvalidCronPattern;

    fn from_str(text: &str) -> Result<Self, InvalidCronPattern> {
        let fault = |reason: String| InvalidCronPattern { pattern: text.to_owned(), reason };
        let parser = CronParser::builder().year(Year::Disallowed).build();
        let cron = parser.parse(text).map_err(|error| fault(for_message(&error.to_string())))?;
        let pattern = Self { pattern: text.to_owned(), cron };
        match pattern.next_after(Timestamp::from_millisecond(0), TimeZone::UTC) {
            Some(_) => Ok(pattern),
            None => Err(fault("it never matches a date".to_owned())),
        }
    }
}

by_text!(CronPattern, InvalidCronPattern, pattern);

/// A time zone by its name in the IANA database.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TimeZoneName {
    name: String,
    zone: TimeZone,
}

/// A text that names no time zone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a time zone such as `Europe/Berlin`", for_message(.0))]
pub struct InvalidTimeZoneName(pub String);

impl FromStr for TimeZoneName {
    type Err = InvalidTimeZoneName;

    fn from_str(text: &str) -> Result<Self, InvalidTimeZoneName> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "/_+-".contains(c);
        let zone = text.chars().all(plain).then(|| TimeZone::get(text).ok()).flatten();
        let zone = zone.ok_or_else(|| InvalidTimeZoneName(text.to_owned()))?;
        Ok(Self { name: text.to_owned(), zone })
    }
}

by_text!(TimeZoneName, InvalidTimeZoneName, name);

#[cfg(test)]
mod tests {
    use super::super::schema::tests::schedule_fault as fault;
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::from_millisecond(text.parse::<jiff::Timestamp>().unwrap().as_millisecond())
    }

    fn schedule(text: &str) -> ScheduleConfig {
        let mut table = super::super::defaults::table(super::super::defaults::schedule_keys());
        table.extend(text.parse::<toml::Table>().unwrap());
        table.try_into().unwrap()
    }

    /// The starts after a time, each planned from the one before.
    fn starts(schedule: &ScheduleConfig, after: &str, count: usize) -> Vec<String> {
        let next = |start: &Timestamp| schedule.next_after(*start);
        std::iter::successors(next(&at(after)), next).take(count).map(|time| time.to_string()).collect()
    }

    #[test]
    fn an_interval_counts_from_the_last_start() {
        let schedule = schedule("interval = '90s'");
        assert_eq!(starts(&schedule, "2026-03-01T10:00:07Z", 2), ["2026-03-01T10:01:37Z", "2026-03-01T10:03:07Z"]);
    }

    #[test]
    fn a_cron_is_in_utc_unless_a_zone_is_named() {
        let utc = schedule("type = 'cron'\ncron = '30 9 * * MON-FRI'");
        // A Friday.
        assert_eq!(starts(&utc, "2026-03-06T09:30:00Z", 1), ["2026-03-09T09:30:00Z"]);
        let new_york = schedule("type = 'cron'\ncron = '30 9 * * *'\ntimezone = 'America/New_York'");
        assert_eq!(starts(&new_york, "2026-01-06T00:00:00Z", 1), ["2026-01-06T14:30:00Z"]);
        let seconds = schedule("type = 'cron'\ncron = '*/20 * * * * *'");
        assert_eq!(starts(&seconds, "2026-01-06T00:00:30Z", 2), ["2026-01-06T00:00:40Z", "2026-01-06T00:01:00Z"]);
    }

    #[test]
    fn a_cron_follows_its_zone_through_the_changes_of_the_clock() {
        let daily = schedule("type = 'cron'\ncron = '0 9 * * *'\ntimezone = 'Europe/Berlin'");
        assert_eq!(
            starts(&daily, "2026-03-27T12:00:00Z", 3),
            ["2026-03-28T08:00:00Z", "2026-03-29T07:00:00Z", "2026-03-30T07:00:00Z"]
        );
        // On 29 March 02:30 does not exist; on 25 October it comes twice.
        let night = schedule("type = 'cron'\ncron = '30 2 * * *'\ntimezone = 'Europe/Berlin'");
        let spring = starts(&night, "2026-03-28T12:00:00Z", 2);
        assert_eq!(spring, ["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"], "once, when the gap is over");
        let autumn = starts(&night, "2026-10-24T12:00:00Z", 2);
        assert_eq!(autumn, ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"], "once, at the first of the two");
        let hourly = schedule("type = 'cron'\ncron = '0 * * * *'\ntimezone = 'Europe/Berlin'");
        assert_eq!(
            starts(&hourly, "2026-10-24T23:30:00Z", 3),
            ["2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"],
            "every hour that passes"
        );
    }

    /// Zones whose clocks are moved by an hour, by half of one, or at midnight.
    #[test]
    fn a_start_is_always_ahead_whatever_becomes_of_the_clock() {
        for (zone, change) in [
            ("Europe/Berlin", "2026-03-29T01:00:00Z"),
            ("Europe/Berlin", "2026-10-25T01:00:00Z"),
            ("Australia/Lord_Howe", "2026-04-04T15:00:00Z"),
            ("Australia/Lord_Howe", "2026-10-03T15:30:00Z"),
            ("America/Havana", "2026-03-08T05:00:00Z"),
            ("America/Havana", "2026-11-01T05:00:00Z"),
        ] {
            for cron in ["* * * * *", "*/7 2 * * *", "30 2 * * *", "0 0 * * *", "15 */3 * * *"] {
                let schedule = schedule(&format!("type = 'cron'\ncron = '{cron}'\ntimezone = '{zone}'"));
                for minutes in (-240..240).step_by(5) {
                    let start = Timestamp::from_millisecond(at(change).as_millisecond() + minutes * 60_000);
                    let next = schedule.next_after(start).unwrap();
                    assert!(next > start, "{zone} `{cron}` after {start}: {next}");
                    let days = (next.as_millisecond() - start.as_millisecond()) / 86_400_000;
                    assert!(days <= 2, "{zone} `{cron}` after {start}: {next}");
                }
            }
        }
    }

    #[test]
    fn another_timing_is_another_text() {
        let texts = [
            "",
            "interval = '6m'",
            "jitter = '1s'",
            "type = 'cron'\ncron = '0 9 * * *'",
            "type = 'cron'\ncron = '0 8 * * *'",
            "type = 'cron'\ncron = '0 9 * * *'\ntimezone = 'Asia/Tokyo'",
        ];
        let timings: std::collections::BTreeSet<_> = texts.iter().map(|text| schedule(text).timing()).collect();
        assert_eq!(timings.len(), texts.len());
        assert_eq!(schedule("prompt = 'x'").timing(), schedule("prompt = 'y'").timing());
    }

    #[test]
    fn right_values_are_taken() {
        for (key, value) in [
            ("type", "cron"),
            ("interval", "1s"),
            ("interval", "14d"),
            ("cron", "0 9 * * MON-FRI"),
            ("cron", "15 */2 1,15 * *"),
            ("cron", "@daily"),
            ("cron", "0 0 29 2 *"),
            ("timezone", "Europe/Berlin"),
            ("timezone", "UTC"),
            ("timezone", "America/Argentina/Buenos_Aires"),
            ("jitter", "30s"),
            ("prompt", "Look after\nthe issues."),
        ] {
            assert_eq!(fault(key, &value.into()), None, "{key} = {value}");
        }
    }

    #[test]
    fn wrong_values_are_refused_with_a_reason() {
        for (key, value, message) in [
            ("type", "hourly", "`hourly` is none of `interval`, `cron`"),
            ("interval", "0", "`0` is shorter than `1s`"),
            ("interval", "999ms", "`999ms` is shorter than `1s`"),
            ("interval", "5", "`5` is not a span of time"),
            ("cron", "every day", "`every day` is not a cron pattern such as `0 9 * * MON-FRI`: "),
            ("cron", "0 9 * *", "`0 9 * *` is not a cron pattern"),
            ("cron", "61 9 * * *", "`61 9 * * *` is not a cron pattern"),
            (
                "cron",
                "0 0 30 2 *",
                "`0 0 30 2 *` is not a cron pattern such as `0 9 * * MON-FRI`: it never matches a date",
            ),
            ("cron", "0 0 0 1 1 * 2020", "`0 0 0 1 1 * 2020` is not a cron pattern"),
            ("timezone", "Berlin", "`Berlin` is not a time zone such as `Europe/Berlin`"),
            ("timezone", "../../etc/passwd", "`../../etc/passwd` is not a time zone"),
            ("jitter", "-1s", "`-1s` is not a span of time"),
        ] {
            let found = fault(key, &value.into()).unwrap_or_else(|| panic!("{key} = {value} is taken"));
            assert!(found.starts_with(message), "{found}");
        }
    }
}
