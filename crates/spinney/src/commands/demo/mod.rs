//! `spinney demo`: the main job, in a repository of its own, in a few seconds.

mod stage;

use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;
use spinney_app::housekeeping::{self, SweepAsked};
use spinney_app::jobs::JobAsked;
use spinney_app::{Front, Prompt, WorkRequest, document, workspaces};
use spinney_core::{Cancel, Consent, Job, JobStatus, Platform, Push, Workspace};
use spinney_engine::{Among, Context, Engine, What, plural};
use spinney_jobs::{Busy, Jobs};

use self::stage::Stage;
use super::fan_out::{self, Piece};
use super::why::reasons_table;
use crate::app::App;
use crate::error::{CliError, Result};
use crate::follow::{self, Interrupts, Watched};
use crate::jobs;
use crate::ui::{style, words};

/// What the agents are asked for.
const PROMPTS: &str = "\
Fix login
Add dark mode
Speed up search
Translate menu
Retry uploads
Document API
Drop old flag
Test date parser
";

/// How long jobs that are ended may take to be over.
const END_WITHIN: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Show eight agents at work, in a few seconds
///
/// The agents are shell scripts. Everything happens in a temporary directory with its own home and repository, which is
/// deleted afterwards.
#[derive(Debug, Args)]
#[command(after_help = "Example: spinney demo")]
pub struct DemoArgs {
    /// Keep the directory
    #[arg(long)]
    keep: bool,
}

pub async fn run(app: &App, args: DemoArgs) -> Result<u8> {
    let started = Instant::now();
    app.take_interrupts();
    let mut interrupts = Interrupts::listen()?;
    let stage = Stage::set(app).await?;
    let inner = stage.app(app);
    let told = tell(&stage, &inner, started, &mut interrupts).await;
    let place = stage.directory().display().to_string();
    let kept = args.keep && told.is_ok();
    if kept {
        let (home, config) = (stage.home(), stage.config());
        let options = format!("--home {} --config {}", home.display(), config.display());
        app.ui.say(format!("It is all in {place}; look around: spinney {options} jobs"));
        stage.keep();
    } else {
        stage.clear().await?;
    }
    let documents = told?;
    if app.ui.json {
        let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        app.ui.print_json(&json!({
            "ok": true, "directory": place, "kept": kept, "duration_ms": duration_ms, "jobs": documents,
        }));
    }
    Ok(0)
}

fn failed(error: impl std::fmt::Display) -> CliError {
    CliError::failed(format!("the demo can't go on: {error}"))
}

/// Tells the story to its end, or until a person has seen enough; either way, nothing runs afterwards.
async fn tell(stage: &Stage, app: &App, started: Instant, interrupts: &mut Interrupts) -> Result<Vec<document::Job>> {
    let engine = app.open_engine().await?;
    let jobs = jobs::open(app, &engine)?;
    let story = Story { app, stage, engine: &engine, jobs: &jobs };
    let told = tokio::select! {
        told = story.tell() => told,
        heard = interrupts.heard() => Err(CliError::interrupted().with_status(heard.exit_status())),
    };
    end_jobs(&jobs).await?;
    let documents = told?;
    story.say(format!("\nAll of it took {}.", words::took(started.elapsed())));
    Ok(documents)
}

