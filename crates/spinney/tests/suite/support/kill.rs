//! Killing what runs: the process alone, a git of its, or all of it.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

/// Numbers that a seed decides.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below the limit.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit.max(1)
    }

    pub fn choose<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::try_from(self.below(choices.len() as u64)).unwrap()]
    }
}

/// Who is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Victim {
    Spinney,
    /// The git that runs just then, or the next one; Spinney lives.
    Git,
    /// Spinney and all that it started.
    All,
}

/// Kills, as `kill -9` does; whoever has ended already is left alone.
pub fn kill(process: u32, victim: Victim, is_running: &mut dyn FnMut() -> bool) {
    match victim {
        Victim::Spinney => end(process),
        Victim::All => {
            let below = descendants(process);
            end(process);
            below.into_iter().for_each(end);
        }
        Victim::Git => {
            while is_running() {
                let git = descendants(process).into_iter().find(|pid| name_of(*pid) == "git");
                if let Some(git) = git {
                    return end(git);
                }
            }
        }
    }
}

fn end(process: u32) {
    if let Some(pid) = Pid::from_raw(process.cast_signed()) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

fn name_of(process: u32) -> String {
    fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default().trim_end().to_owned()
}

/// The children of a process, and theirs.
fn descendants(process: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let parents: Vec<(u32, u32)> = pids.filter_map(|pid| Some((pid, parent_of(pid)?))).collect();
    let mut found = vec![process];
    let mut looked = 0;
    while let Some(parent) = found.get(looked).copied() {
        found.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        looked += 1;
    }
    found.split_off(1)
}

fn parent_of(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name before it is in parentheses and may hold anything.
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}
