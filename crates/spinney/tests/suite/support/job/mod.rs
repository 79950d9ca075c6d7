//! A repository with agents that do what their prompts say.

mod processes;
pub mod terminal;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use spinney_testkit::{Cli, HttpRemote, Ran, Running, TestForge, scripted_agent, wait_until};

use crate::support::common::{BINARY, Story, files_below};

pub use processes::*;

pub const LONG: Duration = Duration::from_secs(60);

/// A story with an agent `coder` that is configured by the person.
pub struct Workshop {
    pub story: Story,
    pub cli: Cli,
}

impl Workshop {
    /// With these keys of the agent's own section, and further sections.
    pub fn new(settings: &str) -> Self {
        Self::of(Story::new(), settings)
    }

    pub fn of(story: Story, settings: &str) -> Self {
        let cli = story.cli.clone();
        let workshop = Self { story, cli };
        workshop.configure(settings);
        workshop
    }

    /// Configures the agent anew.
    pub fn configure(&self, settings: &str) {
        self.story.sandbox().write_config(&format!("{}{settings}\n", agent("coder")));
    }

    /// `spinney run` to the end of the job, which must end so.
    #[track_caller]
    pub fn run(&self, status: i32, work: &[&str], prompt: &str) -> Job {
        let ran = self.cli.run(&[&["run", "--json", "--agent", "coder"], work, &["--", prompt]].concat()).exits(status);
        Job::of(&ran)
    }

    /// A job that must complete.
    #[track_caller]
    pub fn complete(&self, work: &[&str], prompt: &str) -> Job {
        self.run(0, work, prompt)
    }

    /// Starts a job and leaves it to itself.
    #[track_caller]
    pub fn detach(&self, work: &[&str], prompt: &str) -> String {
        detach(&self.cli, work, prompt)
    }

    /// `spinney retry` to the end of the job, which must end so.
    #[track_caller]
    pub fn retry(&self, status: i32, id: &str) -> Job {
        Job::of(&self.cli.run(&["retry", "--json", id]).exits(status))
    }

    /// What the store has of a job.
    #[track_caller]
    pub fn job(&self, id: &str) -> Job {
        let listed = self.jobs();
        listed.into_iter().find(|job| job.text("id") == id).unwrap_or_else(|| panic!("job {id} is not listed"))
    }

    #[track_caller]
    pub fn jobs(&self) -> Vec<Job> {
        let ran = self.cli.run(&["jobs", "--all", "-n", "1000", "--json"]).ok();
        ran.json()["jobs"].as_array().unwrap().iter().cloned().map(Job).collect()
    }

    /// Waits until a job has this status.
    #[track_caller]
    pub fn wait_for(&self, id: &str, status: &str) -> Job {
        wait_until(|| self.job(id).text("status") == status, LONG);
        self.job(id)
    }

    /// Waits until a job is over and its process gone.
    #[track_caller]
    pub fn wait_for_end(&self, id: &str) -> Job {
        wait_until(|| runner_of(id).is_none() && !matches!(self.job(id).text("status"), "pending" | "running"), LONG);
        wait_until(|| runner_of(id).is_none(), LONG);
        self.job(id)
    }

    /// The events of a job's log.
    #[track_caller]
    pub fn log(&self, id: &str) -> Vec<Value> {
        let ran = self.cli.run(&["logs", "--json", id]).ok();
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Asserts what some event of a job's log tells.
    #[track_caller]
    pub fn assert_logged(&self, id: &str, text: &str) {
        let log = self.log(id);
        assert!(log.iter().any(|event| event.to_string().contains(text)), "`{text}` is not in {log:#?}");
    }

    #[track_caller]
    pub fn git(&self, directory: impl AsRef<Path>, arguments: &[&str]) -> String {
        self.story.sandbox().git(directory, arguments)
    }

    /// A path beside the repository.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.story.sandbox().path().join(name)
    }

    /// The same as text.
    pub fn beside_text(&self, name: &str) -> String {
        self.beside(name).to_str().unwrap().to_owned()
    }

    /// An instruction that tells the agent's process id and then waits until [`Workshop::let_go`].
    pub fn hold(&self, name: &str) -> String {
        let (pid, go) = (self.beside(&format!("{name}.pid")), self.beside(&format!("{name}.go")));
        format!("pid {}\nwait-for {}", pid.display(), go.display())
    }

    /// Waits until the agent that was told to hold does so; gives its process id.
    #[track_caller]
    pub fn wait_for_agent(&self, name: &str) -> u32 {
        read_pid(&self.beside(&format!("{name}.pid")))
    }

