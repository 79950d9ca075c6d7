//! Plain processes of this machine, each program in a process group of its own.

mod family;
mod inside;

use std::convert::Infallible;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

pub use family::{become_head, hide, spare};

use super::{Executor, Group, Input, Invocation, Member, Started, Tagged};

/// How long a killed process may take to end: one that waits for a disk ends when the disk answers.
const LAST_BREATH: Duration = Duration::from_secs(2);

/// Runs programs as processes of this machine.
#[derive(Debug, Clone, Copy)]
pub struct Host;

impl Executor for Host {
    fn start(&self, invocation: &Invocation) -> io::Result<Started> {
        let mut command = command(invocation);
        command.stdin(match invocation.input {
            Input::Piped => Stdio::piped(),
            Input::Nothing => Stdio::null(),
        });
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let child = tokio::process::Command::from(command).spawn()?;
        let group = ProcessGroup(child.id().and_then(|id| Pid::from_raw(id.cast_signed())));
        Ok(Started::new(child, Box::new(group)))
    }

    fn become_program(&self, invocation: &Invocation) -> io::Result<Infallible> {
        Err(command(invocation).exec())
    }

    fn members(&self, tagged: &Tagged<'_>) -> Vec<Member> {
        family::members(tagged).into_iter().map(|pid| member(pid.as_raw_nonzero().get().cast_unsigned())).collect()
    }

    fn inside(&self, directory: &Path) -> Vec<Member> {
        inside::processes_inside(directory).into_iter().map(member).collect()
    }

    fn end(&self, tagged: &Tagged<'_>) {
        let deadline = Instant::now() + LAST_BREATH;
        // Killed and gone are two things, and what is not gone may still write.
        loop {
            let found = family::members(tagged);
            if found.is_empty() || Instant::now() > deadline {
                return;
            }
            for pid in found {
                let _ = kill_process(pid, Signal::KILL);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn path_inside(&self, path: &Path) -> PathBuf {
        path.to_owned()
    }
}

/// A process group, by its leader.
#[derive(Debug)]
struct ProcessGroup(Option<Pid>);

impl Group for ProcessGroup {
    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.0 {
            let _ = kill_process_group(pid, signal);
        }
    }
}

/// A program with exactly its environment.
fn command(invocation: &Invocation) -> Command {
    #[expect(clippy::disallowed_methods, reason = "the programs of a workspace: an agent's, a shell's, a person's")]
    let mut command = Command::new(&invocation.program);
    command.args(&invocation.arguments).current_dir(&invocation.directory);
    command.env_clear().envs(invocation.environment.iter().cloned());
    command.envs(invocation.tag.iter().map(|tag| (tag.variable(), tag.value())));
    command
}

fn member(pid: u32) -> Member {
    let command = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned();
    Member { pid, command }
}
