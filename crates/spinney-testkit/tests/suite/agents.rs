//! The real agent programs work with the stub model: they edit, commit, and remember.
//!
//! What each prints is written down where it is read, in the runtimes of the product.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::Value;
use spinney_testkit::{AgentCli, Sandbox, StubModel, TestRepository};

const CLAUDE: &[&str] = &["-p", "--output-format", "stream-json", "--verbose", "--permission-mode", "acceptEdits"];

/// One program in a repository of its own.
struct Stage {
    agent: AgentCli,
    model: StubModel,
    repository: TestRepository,
    options: Vec<&'static str>,
}

/// How a run went.
#[derive(Debug)]
struct Ran {
    is_ok: bool,
    /// The events on standard output.
    events: Vec<Value>,
    stderr: String,
}

impl Ran {
    /// The first value of this name, at the top of any event.
    fn value(&self, name: &str) -> String {
        let values = self.events.iter().filter_map(|event| event[name].as_str());
        values.into_iter().next().unwrap_or_else(|| panic!("no `{name}` in {self:?}")).to_owned()
    }

    fn mentions(&self, text: &str) -> bool {
        self.events.iter().any(|event| event.to_string().contains(text))
    }
}

impl Stage {
    fn new(agent: AgentCli, options: &[&'static str]) -> Self {
        let repository = Sandbox::new().repository("app");
        Self { agent, model: StubModel::start(), repository, options: options.to_vec() }
    }

    /// Runs the program with more options and this prompt on standard input.
    fn run(&self, more: &[&str], prompt: &str) -> Ran {
        let sandbox = self.repository.sandbox();
        let mut command: Command = sandbox.command(self.agent.program());
        command.args(&self.options).args(more).current_dir(self.repository.path());
        command.envs(self.agent.environment(&self.model, &sandbox.home()));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(prompt.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let lines = String::from_utf8(output.stdout).unwrap();
        let ran = Ran {
            is_ok: output.status.success(),
            events: lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        };
        println!("{lines}{}", ran.stderr);
        ran
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.repository.path().join(name)).unwrap_or_default()
    }

    /// Edits, commits, resumes and fails with a program that may do anything.
    fn plays_all(&self, session: &str, resume: impl Fn(&str) -> Vec<&str>) {
        // Gemini CLI hides the person's configuration from git.
        let commit = "git add a.txt && git -c user.name=A -c user.email=a@b.c commit --quiet --message told";
        let first = self.run(&[], &format!("STUB:SAY hello there\nSTUB:WRITE a.txt it's one\nSTUB:BASH {commit}"));
        assert!(first.is_ok && first.mentions("hello there"), "{first:?}");
        assert_eq!(self.read("a.txt"), "it's one\n");
        assert_eq!(self.repository.git(&["log", "-1", "--format=%s"]), "told");
        let before = seen(&first);
        let id = first.value(session);
        let resume = resume(&id);
        let second = self.run(&resume, "STUB:USAGE 150000\nSTUB:WRITE b.txt two");
        assert!(second.is_ok && seen(&second) > before, "the history came along: {second:?}");
        assert_eq!((self.read("b.txt").as_str(), second.value(session)), ("two\n", id.clone()));
        assert!(self.model.requests().iter().any(|request| request.mentions("hello there")));
        let note = self.run(&resume, "Write a hand-off note.");
        assert!(note.is_ok && note.mentions("STUB-NOTE: go on with"), "{note:?}");
        let recovered = self.run(&[], "STUB:FAILONCE 503\nSTUB:WRITE c.txt three");
        assert!(recovered.is_ok && self.read("c.txt") == "three\n", "{recovered:?}");
        let failed = self.run(&[], "STUB:FAIL 400");
        assert!(!failed.is_ok && failed.mentions("the stub fails as told"), "{failed:?}");
    }
}

/// How many messages the model said it had seen.
fn seen(ran: &Ran) -> usize {
    let text = ran.events.iter().map(Value::to_string).collect::<String>();
    let (before, _) = text.rsplit_once(" messages seen)").unwrap_or_else(|| panic!("the model did not end: {ran:?}"));
    before.rsplit('(').next().unwrap().parse().unwrap()
}

#[test]
fn claude_code_edits_commits_resumes_and_fails() {
    let Some(agent) = AgentCli::claude() else { return };
    let stage = Stage::new(agent, &[CLAUDE, &["--allowedTools", "Bash(git:*)"]].concat());
    stage.plays_all("session_id", |id| vec!["--resume", id]);
}

#[test]
fn claude_code_is_denied_what_nobody_allowed_and_shows_the_model_what_it_was_told() {
    let Some(agent) = AgentCli::claude() else { return };
    let stage = Stage::new(agent, CLAUDE);
    let more =
        ["--append-system-prompt", "You live in a wood.", "--model", "claude-sonnet-4-5", "--tools", "Write,Bash"];
    let ran = stage.run(&more, "STUB:DENIED\nSTUB:WRITE a.txt x");
    assert!(ran.is_ok, "{ran:?}");
    let result = ran.events.last().unwrap();
    assert_eq!((&result["subtype"], &result["is_error"]), (&"success".into(), &false.into()), "{result}");
    assert_eq!(result["permission_denials"][0]["tool_name"], "Bash", "{result}");
    assert_eq!(stage.read("a.txt"), "x\n");
    assert_eq!(stage.repository.git(&["rev-list", "--count", "HEAD"]), "1");
    let request = stage.model.requests().into_iter().next().unwrap();
    assert_eq!((request.path.as_str(), request.header("x-api-key")), ("/v1/messages", Some("none")));
    assert!(request.mentions("You live in a wood.") && request.body["model"] == "claude-sonnet-4-5");
    let tools = request.tools();
    assert!(tools.contains(&"Write".to_owned()) && !tools.contains(&"Edit".to_owned()), "{tools:?}");
}

#[test]
fn codex_edits_commits_resumes_and_fails() {
    let Some(agent) = AgentCli::codex() else { return };
    let stage = Stage::new(agent, &["exec", "--json", "--sandbox", "danger-full-access"]);
    stage.plays_all("thread_id", |id| vec!["resume", id]);
}

#[test]
fn codex_keeps_out_of_what_its_sandbox_forbids() {
    let Some(agent) = AgentCli::codex() else { return };
    let stage = Stage::new(agent, &["exec", "--json", "--sandbox", "workspace-write"]);
    let ran = stage.run(&[], "STUB:WRITE a.txt x\nSTUB:DENIED");
    assert!(ran.is_ok && stage.read("a.txt") == "x\n", "{ran:?}");
    assert_eq!(stage.repository.git(&["rev-list", "--count", "HEAD"]), "1", "git's own files are not in its reach");
}

#[test]
fn gemini_edits_commits_resumes_and_fails() {
    let Some(agent) = AgentCli::gemini() else { return };
    let stage = Stage::new(agent, &["--yolo", "--output-format", "stream-json"]);
    stage.plays_all("session_id", |id| vec!["--resume", id]);
}

#[test]
fn opencode_edits_commits_resumes_and_fails() {
    let Some(agent) = AgentCli::opencode() else { return };
    let stage = Stage::new(agent, &["run", "--format", "json"]);
    stage.plays_all("sessionID", |id| vec!["--session", id]);
}
