//! When a schedule is due. No clock is read here.

use std::time::Duration;

use spinney_core::config::{ScheduleConfig, ScheduleKind};
use spinney_core::names::content_hash;
use spinney_core::{ForgeError, JobStatus, Schedule, ScheduleKey, Timestamp};

use super::configured::Configured;

/// Until a source that could not be reached is asked again.
const FIRST_PAUSE: Duration = Duration::from_secs(60);
const LONGEST_PAUSE: Duration = Duration::from_secs(60 * 60);

/// The next start after one: however many were missed before `start`, the next is one.
pub(super) fn next(config: &ScheduleConfig, key: &ScheduleKey, start: Timestamp) -> Option<Timestamp> {
    let base = config.next_after(start)?;
    Some(base.plus(delay(key, base, config.jitter.0)))
}

/// How much later than planned a start comes: the same for the same start, whoever asks.
fn delay(key: &ScheduleKey, base: Timestamp, jitter: Duration) -> Duration {
    let most = u64::try_from(jitter.as_millis()).unwrap_or(u64::MAX);
    if most == 0 {
        return Duration::ZERO;
    }
    let seed = content_hash(format!("{key:?} {}", base.as_millisecond()).as_bytes());
    let random = u64::from_str_radix(&seed[..16], 16).unwrap_or_default();
    Duration::from_millis(random % most)
}

/// A schedule that was never seen before: an interval's first start is an interval away.
pub(super) fn first(configured: &Configured, now: Timestamp) -> Schedule {
    let Configured { key, config, .. } = configured;
    Schedule {
        timing: config.timing(),
        planned_at: next(config, key, now),
        asked: false,
        paused: false,
        pause_reason: None,
        failures: 0,
        last_started_at: None,
        last_job_id: None,
        last_status: None,
        last_report: serde_json::Value::Null,
        updated_at: now,
        key: key.clone(),
    }
}

/// Plans one whose timing was changed: an interval still counts from its last start.
pub(super) fn replan(configured: &Configured, row: &mut Schedule, now: Timestamp) {
    let Configured { key, config, .. } = configured;
    let start = row.last_started_at.filter(|_| config.kind == ScheduleKind::Interval).unwrap_or(now);
    row.timing = config.timing();
    row.planned_at = next(config, key, start);
}

/// When a run is tried again that could not reach its work source: when that wants to be asked again, else after a pause
/// that doubles.
pub(super) fn again(error: &ForgeError, postponed: u32, now: Timestamp) -> Timestamp {
    let pause = FIRST_PAUSE.saturating_mul(1 << postponed.saturating_sub(1).min(10)).min(LONGEST_PAUSE);
    let asked = match error {
        ForgeError::RateLimited { until, .. } => until.as_millisecond() - Timestamp::now().as_millisecond(),
        _ => 0,
    };
    now.plus(pause.max(Duration::from_millis(u64::try_from(asked).unwrap_or(0))))
}

/// Whether it is to be started.
pub(super) fn is_due(row: &Schedule, now: Timestamp) -> bool {
    row.asked || (!row.paused && row.planned_at.is_some_and(|at| at <= now))
}

/// Whether its last job has not been seen to end.
pub(super) fn is_open(row: &Schedule) -> bool {
    row.last_job_id.is_some() && row.last_status.is_none_or(|status: JobStatus| !status.is_final())
}

#[cfg(test)]
mod tests {
    use spinney_core::{NodeId, RepositoryId};

    use super::*;

