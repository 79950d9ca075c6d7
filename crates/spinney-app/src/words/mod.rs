//! What people read, on the terminal and on the pages: numbers and times, what a job does, what a verdict says.

mod actor;
mod delivery;
mod ignored;
mod job;
mod told;
mod verdict;

pub use spinney_jobs::plain::{first_line, plain};

pub use actor::actor;
pub use delivery::{delivery, no_pull_request};
pub use ignored::ignored;
pub use job::{
    action, counted, doing, ended, error_of, found, left_out, log_line, one_line, outcome, phase, ran_for, waits_for,
    with_advice,
};
pub use told::English;
pub use verdict::{Around, items_of, lost_with, standing, ways_to_keep};

use std::time::Duration;

use spinney_core::Timestamp;
use spinney_engine::Expiry;

const UNITS: [(u64, &str, &str); 4] = [(86_400, "d", "day"), (3600, "h", "hour"), (60, "m", "min"), (1, "s", "s")];

fn largest(seconds: u64) -> (u64, &'static str, &'static str) {
    let (factor, short, long) = UNITS.into_iter().find(|(factor, ..)| seconds >= *factor).unwrap_or(UNITS[3]);
    (seconds / factor, short, long)
}

/// `4m`, for a column.
#[must_use]
pub fn age(since: Timestamp) -> String {
    let (count, unit, _) = largest(since.elapsed().as_secs());
    format!("{count}{unit}")
}

/// `4 min ago`, for a sentence.
#[must_use]
pub fn ago(since: Timestamp) -> String {
    span_ago(since.elapsed())
}

#[must_use]
pub fn span_ago(elapsed: Duration) -> String {
    match largest(elapsed.as_secs()) {
        (0, ..) => "just now".to_owned(),
        (count, _, unit @ ("day" | "hour")) if count != 1 => format!("{count} {unit}s ago"),
        (count, _, unit) => format!("{count} {unit} ago"),
    }
}

/// `14 days` for `14d`; other spans as they were written.
#[must_use]
pub fn days(span: &str) -> String {
    match span.strip_suffix('d') {
        Some("1") => "1 day".to_owned(),
        Some(count) if count.bytes().all(|byte| byte.is_ascii_digit()) => format!("{count} days"),
        _ => span.to_owned(),
    }
}

/// Why an archive is kept no longer, by the two keys of the configuration.
#[must_use]
pub fn expired(why: Expiry, archive_for: &str, archive_quota: &str) -> String {
    match why {
        Expiry::Age => format!("archived more than {} ago (`cleanup.archive_for`)", days(archive_for)),
        Expiry::Quota => format!("all archives take more than {archive_quota} (`cleanup.archive_quota`)"),
    }
}

/// `18 ms`, `1.8 s`.
#[must_use]
pub fn took(duration: Duration) -> String {
    match duration.as_millis() {
        millis @ 0..1000 => format!("{millis} ms"),
        millis => format!("{}.{} s", millis / 1000, millis % 1000 / 100),
    }
}

/// `1m12s`, `2h05m`: how long something lasts, for a line that is rewritten.
#[must_use]
pub fn lasted(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds / 3600 {
        0 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        hours => format!("{hours}h{:02}m", seconds % 3600 / 60),
    }
}

/// How long it was from one time to another; zero when clocks differ.
#[must_use]
pub fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::from_millis(u64::try_from(to.as_millisecond() - from.as_millisecond()).unwrap_or(0))
}

/// `$0.21`, from millionths of a dollar.
#[must_use]
pub fn cost(micros: u64) -> String {
    let cents = micros.div_ceil(10_000);
    format!("${}.{:02}", cents / 100, cents % 100)
}

/// `34k`: a number of which only the size matters.
#[must_use]
pub fn rough(number: u64) -> String {
    match number {
        0..1000 => number.to_string(),
        1000..1_000_000 => format!("{}k", number / 1000),
        _ => format!("{}.{}M", number / 1_000_000, number % 1_000_000 / 100_000),
    }
}

/// `29 Nov`, in the person's time zone.
#[must_use]
pub fn date(at: Timestamp) -> String {
    match jiff::Timestamp::from_millisecond(at.as_millisecond()) {
        Ok(at) => at.to_zoned(jiff::tz::TimeZone::system()).strftime("%-d %b").to_string(),
        Err(_) => at.to_string(),
    }
}

/// Reads a day such as `2026-01-31`, which begins where this person is.
#[must_use]
pub fn day(text: &str) -> Option<Timestamp> {
    let day: jiff::civil::Date = text.parse().ok()?;
    let begin = day.to_zoned(jiff::tz::TimeZone::system()).ok()?;
    Some(Timestamp::from_millisecond(begin.timestamp().as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_like_speech() {
        assert_eq!(span_ago(Duration::from_millis(10)), "just now");
        assert_eq!(span_ago(Duration::from_secs(40)), "40 s ago");
        assert_eq!(span_ago(Duration::from_secs(3700)), "1 hour ago");
        assert_eq!(span_ago(Duration::from_secs(200_000)), "2 days ago");
        assert_eq!([days("14d"), days("1d"), days("36h")], ["14 days", "1 day", "36h"]);
        assert_eq!(lasted(Duration::from_secs(41)), "0m41s");
        assert_eq!(lasted(Duration::from_secs(7500)), "2h05m");
        assert_eq!([cost(1), cost(214_000), cost(12_340_000)], ["$0.01", "$0.22", "$12.34"]);
        assert_eq!([rough(999), rough(34_500), rough(1_250_000)], ["999", "34k", "1.2M"]);
        assert_eq!(took(Duration::from_millis(18)), "18 ms");
        assert_eq!(took(Duration::from_millis(1850)), "1.8 s");
    }
}
