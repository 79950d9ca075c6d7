//! `spinney demo`: the main job, in a repository of its own, in a few seconds.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use serde_json::json;
use spinney_core::config::Layers;
use spinney_core::{Consent, Remover, Work, Workspace};
use spinney_engine::{Among, Context, Engine, EngineOptions, Request};
use spinney_git::{Git, GitOptions};

use crate::app::App;
use crate::commands::new::sentence;
use crate::commands::why::reasons_table;
use crate::error::{CliError, Result};
use crate::ui::{style, words};

/// Show the main job in a few seconds, in a repository that it makes itself
///
/// Everything happens in a temporary directory, with a home and a store of its own, and is gone afterwards.
#[derive(Debug, Args)]
#[command(after_help = "Example: spinney demo")]
pub struct DemoArgs {
    /// Leave the directory there, to look at
    #[arg(long)]
    keep: bool,
}

pub async fn run(app: &App, args: DemoArgs) -> Result<u8> {
    let directory = tempfile::Builder::new().prefix("spinney-demo-").tempdir().map_err(failed)?;
    let started = Instant::now();
    let story = Story::begin(app, directory.path()).await?;
    story.many_at_once().await?;
    story.asked_again().await?;
    story.no_work_is_lost().await?;
    story.merged_work_makes_room().await?;
    story.main_checkout_is_untouched().await?;
    story.say(format!("\nAll of it took {}.", words::took(started.elapsed())));
    let place = directory.path().display().to_string();
    if args.keep {
        let kept = directory.keep();
        story.say(format!("It is all in {}; look around with SPINNEY_HOME={}/home", kept.display(), kept.display()));
    }
    if app.ui.json {
        app.ui.print_json(&json!({ "ok": true, "directory": place, "kept": args.keep }));
    }
    Ok(0)
}

fn failed(error: impl std::fmt::Display) -> CliError {
    CliError::failed(format!("the demo can't go on: {error}"))
}

struct Story<'a> {
    app: &'a App,
    git: Git,
    engine: Engine,
    checkout: PathBuf,
    remote: PathBuf,
    /// What the main checkout looked like before: HEAD, status and configuration.
    before: String,
}

impl<'a> Story<'a> {
    /// Makes a repository with a remote, and opens an engine on a home of its own.
    async fn begin(app: &'a App, directory: &Path) -> Result<Self> {
        let (checkout, remote, home) = (directory.join("app"), directory.join("acme/app.git"), directory.join("home"));
        std::fs::create_dir_all(&checkout).map_err(failed)?;
        std::fs::create_dir_all(&remote).map_err(failed)?;
        std::fs::create_dir_all(&home).map_err(failed)?;
        let config = "[user]\n\tname = Demo\n\temail = demo@localhost\n[init]\n\tdefaultBranch = main\n";
        std::fs::write(home.join(".gitconfig"), config).map_err(failed)?;
        let mut environment: Vec<(OsString, OsString)> = vec![("HOME".into(), home.clone().into())];
        environment.extend(app.environment.value("PATH").map(|path| ("PATH".into(), path.clone())));

        let git = Git::open(GitOptions::new(environment.clone())).await?;
        git.command(&remote).args(["init", "--quiet", "--bare"]).run().await?;
        git.command(&checkout).args(["init", "--quiet"]).run().await?;
        std::fs::create_dir(checkout.join("src")).map_err(failed)?;
        std::fs::write(checkout.join("src/lib.rs"), "pub fn answer() -> u32 {\n    41\n}\n").map_err(failed)?;
        std::fs::write(checkout.join(".gitignore"), ".env\ntarget\n").map_err(failed)?;
        std::fs::write(checkout.join(".env"), "API_KEY=local\n").map_err(failed)?;
        std::fs::write(checkout.join(".worktreeinclude"), ".env\n").map_err(failed)?;
        git.command(&checkout).args(["add", "--all"]).run().await?;
        git.command(&checkout).args(["commit", "--quiet", "-m", "start"]).run().await?;
        git.command(&checkout).args(["remote", "add", "origin"]).arg(&remote).run().await?;
        git.command(&checkout).args(["push", "--quiet", "origin", "main"]).run().await?;

        let mut layers = Layers::new();
        let limit = toml::Value::Integer(5);
        layers.flag("demo", "limits.max_workspaces", limit)?;
        layers.flag("demo", "limits.min_free_disk", toml::Value::String("0".to_owned()))?;
        layers.flag("demo", "workspace.fetch_max_age", toml::Value::String("0".to_owned()))?;
        let options = EngineOptions { home: home.clone(), account: "local".to_owned(), layers, environment };
        let engine = Engine::open(options).await?;
        let mut story = Self { app, git, engine, checkout, remote, before: String::new() };
        story.before = story.fingerprint().await?;
        Ok(story)
    }

