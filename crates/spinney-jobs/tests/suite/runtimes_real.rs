//! The real agent programs, started as the runtimes say and understood as they do, with a model on loopback.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use spinney_core::{JobEvent, Usage};
use spinney_jobs::runtime::{Conversation, Exit, GitDirectories, Protocol, Reader, Settings, Turn, TurnEnd};
use spinney_jobs::runtimes;
use spinney_jobs::told::TurnFailure;
use spinney_testkit::{AgentCli, Sandbox, StubModel, TestRepository};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};

/// No program takes nearly as long; a minute's retries are in it.
const PATIENCE: Duration = Duration::from_secs(240);

/// How long a program may take to end that nobody talks to any more.
const GRACE: Duration = Duration::from_secs(10);

/// One program in a linked worktree of a repository of its own.
struct Stage {
    runtime: &'static str,
    settings: Settings,
    environment: Vec<(OsString, OsString)>,
    model: StubModel,
    repository: TestRepository,
    workspace: PathBuf,
}

impl Stage {
    fn new(agent: &AgentCli, runtime: &'static str, settings: Settings) -> Self {
        // Not in the directory for temporary files, which Codex's sandbox leaves open.
        let sandbox = Sandbox::inside(Path::new(env!("CARGO_TARGET_TMPDIR")));
        let repository = sandbox.repository("app");
        let workspace = sandbox.path().join("workspace");
        repository.git(&["worktree", "add", "-b", "work", workspace.to_str().unwrap()]);
        let model = StubModel::start();
        let mut environment: Vec<(OsString, OsString)> =
            agent.environment(&model, &sandbox.home()).into_iter().map(|(k, v)| (k.into(), v.into())).collect();
        environment.push(("HOME".into(), sandbox.home().into()));
        environment.push(("PATH".into(), path()));
        let command = if settings.command.is_empty() {
            vec![agent.program().to_str().unwrap().to_owned()]
        } else {
            settings.command.clone()
        };
        let settings = Settings { command, ..settings };
        assert_eq!(runtimes::find(runtime).unwrap().check(&settings), Ok(()));
        Self { runtime, settings, environment, model, repository, workspace }
    }

    /// One turn of the program.
    async fn turn(&self, prompt: &str, conversation: Conversation<'_>, spent: Usage) -> (Vec<JobEvent>, TurnEnd) {
        let common = self.repository.path().join(".git");
        let own = common.join("worktrees/workspace");
        let runtime = runtimes::find(self.runtime).unwrap();
        let turn = Turn {
            git: Some(GitDirectories { own: &own, common: &common }),
            prompt,
            system_prompt: "-- You live in a \"wood\".\n",
            spent,
            environment: &self.environment,
            ..Turn::new(&self.settings, &self.workspace, conversation)
        };
        let program = runtime.program(&turn);
        let mut command = command(&program.file);
        command.args(&program.arguments).current_dir(&self.workspace).kill_on_drop(true);
        command.env_clear().envs(self.environment.iter().cloned()).envs(program.variables);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut events = Vec::new();
        let ended = async {
            match runtime.protocol(&turn) {
                Protocol::Lines(reader) => read(&mut child, reader, &program.stdin, &mut events).await,
                Protocol::Dialogue(dialogue) => {
                    let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
                    let end = dialogue.hold(Box::new(stdin), Box::new(stdout), &mut events).await;
                    // Its standard input is closed; it may have something to write down yet.
                    let _ = tokio::time::timeout(GRACE, child.wait()).await;
                    end
                }
            }
        };
        let end = tokio::time::timeout(PATIENCE, ended).await.expect("the program ends");
        println!("{events:#?}\n{end:#?}");
        (events, end)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.workspace.join(name)).unwrap_or_default()
    }

    /// Edits and commits, goes on with it, tells how full it is, and fails.
    async fn plays_all(&self, unknown: &str) {
        // Gemini CLI hides the person's configuration from git.
        let commit = "git -c user.name=A -c user.email=a@b.c commit --quiet --all --message told";
        let prompt =
            format!("STUB:SAY hello there\nSTUB:WRITE a.txt it's one\nSTUB:BASH git add a.txt\nSTUB:BASH {commit}");
        let (events, first) = self.turn(&prompt, Conversation::New(None), Usage::default()).await;
        assert_eq!(first.error, None);
        assert!(events.iter().any(|event| matches!(event, JobEvent::Text { text } if text.contains("hello there"))));
        assert!(
            events.iter().any(|event| matches!(event, JobEvent::ToolUse { detail, .. } if detail.contains("a.txt")))
        );
        assert!(first.usage.input_tokens > 0 && first.usage.output_tokens > 0);
        assert_eq!(self.read("a.txt"), "it's one\n");
        assert_eq!(self.repository.git(&["log", "-1", "--format=%s", "work"]), "told");
        assert!(self.model.requests().iter().any(|request| request.mentions("You live in a ")));

        let name = conversation(&events);
        let prompt = "STUB:USAGE 150000\nSTUB:WRITE b.txt two";
        let (events, second) = self.turn(prompt, Conversation::Resumed(&name), first.usage).await;
        assert_eq!((second.error, conversation(&events)), (None, name));
        assert_eq!(self.read("b.txt"), "two\n");
        assert!(seen(&second.summary) > seen(&first.summary), "the history came along");
        assert!((150_000..200_000).contains(&(second.usage.tokens())), "{:?}", second.usage);
        let (context, window) = fullest(&events);
        assert!((150_000..160_000).contains(&context) && window >= 128_000, "{context} of {window}");

        self.fails(unknown).await;
    }

    async fn fails(&self, unknown: &str) {
        let (_, gone) = self.turn("hello", Conversation::Resumed(unknown), Usage::default()).await;
        assert_eq!(gone.error, Some(TurnFailure::ConversationGone));
        let (_, failed) = self.turn("STUB:FAIL 400", Conversation::New(None), Usage::default()).await;
        let Some(TurnFailure::Other(error)) = failed.error else { panic!("{failed:?}") };
        assert!(error.contains("the stub fails as told"), "{error}");
    }
}

