//! What a process takes, by the kernel's own count.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

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

    /// What all its threads took so far.
    pub fn processor_millis(&self) -> Result<f64> {
        let mut nanos = 0.0;
        for thread in fs::read_dir(self.0.join("task")).context("the process is gone")?.flatten() {
            // A thread may end while they are looked through.
            let Ok(text) = fs::read_to_string(thread.path().join("schedstat")) else { continue };
            nanos += text.split(' ').next().unwrap_or_default().parse::<f64>().context("no processor time")?;
        }
        Ok(nanos / 1e6)
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
    fn a_process_tells_its_time_and_its_memory() {
        let own = Process::of_id(std::process::id());
        assert!(own.processor_millis().unwrap() > 0.0);
        assert!(own.memory_bytes().unwrap() > MIB && own.peak_bytes() >= own.memory_bytes());
        let gone = Process::new("/proc/none".into());
        assert!(gone.processor_millis().is_err() && gone.peak_bytes().is_none() && gone.memory_bytes().is_none());
    }
}