    fn say(&self, text: impl std::fmt::Display) {
        if !self.app.ui.json {
            self.app.ui.print(text);
        }
    }

    fn chapter(&self, text: &str) {
        self.say(format!("\n{}", style::paint(style::HINT, text)));
    }

    fn typed(&self, command: &str) {
        self.say(style::paint(style::QUIET, format!("$ {command}")));
    }

    async fn context(&self) -> Result<Context> {
        Ok(self.engine.repository(None, &self.checkout).await?)
    }

    async fn ask(&self, work: Work) -> Result<Workspace> {
        let started = Instant::now();
        let context = self.context().await?;
        let (_, resolution) = self.engine.resolve(context, &Request::new(work), &self.app.observer()).await?;
        self.say(format!("{}, {}", sentence(&resolution), words::took(started.elapsed())));
        Ok(resolution.workspace)
    }

    async fn find(&self, name: &str, among: Among) -> Result<Workspace> {
        Ok(self.engine.find_workspace(None, name, among).await?)
    }

    async fn many_at_once(&self) -> Result<()> {
        self.chapter("Five agents, five pieces of work, one repository: each gets a place of its own, at once.");
        let dark_mode = Work::task("Add dark mode").map_err(failed)?;
        let thread = Work::thread("C123:17.5").map_err(failed)?;
        self.typed("spinney new --issue 42 & spinney new --issue 43 & spinney new --task \"Add dark mode\" & …");
        let (a, b, c, d, e) = tokio::join!(
            self.ask(Work::issue(42)),
            self.ask(Work::issue(43)),
            self.ask(dark_mode),
            self.ask(thread),
            self.ask(Work::issue(7)),
        );
        for workspace in [a?, b?, c?, d?, e?] {
            if !workspace.path.join(".env").is_file() {
                return Err(failed("`.env` was not carried over"));
            }
        }
        self.say("Each is a checkout on its own branch, with the ignored `.env` carried over.");
        Ok(())
    }

    async fn asked_again(&self) -> Result<()> {
        self.chapter("The same work gets the same workspace, whoever asks, however often.");
        self.typed("spinney new --issue 42");
        self.ask(Work::issue(42)).await?;
        Ok(())
    }

