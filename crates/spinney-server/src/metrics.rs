//! How requests went, counted in this process.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::http::{Method, StatusCode};
use spinney_core::AccountName;
use spinney_store::{Claims, Connection};

use crate::error::Result;

/// Upper bounds of the buckets, in milliseconds.
const BOUNDS_MS: [u64; 10] = [1, 2, 5, 10, 25, 50, 100, 500, 2000, 10_000];

/// The requests of one line of the table that had one status.
#[derive(Debug, Clone, Default)]
pub(crate) struct Timing {
    pub count: u64,
    pub sum: Duration,
    /// How many were within each bound.
    pub within: [u64; BOUNDS_MS.len()],
}

/// Which requests: method, the table's path, status.
type Key = (String, String, u16);

#[derive(Debug, Default)]
pub(crate) struct Metrics {
    timings: Mutex<BTreeMap<Key, Timing>>,
    /// Of each account that asked.
    claims: tokio::sync::Mutex<HashMap<AccountName, Claims>>,
}

impl Metrics {
    /// Counts an account's claims of pools: from what the audit log had when it was first asked, on with what is new, so
    /// that a count never goes down when old events are forgotten.
    pub(crate) async fn count_claims(&self, db: &mut Connection, account: &AccountName) -> Result<Claims> {
        let mut claims = self.claims.lock().await;
        let counted = claims.entry(account.clone()).or_default();
        let new = db.count_claims(account.as_str(), counted.up_to).await?;
        *counted = Claims { hits: counted.hits + new.hits, misses: counted.misses + new.misses, up_to: new.up_to };
        Ok(*counted)
    }

    pub(crate) fn answered(&self, method: &Method, path: &str, status: StatusCode, took: Duration) {
        let mut timings = self.timings.lock().unwrap_or_else(PoisonError::into_inner);
        // Anybody can make names up.
        let method = match *method {
            Method::GET | Method::HEAD | Method::POST | Method::DELETE => method.as_str(),
            _ => "other",
        };
        let timing = timings.entry((method.to_owned(), path.to_owned(), status.as_u16())).or_default();
        timing.count += 1;
        timing.sum += took;
        for (bound, within) in BOUNDS_MS.iter().zip(&mut timing.within) {
            *within += u64::from(took <= Duration::from_millis(*bound));
        }
    }

    /// Adds a histogram in the text format of Prometheus.
    pub(crate) fn write(&self, text: &mut String) {
        const NAME: &str = "spinney_http_request_duration_seconds";
        let timings = self.timings.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // Writing to a text does not fail.
        let _ = writeln!(text, "# HELP {NAME} How long requests took\n# TYPE {NAME} histogram");
        for ((method, path, status), timing) in timings {
            let labels = format!("method=\"{method}\",path=\"{path}\",status=\"{status}\"");
            for (bound, within) in BOUNDS_MS.iter().zip(timing.within) {
                let seconds = *bound as f64 / 1000.0;
                let _ = writeln!(text, "{NAME}_bucket{{{labels},le=\"{seconds}\"}} {within}");
            }
            let (count, sum) = (timing.count, timing.sum.as_secs_f64());
            let _ = writeln!(text, "{NAME}_bucket{{{labels},le=\"+Inf\"}} {count}");
            let _ = writeln!(text, "{NAME}_sum{{{labels}}} {sum}\n{NAME}_count{{{labels}}} {count}");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use spinney_core::Timestamp;
    use spinney_store::{Event, Store, StoreUrl};

    use super::*;

    async fn create(store: &Store, warm: bool) {
        let mut db = store.write().await.unwrap();
        let event = Event {
            account: AccountName::local().to_string(),
            kind: "workspace.created".to_owned(),
            workspace_id: None,
            repository_id: None,
            job_id: None,
            detail: json!({ "warm": warm }),
            at: Timestamp::from_millisecond(0),
        };
        db.record_event(event).unwrap();
        db.commit().await.unwrap();
    }

    #[tokio::test]
    async fn a_count_of_claims_outlives_the_events() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreUrl::Sqlite(directory.path().join("spinney.db"))).await.unwrap();
        let (metrics, account) = (Metrics::default(), AccountName::local());
        let mut db = store.read().await.unwrap();
        for warm in [true, false, true] {
            create(&store, warm).await;
        }
        let counted = metrics.count_claims(&mut db, &account).await.unwrap();
        assert_eq!((counted.hits, counted.misses), (2, 1));
        assert!(db.delete_events_before(Timestamp::now()).await.unwrap() > 0);
        assert_eq!(metrics.count_claims(&mut db, &account).await.unwrap(), counted);
        create(&store, false).await;
        let counted = metrics.count_claims(&mut db, &account).await.unwrap();
        assert_eq!((counted.hits, counted.misses), (2, 2));
    }

    #[test]
    fn methods_that_somebody_makes_up_are_one() {
        let metrics = Metrics::default();
        for name in ["GET", "PATCH", "FROB", "X-1", "X-2"] {
            let method = Method::from_bytes(name.as_bytes()).unwrap();
            metrics.answered(&method, "unknown", StatusCode::NOT_FOUND, Duration::ZERO);
        }
        let mut text = String::new();
        metrics.write(&mut text);
        let counts: Vec<_> = text.lines().filter(|line| line.contains("_count{")).collect();
        assert_eq!(counts.len(), 2, "{text}");
        assert!(counts.iter().any(|line| line.contains("method=\"other\"") && line.ends_with(" 4")), "{text}");
    }
}
