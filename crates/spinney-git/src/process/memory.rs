//! How much memory a git process may take. What an agent wrote (`info/exclude` as a link to `/dev/zero`) can make git read without an
//! end, and it keeps what it reads: without a limit the kernel ends whatever it chooses, on the whole machine. Linux only.

use tokio::process::Child;

/// Limits a process that was just started, and all that it starts.
#[cfg(target_os = "linux")]
pub(super) fn limit_memory(child: &Child) {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};

    if let Some(pid) = child.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
        let most = Some(most());
        // One that is over has taken what it took.
        let _ = prlimit(Some(pid), Resource::Data, Rlimit { current: most, maximum: most });
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn limit_memory(_: &Child) {}

/// A quarter of the machine's memory, within bounds. What is mapped, as packs are, does not count.
#[cfg(target_os = "linux")]
fn most() -> u64 {
    const LEAST: u64 = 2 << 30;
    const MOST: u64 = 16 << 30;
    let machine = rustix::system::sysinfo();
    (machine.totalram as u64).saturating_mul(machine.mem_unit.into()).saturating_div(4).clamp(LEAST, MOST)
}
