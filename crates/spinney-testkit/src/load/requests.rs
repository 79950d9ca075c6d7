//! Requests at a steady rate, over connections that are kept.
//!
//! A request's time counts from the moment it was due, not from the moment it could be sent: a server that stalls is not
//! spared the requests that would have come meanwhile.

use std::thread;
use std::time::{Duration, Instant};

use crate::HttpClient;

/// How many requests can be under way at once.
const CONNECTIONS: usize = 32;

/// What is asked for, and how often.
#[derive(Debug)]
pub struct Requests {
    client: HttpClient,
    targets: Vec<String>,
    /// In a second.
    rate: f64,
}

/// How it went.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Milliseconds until the answer, sorted.
    times: Vec<f64>,
    /// Other answers than the one that was asked for.
    pub refused: Vec<String>,
    /// Requests without an answer, and why.
    pub unanswered: Vec<String>,
    took: Duration,
}

impl Outcome {
    /// The time that so many of a hundred requests did not exceed.
    #[must_use]
    pub fn percentile(&self, percent: usize) -> Option<f64> {
        let rank = (self.times.len() * percent).div_ceil(100);
        self.times.get(rank.checked_sub(1)?).copied()
    }

    #[must_use]
    pub fn answered(&self) -> usize {
        self.times.len()
    }

    /// Answered requests in a second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.times.len() as f64 / self.took.as_secs_f64()
    }
}

impl Requests {
    /// Reads all workspaces, all jobs, and each of these in turn.
    #[must_use]
    pub fn of(client: &HttpClient, workspaces: &[String], jobs: &[String], rate: f64) -> Self {
        let targets = workspaces.iter().zip(jobs.iter().cycle()).flat_map(|(workspace, job)| {
            ["workspaces".to_owned(), format!("workspaces/{workspace}"), "jobs".to_owned(), format!("jobs/{job}")]
        });
        let targets = targets.map(|target| format!("/api/v1/{target}")).collect();
        Self { client: client.clone(), targets, rate }
    }

    /// Asks as long as the next one is wanted, by the moment from the start at which it is due.
    pub fn send_while(&self, wanted: impl Fn(Duration) -> bool + Sync) -> Outcome {
        let start = Instant::now();
        let parts: Vec<_> = thread::scope(|scope| {
            let wanted = &wanted;
            let ask = |number| scope.spawn(move || self.send_in_turn(number, start, wanted));
            let threads: Vec<_> = (0..CONNECTIONS).map(ask).collect();
            threads.into_iter().map(|thread| thread.join().expect("no thread panicked")).collect()
        });
        let mut outcome = Outcome { took: start.elapsed(), ..Outcome::default() };
        for part in parts {
            outcome.times.extend(part.times);
            outcome.refused.extend(part.refused);
            outcome.unanswered.extend(part.unanswered);
        }
        outcome.times.sort_by(f64::total_cmp);
        outcome
    }

    /// Every so many-th request, over one connection.
    fn send_in_turn(&self, number: usize, start: Instant, wanted: &(impl Fn(Duration) -> bool + Sync)) -> Outcome {
        let mut outcome = Outcome::default();
        let mut connection = self.client.kept();
        for turn in (number..).step_by(CONNECTIONS) {
            let due = Duration::from_secs_f64(turn as f64 / self.rate);
            if !wanted(due) {
                break;
            }
            thread::sleep(due.saturating_sub(start.elapsed()));
            let target = &self.targets[turn % self.targets.len()];
            match connection.try_send("GET", target, b"") {
                Ok(reply) if reply.status == 200 => {
                    outcome.times.push((start.elapsed() - due).as_secs_f64() * 1000.0);
                }
                Ok(reply) => outcome.refused.push(format!("{target}: {}", reply.told())),
                Err(error) => outcome.unanswered.push(format!("{target}: {error}")),
            }
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_percentile_is_exceeded_by_the_rest_only() {
        let times = (1..=200).map(f64::from).collect();
        let outcome = Outcome { times, took: Duration::from_secs(4), ..Outcome::default() };
        assert_eq!((outcome.percentile(50), outcome.percentile(99)), (Some(100.0), Some(198.0)));
        assert!((outcome.rate() - 50.0).abs() < 1e-9);
        assert_eq!(Outcome::default().percentile(99), None);
    }

    #[test]
    fn a_stall_counts_for_every_request_that_was_due() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = HttpClient::tcp(listener.local_addr().unwrap());
        thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                thread::spawn(move || {
                    let mut stream = stream.unwrap();
                    let lines = BufReader::new(stream.try_clone().unwrap()).lines();
                    for _ in lines.map_while(Result::ok).filter(String::is_empty) {
                        // The first connection's requests take long.
                        thread::sleep(Duration::from_millis(if number == 0 { 300 } else { 0 }));
                        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").unwrap();
                    }
                });
            }
        });
        let requests = Requests::of(&client, &["w".to_owned()], &["j".to_owned()], 1000.0);
        let outcome = requests.send_while(|due| due < Duration::from_millis(200));
        assert_eq!((outcome.answered(), outcome.refused.len(), outcome.unanswered.len()), (200, 0, 0));
        // Of one connection, seven requests were due, of which the last waited for all before it.
        assert!(outcome.times.last().unwrap() > &1500.0, "{:?}", outcome.times.last());
        assert!(outcome.percentile(50).unwrap() < 100.0);
    }
}
