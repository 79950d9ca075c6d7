//! A repository whose agent `coder` does what its prompt says.

use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;
use spinney_testkit::{Cli, Ran, Running, scripted_agent, wait_until};

use crate::common::{BINARY, Story};

pub const LONG: Duration = Duration::from_secs(60);

pub struct Jobs {
    pub story: Story,
    pub cli: Cli,
}

impl Jobs {
    pub fn new() -> Self {
        Self::with("")
    }

    /// With more lines in the section of the agent.
    pub fn with(lines: &str) -> Self {
        Self::of(Story::new(), lines)
    }

    pub fn of(story: Story, lines: &str) -> Self {
        let program = serde_json::to_string(&scripted_agent()).unwrap();
        let agent = format!("[agents.coder]\nruntime = \"command\"\ncommand = [{program}]\n{lines}\n");
        story.sandbox().write_config(&agent);
        let cli = story.cli.clone();
        Self { story, cli }
    }

    /// A path outside of the repository and its workspaces.
    pub fn place(&self, name: &str) -> PathBuf {
        self.story.sandbox().path().join(name)
    }

    /// An instruction that tells the agent's process id and then waits until [`Jobs::let_go`].
    pub fn hold(&self, name: &str) -> String {
        let (pid, go) = (self.place(&format!("{name}.pid")), self.place(&format!("{name}.go")));
        format!("pid {}\nwait-for {}", pid.display(), go.display())
    }

    /// Waits until the agent that was told to hold does so; gives its process id.
    #[track_caller]
    pub fn wait_for_agent(&self, name: &str) -> u32 {
        let path = self.place(&format!("{name}.pid"));
        wait_until(|| path.exists(), LONG);
        fs::read_to_string(path).unwrap().trim().parse().unwrap()
    }

    pub fn let_go(&self, name: &str) {
        fs::write(self.place(&format!("{name}.go")), "").unwrap();
    }

    /// `spinney run` to its end, as a program sees it.
    #[track_caller]
    pub fn run(&self, arguments: &[&str]) -> Value {
        self.cli.run(&[&["run", "--json"], arguments].concat()).ok().json()
    }

    /// `spinney run --detach`: the job's id.
    #[track_caller]
    pub fn detach(&self, arguments: &[&str]) -> String {
        self.cli.run(&[&["run", "--detach"], arguments].concat()).ok().stdout.trim_end().to_owned()
    }

    /// The job as `spinney jobs` tells it.
    #[track_caller]
    pub fn job(&self, id: &str) -> Value {
        let listed = self.cli.run(&["jobs", "--all", "--json"]).ok().json();
        let jobs = listed["jobs"].as_array().unwrap();
        jobs.iter().find(|job| job["id"] == id).unwrap_or_else(|| panic!("no job {id} in {listed}")).clone()
    }

    #[track_caller]
    pub fn wait_for_status(&self, id: &str, status: &str) {
        wait_until(|| self.job(id)["status"] == status, LONG);
    }

    /// Runs the program with something on its standard input.
    #[track_caller]
    pub fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Ran {
        let file = self.place("input");
        fs::write(&file, input).unwrap();
        let shell = self.story.sandbox().cli("/bin/sh").in_directory(self.story.repository.path());
        let line = ["-c", "file=$0; exec \"$@\" < \"$file\"", file.to_str().unwrap(), BINARY];
        shell.run(&[&line, arguments].concat())
    }

    /// Starts the program in a session and process group of its own, as from another terminal.
    #[track_caller]
    pub fn spawn_in_group(&self, arguments: &[&str]) -> Running {
        let setsid = self.story.sandbox().cli("setsid").in_directory(self.story.repository.path());
        setsid.spawn(&[&[BINARY], arguments].concat())
    }

    /// The process of a job, while it lives.
    pub fn process_of(&self, id: &str) -> Option<u32> {
        let ids = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        ids.into_iter().find(|process: &u32| {
            let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).into_owned();
            line.contains("\0job-run\0") && line.contains(id)
        })
    }
}

/// Sends a signal to a process.
#[track_caller]
pub fn signal(process: u32, signal: Signal) {
    kill_process(Pid::from_raw(process.cast_signed()).unwrap(), signal).unwrap();
}

/// Sends a signal to a process group, as a terminal does.
#[track_caller]
pub fn signal_group(group: u32, signal: Signal) {
    kill_process_group(Pid::from_raw(group.cast_signed()).unwrap(), signal).unwrap();
}

/// Whether a process is there, and no zombie.
pub fn is_alive(process: u32) -> bool {
    fs::read_to_string(format!("/proc/{process}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// A process's group and session.
#[track_caller]
pub fn group_and_session(process: u32) -> (u32, u32) {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields: Vec<_> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    (fields[2].parse().unwrap(), fields[3].parse().unwrap())
}

/// The program at a terminal of its own, made by `script`.
pub struct Terminal {
    child: Child,
    /// All that was drawn so far.
    screen: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Terminal {
    #[track_caller]
    pub fn open(jobs: &Jobs, arguments: &[&str]) -> Self {
        let line: Vec<_> = std::iter::once(BINARY).chain(arguments.iter().copied()).map(quoted).collect();
        let line = format!("exec {}", line.join(" "));
        let mut script = jobs.story.sandbox().command("script");
        script.args(["--quiet", "--return", "--flush", "--command", &line, "/dev/null"]);
        script.current_dir(jobs.story.repository.path()).env("TERM", "xterm").env("SHELL", "/bin/sh");
        let mut child = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut out = child.stdout.take().unwrap();
        let screen = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&screen);
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = out.read(&mut bytes) {
                seen.lock().unwrap().extend(&bytes[..count]);
            }
        });
        Self { child, screen, reader }
    }

    fn screen(&self) -> String {
        String::from_utf8_lossy(&self.screen.lock().unwrap()).into_owned()
    }

    /// Waits until something was drawn.
    #[track_caller]
    pub fn shows(&self, text: &str) {
        wait_until(|| self.screen().contains(text), LONG);
    }

    /// Types something.
    #[track_caller]
    pub fn types(&mut self, text: &str) {
        self.child.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
        self.child.stdin.as_mut().unwrap().flush().unwrap();
    }

    /// Waits for the end; gives the exit status and all that was drawn.
    #[track_caller]
    pub fn wait(mut self) -> (i32, String) {
        let stdin = self.child.stdin.take();
        let status = self.child.wait().unwrap();
        drop(stdin);
        self.reader.join().unwrap();
        let screen = self.screen.lock().unwrap();
        (status.code().unwrap(), String::from_utf8_lossy(&screen).into_owned())
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