async fn end_jobs(jobs: &Jobs<'_>) -> Result<()> {
    let unfinished = jobs.list(None, &[JobStatus::Pending, JobStatus::Running], u32::MAX).await?;
    for job in &unfinished {
        // One that ends by itself in between needs no cancelling.
        let _ = jobs.cancel(job, Cancel::AtOnce).await;
    }
    let deadline = Instant::now() + END_WITHIN;
    for job in &unfinished {
        while !jobs.is_over(job).await? && Instant::now() < deadline {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
    Ok(())
}

struct Story<'a> {
    app: &'a App,
    stage: &'a Stage,
    engine: &'a Engine,
    jobs: &'a Jobs<'a>,
}

impl Story<'_> {
    async fn tell(&self) -> Result<Vec<document::Job>> {
        let jobs = self.eight_at_once().await?;
        self.no_work_is_lost(&jobs[0]).await?;
        self.merged_work_goes(&jobs[1]).await?;
        self.main_checkout_is_untouched().await?;
        let mut documents = Vec::new();
        for job in &jobs {
            documents.push(jobs::document(self.engine, self.jobs, job).await?);
        }
        Ok(documents)
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
        self.app.context(self.engine).await
    }

    async fn find(&self, name: &str, among: Among) -> Result<Workspace> {
        Ok(self.engine.find_workspace(None, name, among).await?)
    }

    async fn eight_at_once(&self) -> Result<Vec<Job>> {
        self.chapter(
            "Eight agents on one repository, at once: each in a workspace of its own, each to a pushed branch.",
        );
        self.typed("spinney run --agent coder --each prompts.txt");
        let mut watched = Vec::new();
        for Piece { work, title, prompt } in fan_out::of_lines(PROMPTS)? {
            let context = self.context().await?;
            let new = JobAsked {
                id: None,
                agent: None,
                prompt: Prompt::new(prompt)?,
                work: WorkRequest { work, title, ..WorkRequest::from(Platform::Cli) },
                names_repository: false,
                busy: Busy::Refuse,
                waits_for_room: false,
                batch: None,
            };
            let job = spinney_app::jobs::submit(self.jobs, context, new).await?;
            let log = self.jobs.log(&job.id);
            watched.push(Watched::new(job, log));
        }
        let (watched, _) = follow::follow(self.app, self.jobs, watched, true, None).await?;
        let jobs: Vec<_> = watched.into_iter().map(|watched| watched.job).collect();
        if !self.app.ui.json {
            follow::tell_all(self.app, self.engine, &jobs).await?;
        }
        if let Some(job) = jobs.iter().find(|job| job.outcome.push != Some(Push::Pushed)) {
            return Err(failed(format!(
                "{} was not pushed: {}",
                job.work.workspace_name(),
                words::outcome(job, Front::CommandLine)
            )));
        }
        let pushed = self.stage.pushed_branches().await?;
        if pushed != jobs.len() {
            return Err(failed(format!("the remote has {}", plural(pushed, "branch"))));
        }
        Ok(jobs)
    }

    async fn no_work_is_lost(&self, job: &Job) -> Result<()> {
        let name = job.work.workspace_name();
        self.chapter("Somebody leaves an edit and a note behind in one of them. Removal refuses, and `restore` brings both back.");
        let workspace = self.find(name.as_str(), Among::Live).await?;
        let write = |file: &str, text: &str| std::fs::write(workspace.path.join(file), text).map_err(failed);
        write("src/lib.rs", "pub fn answer() -> u32 {\n    // why?\n    42\n}\n")?;
        write("notes.md", "ask about the question\n")?;
        let context = self.context().await?;
        self.typed(&format!("spinney rm {name}"));
        let verdict = workspaces::standing(self.engine, &context, &workspace).await?.verdict;
        if verdict.removable(&Consent::None) {
            return Err(failed("unsaved work was not seen"));
        }
        self.say(format!("error: {name} would not be removed:\n{}", reasons_table(&verdict)));

        self.typed(&format!("spinney rm {name} --force"));
        let started = Instant::now();
        workspaces::remove(self.engine, &context, &workspace, &Consent::Force, false, &self.app.observer()).await?;
        self.say(format!("{name} is in the trash, whole, {}", words::took(started.elapsed())));
        self.typed("git gc --prune=now && git worktree prune      # meanwhile, a person cleans up");
        let (git, checkout) = (&self.stage.git, self.stage.checkout());
        git.command(&checkout).args(["gc", "--quiet", "--prune=now"]).run().await?;
        git.command(&checkout).args(["worktree", "prune"]).run().await?;
        self.typed(&format!("spinney restore {name}"));
        let trashed = self.find(name.as_str(), Among::Trashed).await?;
        let started = Instant::now();
        let back = workspaces::restore(self.engine, &context, &trashed, None, &self.app.observer()).await?;
        let status = git.command(&back.path).args(["status", "--short"]).text().await?;
        if !status.contains("src/lib.rs") || !status.contains("notes.md") {
            return Err(failed(format!("the work did not come back: {status}")));
        }
        self.say(format!("{name} is back: commits, edit and note, {}", words::took(started.elapsed())));
        Ok(())
    }

    async fn merged_work_goes(&self, job: &Job) -> Result<()> {
        let name = job.work.workspace_name();
        self.chapter(
            "Another is squash-merged, which git itself calls unmerged. A sweep sees it, and leaves the rest.",
        );
        let workspace = self.find(name.as_str(), Among::Live).await?;
        self.stage.squash_on_remote(&workspace).await?;
        self.typed("spinney cleanup merged");
        let repository = self.context().await?.repository;
        let asked = SweepAsked {
            repositories: vec![repository],
            what: What::MERGED,
            forget: false,
            archives: false,
            dry_run: false,
        };
        let jobs = jobs::open(self.app, self.engine)?;
        let report = housekeeping::sweep(self.engine, &jobs, &asked, &self.app.observer()).await?.report;
        self.app.ui.progress.clear();
        let [(removed, why)] = report.removed.as_slice() else {
            return Err(failed(format!("{} removed", plural(report.removed.len(), "workspace"))));
        };
        self.say(format!("removed {}: {why}", style::paint(style::NAME, &removed.name)));
        self.say(format!("kept {}", plural(report.kept.len(), "workspace")));
        Ok(())
    }

    async fn main_checkout_is_untouched(&self) -> Result<()> {
        if !self.stage.is_checkout_unchanged().await? {
            return Err(failed("the main checkout changed"));
        }
        self.chapter("And the main checkout never moved: HEAD, index, files and `.git/config` are as they were.");
        Ok(())
    }
}
