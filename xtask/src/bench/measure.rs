//! Timing: a sample of runs, its median and its 95th percentile.

use std::time::{Duration, Instant};

use anyhow::Result;

#[derive(Default)]
pub struct Sample {
    runs: Vec<Duration>,
}

impl Sample {
    pub fn push(&mut self, run: Duration) -> Result<()> {
        self.runs.push(run);
        self.runs.sort();
        Ok(())
    }

    pub fn median(&self) -> Duration {
        self.runs[self.runs.len() / 2]
    }

    pub fn median_text(&self) -> String {
        text(self.median())
    }

    pub fn p95_text(&self) -> String {
        text(self.runs[(self.runs.len() * 95).div_ceil(100) - 1])
    }
}

/// Runs something and tells how long it took.
pub fn time<T>(run: impl FnOnce() -> Result<T>) -> Result<Duration> {
    let start = Instant::now();
    run()?;
    Ok(start.elapsed())
}

/// Runs two things, the other one first every second time, so that neither profits from the order.
pub fn in_turns(round: usize, a: impl FnOnce() -> Result<()>, b: impl FnOnce() -> Result<()>) -> Result<()> {
    if round.is_multiple_of(2) {
        a()?;
        b()
    } else {
        b()?;
        a()
    }
}

fn text(duration: Duration) -> String {
    match duration.as_secs_f64() * 1000.0 {
        millis if millis < 10.0 => format!("{millis:.1} ms"),
        millis if millis < 1000.0 => format!("{millis:.0} ms"),
        millis => format!("{:.2} s", millis / 1000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_and_percentile_come_from_the_sorted_runs() {
        let mut sample = Sample::default();
        for millis in [50, 10, 30, 20, 40] {
            sample.push(Duration::from_millis(millis)).unwrap();
        }
        assert_eq!(sample.median(), Duration::from_millis(30));
        assert_eq!(sample.p95_text(), "50 ms");
    }
}
