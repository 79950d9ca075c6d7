//! How requests went, counted in this process.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::http::{Method, StatusCode};

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
}

impl Metrics {
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
    use super::*;

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
