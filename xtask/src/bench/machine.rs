//! What the measurements were made on.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::site::output;

/// Cores, model, memory and kernel.
pub fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let model = field("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let kib = field("/proc/meminfo", "MemTotal").and_then(|text| text.strip_suffix(" kB")?.trim().parse::<f64>().ok());
    let memory = kib.map_or("unknown".to_owned(), |kib| format!("{:.1} GiB", kib / 1_048_576.0));
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{cores} cores, {model}, {memory} memory, {} {}", std::env::consts::OS, kernel.trim())
}

/// The load average of the last 1, 5 and 15 minutes.
pub fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

/// The type of the file system that a directory is on.
pub fn file_system(directory: &Path) -> String {
    match output(Command::new("df").arg("--output=fstype").arg(directory)) {
        Ok(output) => String::from_utf8_lossy(&output.stdout).lines().last().unwrap_or_default().to_owned(),
        Err(error) => format!("unknown ({error:#})"),
    }
}

/// The first line that a program answers.
pub fn said(command: &mut Command) -> String {
    match output(command) {
        Ok(output) => String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned(),
        Err(error) => format!("unknown ({error:#})"),
    }
}

/// The value of the first line `name : value`.
fn field(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let (_, value) = text.lines().filter_map(|line| line.split_once(':')).find(|(key, _)| key.trim() == name)?;
    Some(value.trim().to_owned())
}