/// Feeds a program's output to a reader.
async fn read(child: &mut Child, mut reader: Box<dyn Reader>, stdin: &[u8], events: &mut Vec<JobEvent>) -> TurnEnd {
    let mut pipe = child.stdin.take().unwrap();
    let mut stderr = child.stderr.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).split(b'\n');
    let mut exit = Exit::default();
    let write = async {
        // A program that ends at once does not read it.
        let _ = pipe.write_all(stdin).await;
        drop(pipe);
    };
    let listen = async {
        while let Some(line) = lines.next_segment().await.unwrap() {
            reader.line(&line, events);
        }
    };
    let mut told = Vec::new();
    let ((), (), _) = tokio::join!(write, listen, stderr.read_to_end(&mut told));
    exit.stderr = String::from_utf8_lossy(&told).into_owned();
    println!("{}", exit.stderr);
    let status: ExitStatus = child.wait().await.unwrap();
    exit.status = status.code();
    reader.end(&exit)
}

#[expect(clippy::disallowed_methods, reason = "the agents are started as they are")]
fn command(program: &OsString) -> Command {
    Command::new(program)
}

#[expect(clippy::disallowed_methods, reason = "programs are found where the person finds them")]
fn path() -> OsString {
    std::env::var_os("PATH").unwrap_or_default()
}

/// The conversation's name, as the program told it.
fn conversation(events: &[JobEvent]) -> String {
    let name = |event: &JobEvent| match event {
        JobEvent::SessionStarted { conversation, .. } => conversation.clone(),
        _ => None,
    };
    events.iter().find_map(name).expect("a conversation")
}

/// How full the context was at most.
fn fullest(events: &[JobEvent]) -> (u64, u64) {
    let context = |event: &JobEvent| match event {
        JobEvent::Usage { context_tokens: Some(tokens), context_window: Some(window), .. } => Some((*tokens, *window)),
        _ => None,
    };
    events.iter().filter_map(context).max().expect("a context")
}

/// How many messages the model said it had seen.
fn seen(summary: &Option<String>) -> usize {
    let summary = summary.as_deref().unwrap_or_default();
    let (before, _) =
        summary.rsplit_once(" messages seen)").unwrap_or_else(|| panic!("the model did not end: {summary}"));
    before.rsplit('(').next().unwrap().parse().unwrap()
}

const UNKNOWN: &str = "019a0000-0000-4000-8000-000000000000";

#[tokio::test]
async fn claude_code_edits_commits_goes_on_and_fails() {
    let Some(agent) = AgentCli::claude() else { return };
    let settings = Settings { allowed_tools: vec!["Bash(git:*)".into()], ..Settings::default() };
    Stage::new(&agent, "claude", settings).plays_all(UNKNOWN).await;
}

