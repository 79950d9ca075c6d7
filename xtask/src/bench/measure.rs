//! Measuring: a sample of runs, its median and its 95th percentile, and turns.

use std::time::{Duration, Instant};

use anyhow::Result;

/// What was measured, in the order of the runs. Times are milliseconds.
#[derive(Debug, Default, Clone)]
pub struct Sample {
    runs: Vec<f64>,
}

impl Sample {
    pub fn push(&mut self, run: f64) {
        self.runs.push(run);
    }

    pub fn runs(&self) -> &[f64] {
        &self.runs
    }

    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The middle run, or the mean of the middle two; none of an empty sample.
    pub fn median(&self) -> Option<f64> {
        let sorted = self.sorted();
        let middle = sorted.len() / 2;
        match sorted.len() {
            0 => None,
            even if even.is_multiple_of(2) => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
            _ => Some(sorted[middle]),
        }
    }

    /// The smallest run that at least 95 of 100 do not exceed; none of an empty sample.
    pub fn p95(&self) -> Option<f64> {
        let sorted = self.sorted();
        let rank = (sorted.len() * 95).div_ceil(100);
        sorted.get(rank.checked_sub(1)?).copied()
    }

    fn sorted(&self) -> Vec<f64> {
        let mut sorted = self.runs.clone();
        sorted.sort_by(f64::total_cmp);
        sorted
    }
}

/// How often things are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rounds {
    /// What takes seconds.
    pub slow: usize,
    /// What takes milliseconds.
    pub fast: usize,
}

impl Rounds {
    const FAST_PER_SLOW: usize = 6;

    pub fn new(slow: usize) -> Self {
        Self { slow, fast: slow * Self::FAST_PER_SLOW }
    }

    /// Whether what is slow is measured too in this one of the fast rounds: they are spread over all of them.
    pub fn is_slow(self, round: usize) -> bool {
        round.is_multiple_of(Self::FAST_PER_SLOW)
    }
}

/// Runs something and tells how long it took.
pub fn time<T>(run: impl FnOnce() -> Result<T>) -> Result<(f64, T)> {
    let start = Instant::now();
    let result = run()?;
    Ok((millis(start.elapsed()), result))
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// Goes through things that are compared, another one first in every round, so that none profits from the order.
pub fn in_turns<T>(round: usize, things: &[T]) -> impl Iterator<Item = &T> {
    let first = round.checked_rem(things.len()).unwrap_or(0);
    things[first..].iter().chain(&things[..first])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(runs: impl IntoIterator<Item = f64>) -> Sample {
        Sample { runs: runs.into_iter().collect() }
    }

    #[test]
    fn the_median_is_the_middle_of_the_sorted_runs() {
        assert_eq!(sample([]).median(), None);
        assert_eq!(sample([7.0]).median(), Some(7.0));
        assert_eq!(sample([50.0, 10.0, 30.0]).median(), Some(30.0));
        assert_eq!(sample([40.0, 10.0, 30.0, 20.0]).median(), Some(25.0));
    }

    #[test]
    fn the_percentile_leaves_out_the_worst_of_twenty() {
        assert_eq!(sample([]).p95(), None);
        assert_eq!(sample([50.0, 10.0, 30.0]).p95(), Some(50.0));
        assert_eq!(sample((1..=20).rev().map(f64::from)).p95(), Some(19.0));
        assert_eq!(sample((1..=100).map(f64::from)).p95(), Some(95.0));
    }

    #[test]
    fn slow_rounds_are_spread_over_the_fast_ones() {
        let rounds = Rounds::new(5);
        let slow: Vec<usize> = (0..rounds.fast).filter(|round| rounds.is_slow(*round)).collect();
        assert_eq!(slow, [0, 6, 12, 18, 24]);
    }

    #[test]
    fn each_comes_first_in_its_turn() {
        let order: Vec<String> = (0..4).map(|round| in_turns(round, &["a", "b", "c"]).copied().collect()).collect();
        assert_eq!(order, ["abc", "bca", "cab", "abc"]);
        assert_eq!(in_turns::<u8>(3, &[]).count(), 0);
    }
}
