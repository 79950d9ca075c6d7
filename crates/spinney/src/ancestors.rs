//! The processes that this one was started by: the shell that a person typed into, and what that shell runs in.

use std::fs;

use rustix::process::getppid;

/// More than any terminal nests.
const MOST: usize = 64;

/// The ids of the processes above this one, the nearest first. Where the system has no `/proc`, the nearest alone.
pub fn of_this_process() -> Vec<u32> {
    let mut pids = Vec::new();
    let mut next = getppid().map(|pid| pid.as_raw_nonzero().get().cast_unsigned());
    while let Some(pid) = next.filter(|pid| *pid > 1 && pids.len() < MOST) {
        pids.push(pid);
        next = fs::read_to_string(format!("/proc/{pid}/stat")).ok().and_then(|stat| parent(&stat));
    }
    pids
}

/// The parent in a line of `/proc/PID/stat`: the second field after the program's name, which may hold anything.
fn parent(stat: &str) -> Option<u32> {
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_hides_no_parent() {
        assert_eq!(parent("12 (a) b) S 7 12 12 0 -1"), Some(7));
        assert_eq!(parent("12 (sh"), None);
    }
}