#[tokio::test]
async fn claude_code_takes_our_name_and_tells_what_it_was_denied() {
    let Some(agent) = AgentCli::claude() else { return };
    let stage = Stage::new(&agent, "claude", Settings::default());
    let ours = Conversation::New(Some("019a0000-0000-4000-8000-00000000abcd"));
    let (events, end) = stage.turn("STUB:DENIED\nSTUB:WRITE a.txt x", ours, Usage::default()).await;
    assert_eq!((end.error, conversation(&events).as_str()), (None, "019a0000-0000-4000-8000-00000000abcd"));
    let denials: Vec<_> = events.iter().filter(|event| matches!(event, JobEvent::PermissionDenied { .. })).collect();
    let [JobEvent::PermissionDenied { tool, detail }] = denials[..] else { panic!("{denials:?}") };
    assert_eq!((tool.as_str(), detail.starts_with("git commit")), ("Bash", true));
    assert_eq!(stage.read("a.txt"), "x\n");
}

#[tokio::test]
async fn codex_edits_commits_goes_on_and_fails() {
    let Some(agent) = AgentCli::codex() else { return };
    Stage::new(&agent, "codex", Settings::default()).plays_all(UNKNOWN).await;
}

#[tokio::test]
async fn codex_can_commit_but_not_change_hooks() {
    let Some(agent) = AgentCli::codex() else { return };
    let stage = Stage::new(&agent, "codex", Settings::default());
    let hook = stage.repository.path().join(".git/hooks/post-checkout");
    let prompt = format!("STUB:BASH echo x > {}", hook.display());
    stage.turn(&prompt, Conversation::New(None), Usage::default()).await;
    assert!(!hook.exists());
}

#[tokio::test]
async fn gemini_edits_commits_goes_on_and_fails() {
    let Some(agent) = AgentCli::gemini() else { return };
    let settings = Settings { allowed_tools: vec!["run_shell_command(git)".into()], ..Settings::default() };
    Stage::new(&agent, "gemini", settings).plays_all(UNKNOWN).await;
}

#[tokio::test]
async fn opencode_edits_commits_goes_on_and_fails() {
    let Some(agent) = AgentCli::opencode() else { return };
    let permission_mode = Some("bypassPermissions".into());
    let settings = Settings { model: Some("stub/stub-model".into()), permission_mode, ..Settings::default() };
    Stage::new(&agent, "opencode", settings).plays_all("ses_none").await;
}

/// An agent that speaks the protocol, told to with this option.
fn speaker(agent: &AgentCli, option: &str) -> Stage {
    let command = vec![agent.program().to_str().unwrap().to_owned(), option.to_owned()];
    Stage::new(agent, "acp", Settings { command, ..Settings::default() })
}

/// Edits, and does not know what it never heard of.
async fn speaks_the_protocol(stage: &Stage) -> (String, TurnEnd) {
    let (events, end) = stage.turn("STUB:WRITE a.txt one", Conversation::New(None), Usage::default()).await;
    assert_eq!(end.error, None);
    assert_eq!(stage.read("a.txt"), "one\n");
    assert!(events.iter().any(|event| matches!(event, JobEvent::ToolUse { tool, .. } if tool == "edit")), "{events:?}");
    assert!(stage.model.requests().iter().any(|request| request.mentions("You live in a ")));
    let (_, gone) = stage.turn("hello", Conversation::Resumed("ses_none"), Usage::default()).await;
    assert_eq!(gone.error, Some(TurnFailure::ConversationGone));
    (conversation(&events), end)
}

/// It says that it can load conversations, but does not find those that it began in this way.
#[tokio::test]
async fn gemini_speaks_the_agent_client_protocol() {
    let Some(agent) = AgentCli::gemini() else { return };
    speaks_the_protocol(&speaker(&agent, "--acp")).await;
}

#[tokio::test]
async fn opencode_speaks_the_agent_client_protocol_and_goes_on() {
    let Some(agent) = AgentCli::opencode() else { return };
    let stage = speaker(&agent, "acp");
    let (name, first) = speaks_the_protocol(&stage).await;
    let (events, second) = stage.turn("STUB:WRITE b.txt two", Conversation::Resumed(&name), first.usage).await;
    assert_eq!((second.error, conversation(&events)), (None, name));
    assert_eq!(stage.read("b.txt"), "two\n");
    assert!(seen(&second.summary) > seen(&first.summary), "the history came along");
    assert!(fullest(&events).0 > 0);
}
