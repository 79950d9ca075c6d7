//! Whether a process that waits for a remote still gets anything from there.
//!
//! What git reads or writes, or any helper in its process group (ssh, `git-remote-https`), is a sign of life, and so is
//! work of its own: resolving what came takes its time, too. Only where all of them do nothing, the remote is silent.

use std::time::Duration;

use tokio::time::{Instant, sleep};

const LONGEST_PAUSE: Duration = Duration::from_secs(1);
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);

/// Waits until a process group did nothing for so long.
pub(crate) async fn fall_silent(group: Option<u32>, limit: Duration) {
    let pause = (limit / 8).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
    let mut last = Instant::now();
    let mut before = signs::look(group);
    while last.elapsed() < limit {
        sleep(pause).await;
        let now = signs::look(group);
        if signs::is_alive(&before, &now, pause) {
            last = Instant::now();
        }
        before = now;
    }
}

#[cfg(target_os = "linux")]
mod signs {
    use std::collections::HashMap;
    use std::fs;
    use std::time::Duration;

    /// A process that waits in a loop wakes now and then; one that works takes at least this part of the time.
    const WORKING_PART: u32 = 10;
    /// What the kernel counts processor time in, on every architecture.
    const TICK: Duration = Duration::from_millis(10);

    /// What a process did by now.
    #[derive(Debug, Clone, Copy)]
    pub(super) struct Did {
        bytes: u64,
        ticks: u32,
        waits_for_disk: bool,
    }

    pub(super) fn look(group: Option<u32>) -> HashMap<u32, Did> {
        let Some(group) = group else { return HashMap::new() };
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        ids.filter_map(|id| Some((id, did(id, group)?))).collect()
    }

    fn did(id: u32, group: u32) -> Option<Did> {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The name before it may hold anything.
        let mut fields = stat.rsplit_once(") ")?.1.split(' ');
        let waits_for_disk = fields.next()? == "D";
        (fields.nth(1)?.parse() == Ok(group)).then_some(())?;
        let mut ticks = fields.skip(8).take(2).map(|field| field.parse::<u32>().unwrap_or(0));
        let ticks = ticks.next()?.saturating_add(ticks.next()?);
        let io = fs::read_to_string(format!("/proc/{id}/io")).unwrap_or_default();
        let count = |name: &str| io.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
        let bytes = count("rchar:").unwrap_or(0).saturating_add(count("wchar:").unwrap_or(0));
        Some(Did { bytes, ticks, waits_for_disk })
    }

    /// Whether something happened between two looks. A process that was just started did nothing yet.
    pub(super) fn is_alive(before: &HashMap<u32, Did>, now: &HashMap<u32, Did>, pause: Duration) -> bool {
        now.iter().any(|(id, now)| {
            let Some(before) = before.get(id) else { return false };
            let worked = TICK * now.ticks.saturating_sub(before.ticks);
            now.bytes > before.bytes || now.waits_for_disk || worked * WORKING_PART >= pause
        })
    }
}

#[cfg(not(target_os = "linux"))]
mod signs {
    use std::time::Duration;

    /// What processes do can't be seen here: the time of the whole call counts.
    pub(super) fn look(_: Option<u32>) {}

    pub(super) fn is_alive((): &(), (): &(), _: Duration) -> bool {
        false
    }
}
