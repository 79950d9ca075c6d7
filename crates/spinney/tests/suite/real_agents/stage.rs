//! A repository, an agent in the person's configuration, and a model that does what the prompt says.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use spinney_testkit::{AgentCli, Cli, Running, Sandbox, StubModel};

use crate::support::common::Story;

/// An agent `coder` that has one of the programs.
pub struct Stage {
    pub story: Story,
    pub model: StubModel,
    pub cli: Cli,
}

impl Stage {
    /// A real program, with first arguments of its own and more lines for the agent's table.
    pub fn new(agent: &AgentCli, runtime: &str, arguments: &[&str], settings: &str) -> Self {
        let mut stage = Self::empty();
        for (name, value) in agent.environment(&stage.model, &stage.home("")) {
            stage.cli = stage.cli.with_variable(name, value);
        }
        let program = agent.program().to_str().unwrap();
        let command = [&[program], arguments].concat();
        // They leave much behind in it.
        let settings = format!("env.TMPDIR = {}\n{settings}", json!(stage.home(".tmp")));
        stage.configure(runtime, &command, &settings);
        stage
    }

    /// Claude Code with these settings; none where it is not installed.
    pub fn claude(settings: &str) -> Option<Self> {
        Some(Self::new(&AgentCli::claude()?, "claude", &[], settings))
    }

    /// The program is a shell script, which is given the prompt on its standard input.
    pub fn scripted(runtime: &str, script: &str) -> Self {
        let stage = Self::empty();
        stage.configure(runtime, &["/bin/sh", "-c", script, "agent"], "");
        stage
    }

    fn empty() -> Self {
        // Not in the directory for temporary files, which Codex's sandbox leaves open.
        let sandbox = Sandbox::inside(Path::new(env!("CARGO_TARGET_TMPDIR")));
        let story = Story::of(sandbox.repository("app").with_remote());
        let cli = story.cli.clone();
        Self { story, model: StubModel::start(), cli }
    }

    fn configure(&self, runtime: &str, command: &[&str], settings: &str) {
        let config = format!("[agents.coder]\nruntime = \"{runtime}\"\ncommand = {}\n{settings}\n", json!(command));
        self.story.sandbox().write_config(&config);
    }

    /// `spinney run` with these arguments, to its end with this exit status.
    #[track_caller]
    pub fn run(&self, status: i32, arguments: &[&str]) -> Job {
        Job(self.cli.run(&[&["--json", "run"], arguments].concat()).exits(status).json())
    }

    /// The same, left to itself.
    pub fn spawn(&self, arguments: &[&str]) -> Running {
        self.cli.spawn(&[&["--json", "run"], arguments].concat())
    }

    /// The newest job, as it is now.
    #[track_caller]
    pub fn newest(&self) -> Job {
        Job(self.cli.run(&["jobs", "--json", "-n", "1"]).ok().json()["jobs"][0].clone())
    }

    /// A file of the person's home.
    pub fn home(&self, path: &str) -> PathBuf {
        self.story.sandbox().home().join(path)
    }

    /// Whether any request that the model got mentions all of these texts.
    pub fn was_told(&self, texts: &[&str]) -> bool {
        self.model.requests().iter().any(|request| texts.iter().all(|text| request.mentions(text)))
    }

    /// The subjects of a branch's own commits on the remote, newest first.
    #[track_caller]
    pub fn pushed(&self, branch: &str) -> Vec<String> {
        let log = self.story.remote().git(&["log", "--format=%s", &format!("main..{branch}")]);
        log.lines().map(str::to_owned).collect()
    }

    /// A file of a branch on the remote.
    #[track_caller]
    pub fn pushed_file(&self, branch: &str, path: &str) -> String {
        self.story.remote().git(&["show", &format!("{branch}:{path}")])
    }
}

/// A job as `--json` tells it.
#[derive(Debug)]
pub struct Job(pub Value);

impl Job {
    #[track_caller]
    pub fn text(&self, key: &str) -> &str {
        self.0[key].as_str().unwrap_or_else(|| panic!("no text `{key}` in {:#}", self.0))
    }

    pub fn status(&self) -> &str {
        self.text("status")
    }

    pub fn summary(&self) -> &str {
        self.text("summary")
    }

    #[track_caller]
    pub fn path(&self) -> PathBuf {
        PathBuf::from(self.text("path"))
    }

    /// A file of its workspace.
    #[track_caller]
    pub fn file(&self, path: &str) -> String {
        let path = self.path().join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("`{}`: {error}", path.display()))
    }

    pub fn sessions(&self) -> &[Value] {
        self.0["sessions"].as_array().unwrap()
    }

    /// Each session's status, and whether it went on with an earlier one's conversation.
    pub fn session_states(&self) -> Vec<(&str, bool)> {
        let states = self.sessions().iter();
        states.map(|session| (session["status"].as_str().unwrap(), session["resumed"] == true)).collect()
    }

    /// The name of its last session's conversation.
    #[track_caller]
    pub fn conversation(&self) -> &str {
        self.sessions().last().unwrap()["conversation"].as_str().unwrap()
    }

    /// The events of its log of one kind.
    #[track_caller]
    pub fn events(&self, kind: &str) -> Vec<Value> {
        let log = fs::read_to_string(self.text("log")).unwrap();
        let events = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        events.filter(|event| event["type"] == kind).collect()
    }

    /// How many messages the model said that it had seen.
    #[track_caller]
    pub fn seen(&self) -> usize {
        let (before, _) = self.summary().rsplit_once(" messages seen)").expect("the model came to its end");
        before.rsplit('(').next().unwrap().parse().unwrap()
    }
}

/// The processes that run for a job, with their command lines.
pub fn processes(job: &str) -> Vec<(i32, String)> {
    let wanted = format!("SPINNEY_JOB_ID={job}");
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let read = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
        let line = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
        let is_of_job = read("environ").split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes());
        if (is_of_job || line.contains(&format!("job-run {job}"))) && !line.is_empty() {
            found.push((pid, line));
        }
    }
    found
}