    async fn no_work_is_lost(&self) -> Result<()> {
        self.chapter("An agent leaves a commit, an edit and a note behind. Nothing of that goes by accident.");
        let workspace = self.find("issue-42", Among::Live).await?;
        let write = |file: &str, text: &str| std::fs::write(workspace.path.join(file), text).map_err(failed);
        write("src/lib.rs", "pub fn answer() -> u32 {\n    42\n}\n")?;
        self.git.command(&workspace.path).args(["commit", "--quiet", "-am", "fix the answer"]).run().await?;
        write("src/lib.rs", "pub fn answer() -> u32 {\n    // why?\n    42\n}\n")?;
        write("notes.md", "ask about the question\n")?;
        let context = self.context().await?;
        self.typed("spinney rm issue-42");
        let verdict = self.engine.judge(&context, &workspace, Remover::Person).await?;
        if verdict.removable(&Consent::None) {
            return Err(failed("unsaved work was not seen"));
        }
        self.say(format!("error: issue-42 would not be removed:\n{}", reasons_table(&verdict)));

        self.typed("spinney rm issue-42 --force");
        let started = Instant::now();
        self.engine.remove(&context, &workspace, &Consent::Force, &self.app.observer()).await?;
        self.say(format!("issue-42 is in the trash, whole, {}", words::took(started.elapsed())));
        self.typed("git gc --prune=now && git worktree prune      # a tidy person, in between");
        self.git.command(&self.checkout).args(["gc", "--quiet", "--prune=now"]).run().await?;
        self.git.command(&self.checkout).args(["worktree", "prune"]).run().await?;
        self.typed("spinney restore issue-42");
        let trashed = self.find("issue-42", Among::Trashed).await?;
        let started = Instant::now();
        let back = self.engine.restore(&context, &trashed, None, &self.app.observer()).await?;
        let status = self.git.command(&back.path).args(["status", "--short"]).text().await?;
        if !status.contains("src/lib.rs") || !status.contains("notes.md") {
            return Err(failed(format!("the work did not come back: {status}")));
        }
        self.say(format!("issue-42 is back: the commit, the edit and the note, {}", words::took(started.elapsed())));
        Ok(())
    }

    async fn merged_work_makes_room(&self) -> Result<()> {
        self.chapter(
            "At the limit, what is provably merged makes room; here a squash merge that git itself calls unmerged.",
        );
        let workspace = self.find("task-add-dark-mode", Among::Live).await?;
        for step in ["one", "two"] {
            std::fs::write(workspace.path.join(format!("{step}.css")), "body { color: white }\n").map_err(failed)?;
            self.git.command(&workspace.path).args(["add", "--all"]).run().await?;
            self.git.command(&workspace.path).args(["commit", "--quiet", "-m", step]).run().await?;
        }
        self.squash_on_remote(&workspace).await?;
        self.typed("spinney new --issue 71      # the sixth, where five are allowed");
        self.ask(Work::issue(71)).await?;
        let gone = self.find("task-add-dark-mode", Among::Trashed).await?;
        self.say(format!("{} can still be restored from the trash.", gone.name));
        Ok(())
    }

    /// What a forge does when somebody presses "squash and merge".
    async fn squash_on_remote(&self, workspace: &Workspace) -> Result<()> {
        let branch = workspace.branch.as_str();
        self.git.command(&workspace.path).args(["push", "--quiet", "origin", branch]).run().await?;
        let tree = self.git.command(&self.remote).args(["rev-parse", &format!("{branch}^{{tree}}")]).text().await?;
        let squash = self.git.command(&self.remote).args(["commit-tree", &tree, "-p", "main", "-m", "dark mode (#9)"]);
        let commit = squash.text().await?;
        self.git.command(&self.remote).args(["update-ref", "refs/heads/main", &commit]).run().await?;
        self.git.command(&self.remote).args(["update-ref", "-d", &format!("refs/heads/{branch}")]).run().await?;
        Ok(())
    }

    async fn main_checkout_is_untouched(&self) -> Result<()> {
        if self.fingerprint().await? != self.before {
            return Err(failed("the main checkout changed"));
        }
        self.chapter("And the main checkout never moved: HEAD, index, files and `.git/config` are as they were.");
        Ok(())
    }

    async fn fingerprint(&self) -> Result<String> {
        let head = self.git.command(&self.checkout).args(["rev-parse", "HEAD"]).text().await?;
        let status = self.git.command(&self.checkout).args(["status", "--porcelain"]).text().await?;
        let index = std::fs::read(self.checkout.join(".git/index")).map_err(failed)?;
        let config = std::fs::read_to_string(self.checkout.join(".git/config")).map_err(failed)?;
        Ok(format!("{head}\n{status}\n{}\n{config}", spinney_core::names::content_hash(&index)))
    }
}
