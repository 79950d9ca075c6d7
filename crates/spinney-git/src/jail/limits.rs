//! What a process in the jail may use.

use std::time::Duration;

/// The bounds of one call. A process that reaches one ends, and all in its jail with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JailLimits {
    /// How long it may take, whatever it does.
    pub time: Duration,
    pub processor_time: Duration,
    /// Memory that it writes to; packs that it only maps do not count.
    pub memory_bytes: u64,
    /// The longest file that it may write.
    pub file_bytes: u64,
    pub open_files: u64,
    /// The longest answer.
    pub output_bytes: usize,
}

impl Default for JailLimits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(60),
            processor_time: Duration::from_secs(60),
            memory_bytes: 2 << 30,
            file_bytes: 4 << 30,
            open_files: 256,
            output_bytes: 64 << 20,
        }
    }
}

/// Sets the limits of itself, which a program that it becomes keeps. No part of a call is read by the shell.
const SCRIPT: &str = "ulimit -c 0 && ulimit -t \"$1\" && ulimit -d \"$2\" && ulimit -f \"$3\" && ulimit -n \"$4\" && \
                      shift 4 && exec \"$@\"";

/// Of how many bytes the shell counts files.
const BLOCK: u64 = 512;

impl JailLimits {
    /// What is put in front of a program.
    pub(crate) fn prefix(&self) -> [String; 8] {
        let seconds = self.processor_time.as_secs().max(1);
        let (memory, file) = (self.memory_bytes / 1024, (self.file_bytes / BLOCK).max(1));
        let numbers = [seconds, memory, file, self.open_files].map(|number| number.to_string());
        let [seconds, memory, file, open_files] = numbers;
        let shell = ["/bin/sh", "-c", SCRIPT, "sh"].map(str::to_owned);
        let [program, option, script, name] = shell;
        [program, option, script, name, seconds, memory, file, open_files]
    }
}
