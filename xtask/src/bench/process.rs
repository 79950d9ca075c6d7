//! What a process takes, by the kernel's own count.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

/// What `/proc` counts in, wherever Linux runs.
const TICK_MILLIS: f64 = 10.0;

/// A process, by its directory in `/proc`.
#[derive(Debug)]
pub struct Process(PathBuf);

impl Process {
    pub fn new(directory: PathBuf) -> Self {
        Self(directory)
    }

    pub fn of_id(id: u32) -> Self {
        Self(PathBuf::from(format!("/proc/{id}")))
    }

    /// What all the threads took so far that it has now.
    pub fn processor_millis(&self) -> Result<f64> {
        let mut nanos = 0.0;
        for thread in fs::read_dir(self.0.join("task")).context("the process is gone")?.flatten() {
            // A thread may end while they are looked through.
            let Ok(text) = fs::read_to_string(thread.path().join("schedstat")) else { continue };
            nanos += text.split(' ').next().unwrap_or_default().parse::<f64>().context("no processor time")?;
        }
        Ok(nanos / 1e6)
    }

    /// The same with the threads that have ended, as exact as the kernel's ticks are.
    pub fn whole_processor_millis(&self) -> Result<f64> {
        let text = fs::read_to_string(self.0.join("stat")).context("the process is gone")?;
        // Behind the name, which may hold anything: the state, ten more, then user and system time.
        let (_, rest) = text.rsplit_once(") ").context("no processor time")?;
        let ticks = rest.split(' ').skip(11).take(2).map(str::parse::<f64>).sum::<Result<f64, _>>()?;
        Ok(ticks * TICK_MILLIS)
    }

    /// The most memory that it had so far; none once it has ended.
    pub fn peak_bytes(&self) -> Option<f64> {
        self.status_bytes("VmHWM:")
    }

    /// The memory that it has; none once it has ended.
    pub fn memory_bytes(&self) -> Option<f64> {
        self.status_bytes("VmRSS:")
    }

    fn status_bytes(&self, name: &str) -> Option<f64> {
        let text = fs::read_to_string(self.0.join("status")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim().strip_suffix(" kB")?.parse::<f64>().ok()? * 1024.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::table::MIB;

    #[test]
    fn threads_that_ended_are_counted() {
        let own = Process::of_id(std::process::id());
        let before = own.whole_processor_millis().unwrap();
        let spin = || {
            let started = std::time::Instant::now();
            while started.elapsed().as_millis() < 300 {}
        };
        std::thread::spawn(spin).join().unwrap();
        assert!(own.whole_processor_millis().unwrap() >= before + 2.0 * TICK_MILLIS);
    }

    #[test]
    fn a_process_tells_its_time_and_its_memory() {
        let own = Process::of_id(std::process::id());
        assert!(own.processor_millis().unwrap() > 0.0);
        // In this order: other tests in this process may take more in between.
        let memory = own.memory_bytes().unwrap();
        assert!(memory > MIB && own.peak_bytes().unwrap() >= memory);
        let gone = Process::new("/proc/none".into());
        assert!(gone.processor_millis().is_err() && gone.peak_bytes().is_none() && gone.memory_bytes().is_none());
    }
}