    const MINUTE: i64 = 60_000;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_millisecond(1_772_000_040_000 + minute * MINUTE)
    }

    fn configured(text: &str) -> Configured {
        let mut layers = spinney_core::config::Layers::new();
        let file = format!("[agents.coder.schedules.s]\nprompt = 'x'\n{text}");
        layers.file("c".as_ref(), &file).unwrap();
        let config = layers.resolve().unwrap().config;
        let agent = &config.agents[&"coder".parse().unwrap()];
        Configured {
            key: ScheduleKey {
                account: "local".into(),
                node: NodeId::generate(),
                repository_id: Some(RepositoryId::generate()),
                agent: Some("coder".parse().unwrap()),
                name: "s".parse().unwrap(),
            },
            repository: "acme/app".parse().unwrap(),
            config: agent.schedules[&"s".parse().unwrap()].clone(),
        }
    }

    #[test]
    fn an_interval_is_due_an_interval_after_it_was_first_seen() {
        let row = first(&configured("interval = '5m'"), at(0));
        assert_eq!(row.planned_at, Some(at(5)));
        assert!(!is_due(&row, at(4)) && is_due(&row, at(5)) && is_due(&row, at(500)));
    }

    #[test]
    fn what_was_missed_runs_once() {
        for text in ["interval = '5m'", "type = 'cron'\ncron = '*/5 * * * *'"] {
            let configured = configured(text);
            let mut row = first(&configured, at(0));
            // A day later.
            let now = at(1440);
            assert!(is_due(&row, now), "{text}");
            row.planned_at = next(&configured.config, &configured.key, now);
            assert!(!is_due(&row, now) && row.planned_at.unwrap() > now, "{text}");
        }
    }

    #[test]
    fn a_paused_one_is_due_only_when_somebody_asks() {
        let mut row = first(&configured("interval = '5m'"), at(0));
        row.paused = true;
        assert!(!is_due(&row, at(10)));
        row.asked = true;
        assert!(is_due(&row, at(0)));
    }

    #[test]
    fn jitter_delays_each_start_by_another_part_of_it_and_always_the_same() {
        let configured = configured("interval = '5m'\njitter = '2m'");
        let delays: Vec<_> = (0..50)
            .map(|minute| {
                let planned = next(&configured.config, &configured.key, at(minute)).unwrap();
                assert_eq!(next(&configured.config, &configured.key, at(minute)), Some(planned));
                planned.as_millisecond() - at(minute + 5).as_millisecond()
            })
            .collect();
        assert!(delays.iter().all(|delay| (0..2 * MINUTE).contains(delay)), "{delays:?}");
        let different: std::collections::BTreeSet<_> = delays.iter().collect();
        assert!(different.len() > 40, "{delays:?}");
        let other = ScheduleKey { name: "t".parse().unwrap(), ..configured.key.clone() };
        assert_ne!(next(&configured.config, &other, at(0)), next(&configured.config, &configured.key, at(0)));
    }

    #[test]
    fn a_source_is_left_alone_for_longer_and_longer_and_as_long_as_it_wants() {
        let source = spinney_core::forge::Outage::new("status 503");
        let down = ForgeError::Unreachable { forge: "GitHub".into(), tries: 1, source };
        let pauses: Vec<_> = (1..=9).map(|times| again(&down, times, at(0))).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60].map(at));
        assert_eq!(again(&down, u32::MAX, at(0)), at(60));
        let until = Timestamp::now().plus(Duration::from_secs(2 * 60 * 60));
        let limited = ForgeError::RateLimited { forge: "GitHub".into(), until };
        let ahead = again(&limited, 1, at(0)).as_millisecond() - at(0).as_millisecond();
        assert!((119 * MINUTE..=120 * MINUTE).contains(&ahead), "{ahead}");
        let over = ForgeError::RateLimited { forge: "GitHub".into(), until: Timestamp::from_millisecond(0) };
        assert_eq!(again(&over, 1, at(0)), at(1));
    }

    #[test]
    fn another_timing_is_planned_anew() {
        let mut row = first(&configured("interval = '1d'"), at(0));
        let sooner = configured("interval = '5m'");
        replan(&sooner, &mut row, at(2));
        assert_eq!((row.planned_at, row.timing.as_str()), (Some(at(7)), "interval 5m jitter 0"));
        row.last_started_at = Some(at(1));
        replan(&sooner, &mut row, at(30));
        assert_eq!(row.planned_at, Some(at(6)), "it counts from the last start");
        replan(&configured("type = 'cron'\ncron = '0 * * * *'"), &mut row, at(30));
        assert!(row.planned_at > Some(at(30)));
    }
}