    pub fn let_go(&self, name: &str) {
        fs::write(self.beside(&format!("{name}.go")), "").unwrap();
    }

    /// Runs the program with something on its standard input.
    #[track_caller]
    pub fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Ran {
        let file = self.beside("input");
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

    /// The branches that the remote has, sorted.
    #[track_caller]
    pub fn pushed(&self) -> Vec<String> {
        let listed = self.story.remote().git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
        listed.lines().map(str::to_owned).collect()
    }

    /// Asserts that no job's lock, prompt or process is left.
    #[track_caller]
    pub fn assert_nothing_runs(&self) {
        let home = self.story.sandbox().path().to_str().unwrap().to_owned();
        // A job's row tells that it is over; its files and its process take a moment more to go.
        let (mut files, mut running) = (Vec::new(), Vec::new());
        for _ in 0..500 {
            files = files_below(&self.story.sandbox().spinney_home().join("jobs"), 0);
            // The files of the queue hold nothing by themselves; whoever holds them is looked for.
            files.retain(|path| path.file_name().unwrap() != "bell" && path.file_stem().unwrap() != "queue");
            running = processes(|process| process.environment.contains(&home) && process.is_of_a_job());
            if files.is_empty() && running.is_empty() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("left of jobs: {files:?}, {running:?}");
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return self.assert_nothing_runs();
        }
        // A test that failed must not leave a flood behind.
        let home = self.story.sandbox().path().to_str().unwrap().to_owned();
        let is_left = |process: &Process| process.is_of_a_job() && format!("{process:?}").contains(&home);
        processes(is_left).iter().for_each(|process| kill_if_alive(process.id));
    }
}

/// A workshop whose remote is on a forge.
pub struct Offered {
    pub workshop: Workshop,
    pub forge: TestForge,
    /// Serves the remote.
    pub http: HttpRemote,
}

impl Offered {
    /// With an agent that opens pull requests, and further keys of its `workspace` section.
    pub fn new(settings: &str) -> Self {
        let mut workshop = Workshop::new("");
        let http = HttpRemote::open(workshop.story.sandbox());
        let forge = TestForge::github("acme/app");
        workshop.story.remote().git(&["config", "http.receivepack", "true"]);
        workshop.story.change(|repository| repository.git(&["remote", "set-url", "origin", &http.url("acme/app.git")]));
        let api_url = forge.api_url();
        workshop.configure(&format!(
            "[agents.coder.workspace]\ncreate_pr = true\n{settings}\n[forge.github]\napi_url = \"{api_url}\"\n"
        ));
        workshop.cli = workshop.cli.with_variable("GITHUB_TOKEN", forge.token());
        Self { workshop, forge, http }
    }

    /// The branches of the pull requests that were opened.
    pub fn heads(&self) -> Vec<String> {
        self.forge.pull_requests().into_iter().map(|pull| pull.head).collect()
    }
}

/// The section of a scripted agent, without an end: what follows it belongs to it.
pub fn agent(name: &str) -> String {
    let program = serde_json::to_string(scripted_agent().to_str().unwrap()).unwrap();
    format!("[agents.{name}]\nruntime = \"command\"\ncommand = [{program}]\n")
}

#[track_caller]
pub fn detach(cli: &Cli, work: &[&str], prompt: &str) -> String {
    let arguments = [&["run", "--json", "--detach", "--agent", "coder"], work, &["--", prompt]].concat();
    Job::of(&cli.run(&arguments).ok()).text("id").to_owned()
}

/// A job as `--json` tells it.
#[derive(Debug, Clone)]
pub struct Job(pub Value);

impl Job {
    #[track_caller]
    pub fn of(ran: &Ran) -> Self {
        Self(ran.json())
    }

    #[track_caller]
    pub fn text(&self, key: &str) -> &str {
        self.0[key].as_str().unwrap_or_else(|| panic!("no text `{key}` in {:#}", self.0))
    }

    #[track_caller]
    pub fn path(&self) -> PathBuf {
        PathBuf::from(self.text("path"))
    }

    #[track_caller]
    pub fn id(&self) -> &str {
        self.text("id")
    }

    /// Asserts what the job's error tells.
    #[track_caller]
    pub fn says(&self, texts: &[&str]) -> &Self {
        for text in texts {
            assert!(self.text("error").contains(text), "`{text}` is not in: {}", self.text("error"));
        }
        self
    }
}
